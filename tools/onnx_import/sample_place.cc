#include "tools/onnx_import/sample_place.h"

#include <algorithm>

namespace doppio {

SamplePlace PermutedPlace(SamplePlace place, const std::vector<int64_t>& order) {
  const auto found = std::find(order.begin(), order.end(), place.axis);
  place.axis = found == order.end() ? -1 : static_cast<int>(found - order.begin());
  return place;
}

SamplePlace ReshapedPlace(const SamplePlace& place, const Shape& from, const Shape& to) {
  if (!place.known() || to.count() == 0) return {};
  // The distance of neighbouring samples, in elements.
  const int64_t step = place.minor * from.count(place.axis + 1);
  SamplePlace best;
  int most = -1;
  for (int axis = 0; axis < to.rank(); ++axis) {
    const int64_t inner = to.count(axis + 1);
    if (step % inner != 0 || to.count(axis) % (step * place.count) != 0) continue;
    const bool alone = step == inner && to[axis] == place.count;
    const bool row = to.rank() == 2 && axis == 0;
    const int fit = (alone ? 4 : 0) + (row ? 2 : 0) + (axis == place.axis ? 1 : 0);
    if (fit > most) best = {axis, place.count, step / inner};
    most = std::max(most, fit);
  }
  return best;
}

}  // namespace doppio
