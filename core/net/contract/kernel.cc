#include "core/net/contract/kernel.h"

#include <algorithm>
#include <set>

namespace doppio {

void Kernel::Backward(const Pass&, const std::vector<bool>&) {
  DOPPIO_CHECK(false, "backward of a layer that has none");
}

void Kernel::BackwardSlice(int64_t) { DOPPIO_CHECK(false, "a slice of a gradient that has none"); }

KernelTypes& KernelTypes::Get() {
  static KernelTypes* types = new KernelTypes;  // never destroyed, because static objects use it
  return *types;
}

bool KernelTypes::Add(const KernelType& type) {
  types_.emplace(type.layer, type);
  return true;
}

std::vector<const KernelType*> KernelTypes::For(const std::string& layer,
                                                const std::string& device) const {
  std::vector<const KernelType*> found;
  auto range = types_.equal_range(layer);
  for (auto it = range.first; it != range.second; ++it) {
    if (it->second.device == device) found.push_back(&it->second);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const KernelType* a, const KernelType* b) { return a->rank > b->rank; });
  return found;
}

std::vector<std::string> KernelTypes::Engines(const std::string& device) const {
  std::set<std::string> engines;
  for (const auto& [layer, type] : types_) {
    if (type.device == device) engines.insert(type.engine);
  }
  return {engines.begin(), engines.end()};
}

}  // namespace doppio
