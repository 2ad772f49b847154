// What MVN normalises together, for its kernels on every device.
#ifndef DOPPIO_LAYERS_NORMALIZATION_MVN_ROWS_H_
#define DOPPIO_LAYERS_NORMALIZATION_MVN_ROWS_H_

#include <algorithm>
#include <cstdint>

#include "core/net/spec/spec.h"
#include "core/tensor/shape.h"

namespace doppio {

// Neighbouring elements of a plain array.
struct MvnRows {
  int64_t count, length;
};

inline MvnRows MvnRowsOf(const LayerSpec& spec, const Shape& shape) {
  const int axes = std::min(shape.rank(), spec.param.mvn_param().across_channels() ? 1 : 2);
  return {shape.count(0, axes), shape.count(axes)};
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_NORMALIZATION_MVN_ROWS_H_
