// The forms of Pooling and SPP, which their kernels on every device read.
#ifndef DOPPIO_LAYERS_POOLING_POOLING_FORM_H_
#define DOPPIO_LAYERS_POOLING_POOLING_FORM_H_

#include <optional>
#include <vector>

#include "layers/pooling/plain_pooling.h"
#include "layers/pooling/pooling_windows.h"

namespace doppio {

class Shape;
struct LayerSpec;

// The form of Pooling.
struct PoolingForm {
  PoolingGeometry g;
  std::optional<PlainPooling> stochastic;  // set for STOCHASTIC, empty for MAX and AVE
};

// Reads and checks pooling_param. Rounds like Caffe: the number of windows is rounded up unless the
// net file says otherwise, and with padding the last window must start inside the image or its left
// padding. Throws UserError if a field is wrong or does not fit the bottom.
PoolingForm ReadPooling(const LayerSpec& spec, const Shape& bottom);

// The form of SPP: one pooling per level of the pyramid.
struct SppForm {
  std::vector<PlainPooling> levels;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_POOLING_POOLING_FORM_H_
