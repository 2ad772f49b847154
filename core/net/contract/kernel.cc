#include "core/net/contract/kernel.h"

#include <algorithm>
#include <set>

#include "core/base/text/lower_case.h"

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

const KernelType* KernelTypes::OnKind(const KernelType& type, const std::string& kind) const {
  if (!type.device.empty()) return type.device == kind ? &type : nullptr;
  if (IsHostKind(kind)) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [copy, added] = on_kinds_.try_emplace({&type, kind}, type);
  if (added) copy->second.On(kind).Engine(LowerCase(kind));
  return &copy->second;
}

std::vector<const KernelType*> KernelTypes::For(const std::string& layer,
                                                const std::string& device) const {
  std::vector<const KernelType*> found;
  auto range = types_.equal_range(layer);
  for (auto it = range.first; it != range.second; ++it) {
    if (const KernelType* type = OnKind(it->second, device)) found.push_back(type);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const KernelType* a, const KernelType* b) { return a->rank > b->rank; });
  return found;
}

std::vector<std::string> KernelTypes::Engines(const std::string& device) const {
  std::set<std::string> engines;
  for (const auto& [layer, type] : types_) {
    if (const KernelType* found = OnKind(type, device)) engines.insert(found->engine);
  }
  return {engines.begin(), engines.end()};
}

}  // namespace doppio
