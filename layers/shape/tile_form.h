// The form of Tile: what its kernels need from the net file and the bottom's shape. Used in device
// code too.
#ifndef DOPPIO_LAYERS_SHAPE_TILE_FORM_H_
#define DOPPIO_LAYERS_SHAPE_TILE_FORM_H_

#include <cstdint>

#include "core/base/host_device.h"

namespace doppio {

// The bottom consists of `outer` runs of `run` elements each; a run covers the axes from `axis` on.
// The top repeats each run `tiles` times.
struct TileForm {
  int axis = 0;
  int64_t outer = 1, tiles = 1, run = 1;

  // Returns the gradient of element `at` of run `o` of the bottom. `dy` is the top's gradient.
  template <class T>
  DOPPIO_HD T Sum(const T* dy, int64_t o, int64_t at) const {
    T sum = 0;
    for (int64_t t = 0; t < tiles; ++t) sum += dy[o * tiles * run + at + t * run];
    return sum;
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SHAPE_TILE_FORM_H_
