// A box of elements with constant strides in a bottom and in a top. Layers that only move elements
// copy such a box (layers/shape/rearrangement.cc).
#ifndef DOPPIO_LAYERS_SHAPE_STRIDED_BOX_H_
#define DOPPIO_LAYERS_SHAPE_STRIDED_BOX_H_

#include <cstdint>
#include <vector>

namespace doppio {

struct StridedBox {
  // `bottom` and `top` are strides in elements.
  struct Axis {
    int64_t extent, bottom, top;
  };
  std::vector<Axis> axes;  // outermost first; merged where possible
  // Index of the box's first element in the bottom. In the top it is element 0.
  int64_t bottom_offset = 0;

  // Adds an axis inside of the axes so far. Merges it with the axis before it if the two together
  // have constant strides.
  void Add(const Axis& axis) {
    if (axis.extent == 1) return;
    if (!axes.empty()) {
      Axis& last = axes.back();
      if (last.bottom == axis.extent * axis.bottom && last.top == axis.extent * axis.top) {
        last = {last.extent * axis.extent, axis.bottom, axis.top};
        return;
      }
    }
    axes.push_back(axis);
  }

  // Returns the number of elements of the box.
  int64_t count() const {
    int64_t n = 1;
    for (const Axis& axis : axes) n *= axis.extent;
    return n;
  }
  // Returns true if a bottom and a top of count() elements each have the same order, so that the
  // copy would change nothing.
  bool keeps_order() const {
    return axes.empty() || (axes.size() == 1 && axes[0].bottom == 1 && axes[0].top == 1);
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SHAPE_STRIDED_BOX_H_
