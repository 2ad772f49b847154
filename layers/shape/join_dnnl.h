// Chooses the layout in which parts are joined (join.h), so that what convolutions made blocked
// stays blocked.
#ifndef DOPPIO_LAYERS_SHAPE_JOIN_DNNL_H_
#define DOPPIO_LAYERS_SHAPE_JOIN_DNNL_H_

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "core/math/dnnl.h"
#include "layers/shape/join.h"

namespace doppio {
namespace join_internal {

struct Format {
  int rank;
  dnnl::memory::format_tag tag;
  int64_t block;  // channels that lie together innermost
  bool channels_last;
};

inline const std::vector<Format>& Formats() {
  using Tag = dnnl::memory::format_tag;
  static const std::vector<Format> formats = {
      {3, Tag::aBc16b, 16, false}, {3, Tag::aBc8b, 8, false},    {3, Tag::aBc4b, 4, false},
      {3, Tag::acb, 1, true},      {4, Tag::aBcd16b, 16, false}, {4, Tag::aBcd8b, 8, false},
      {4, Tag::aBcd4b, 4, false},  {4, Tag::acdb, 1, true},      {5, Tag::aBcde16b, 16, false},
      {5, Tag::aBcde8b, 8, false}, {5, Tag::aBcde4b, 4, false},  {5, Tag::acdeb, 1, true},
  };
  return formats;
}

inline Layout LayoutIn(const Format& format, const Shape& shape) {
  return LayoutOf(dnnl::memory::desc(DnnlDims(shape), dnnl::memory::data_type::f32, format.tag));
}

inline bool Fits(const Format& format, const std::vector<Shape>& parts, int axis) {
  if (format.rank != parts[0].rank()) return false;
  for (size_t p = 0; axis == 1 && p + 1 < parts.size(); ++p) {
    if (parts[p][1] % format.block != 0) return false;
  }
  return true;
}

}  // namespace join_internal

// The float32 join in the layout that most of the elements of `bottoms` already have; plain where
// no other fits. `bottoms` are the parts, or the whole alone.
inline Join ChooseJoin(const std::vector<Shape>& parts, const Shape& whole, int axis,
                       const std::vector<TensorSpec>& bottoms) {
  auto elements_in = [&](const join_internal::Format* format) {
    int64_t n = 0;
    for (const TensorSpec& bottom : bottoms) {
      const Layout layout =
          format == nullptr ? Layout() : join_internal::LayoutIn(*format, bottom.shape);
      if (bottom.layout == layout) n += bottom.shape.count();
    }
    return n;
  };
  Join best = MakePlainJoin(parts, axis, DType::kFloat32);
  int64_t most = elements_in(nullptr);
  for (const join_internal::Format& format : join_internal::Formats()) {
    if (!join_internal::Fits(format, parts, axis)) continue;
    const int64_t elements = elements_in(&format);
    if (elements <= most) continue;
    most = elements;
    std::vector<int> order(static_cast<size_t>(format.rank));
    std::iota(order.begin(), order.end(), 0);
    if (format.channels_last) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
    best = MakeJoin(parts, axis, DType::kFloat32, order, format.block);
    best.whole = join_internal::LayoutIn(format, whole);
    for (size_t p = 0; p < parts.size(); ++p) {
      best.parts[p] = join_internal::LayoutIn(format, parts[p]);
    }
  }
  return best;
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SHAPE_JOIN_DNNL_H_
