// Another order of independent layers changes only the order of sums.
#include <algorithm>
#include <set>
#include <vector>

#include "tests/random/layer_row.h"
#include "tests/random/relation.h"

namespace doppio {
namespace {

std::set<std::string> BlobsOf(const LayerParameter& layer) {
  std::set<std::string> blobs(layer.bottom().begin(), layer.bottom().end());
  blobs.insert(layer.top().begin(), layer.top().end());
  return blobs;
}

bool Shares(const LayerParameter& a, const LayerParameter& b) {
  for (const ParamSpec& x : a.param()) {
    for (const ParamSpec& y : b.param()) {
      if (!x.name().empty() && x.name() == y.name()) return true;
    }
  }
  return false;
}

// Returns true if `later` must stay behind `layer`: one of them writes a blob that the other uses,
// or they share a parameter, whose first user owns it. Sources keep their order, because the first
// one decides the batch and how images are prepared.
bool MustFollow(const LayerParameter& later, const LayerParameter& layer) {
  if (later.bottom_size() == 0 && layer.bottom_size() == 0) return true;
  if (Shares(layer, later)) return true;
  const std::set<std::string> of_layer = BlobsOf(layer), of_later = BlobsOf(later);
  const auto writes = [](const LayerParameter& writer, const std::set<std::string>& blobs) {
    return std::any_of(writer.top().begin(), writer.top().end(),
                       [&](const std::string& top) { return blobs.count(top) > 0; });
  };
  return writes(layer, of_later) || writes(later, of_layer);
}

NetParameter Shuffled(const NetParameter& net, Draw* draw) {
  NetParameter shuffled = net;
  shuffled.clear_layer();
  std::vector<int> left;
  for (int i = 0; i < net.layer_size(); ++i) left.push_back(i);
  while (!left.empty()) {
    std::vector<size_t> ready;
    for (size_t k = 0; k < left.size(); ++k) {
      const bool waits = std::any_of(left.begin(), left.begin() + static_cast<long>(k), [&](int i) {
        return MustFollow(net.layer(left[k]), net.layer(i));
      });
      if (!waits) ready.push_back(k);
    }
    const size_t chosen = draw->Of(ready);
    *shuffled.add_layer() = net.layer(left[chosen]);
    left.erase(left.begin() + static_cast<long>(chosen));
  }
  return shuffled;
}

bool OrderApplies(const RandomCase& random_case) {
  return HasNone(random_case, LayerRow::kOutside);
}

std::string CheckOrder(const RandomCase& random_case, Draw* draw, const std::string& folder) {
  Way way;
  way.folder = folder;
  RandomCase shuffled = random_case;
  shuffled.net = Shuffled(random_case.net, draw);
  const Outcome outcome = Run(random_case, way);
  return Compared(random_case, Run(shuffled, way), outcome, kRounding, folder, way);
}

DOPPIO_REGISTER(Relations, "order", {&CheckOrder, &OrderApplies});

}  // namespace
}  // namespace doppio
