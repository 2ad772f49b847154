// A bottom of `outer` runs, each of which stands `tiles` times in the top, one behind the other.
// For device code too.
#ifndef DOPPIO_LAYERS_SHAPE_TILE_RUNS_H_
#define DOPPIO_LAYERS_SHAPE_TILE_RUNS_H_

#include <cstdint>

#include "core/base/host_device.h"

namespace doppio {

struct TileRuns {
  int64_t outer = 1, tiles = 1, run = 1;

  // Of element `at` of run `o`: its first place in the top; the others follow `run` elements apart.
  DOPPIO_HD int64_t First(int64_t o, int64_t at) const { return o * tiles * run + at; }

  // The gradient of that element.
  template <class T>
  DOPPIO_HD T Sum(const T* dy, int64_t o, int64_t at) const {
    T sum = 0;
    for (int64_t t = 0; t < tiles; ++t) sum += dy[First(o, at) + t * run];
    return sum;
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SHAPE_TILE_RUNS_H_
