// What the kernels of Pooling and SPP need of the file and of the bottom's shape.
#ifndef DOPPIO_LAYERS_POOLING_POOLING_FORM_H_
#define DOPPIO_LAYERS_POOLING_POOLING_FORM_H_

#include <optional>
#include <vector>

#include "layers/pooling/plain_pooling.h"
#include "layers/pooling/pooling_windows.h"

namespace doppio {

class Shape;
struct LayerSpec;

struct PoolingForm {
  PoolingGeometry g;
  std::optional<PlainPooling> stochastic;  // the method is STOCHASTIC, else MAX or AVE
};

// Reads and checks pooling_param, with Caffe's rounding: the number of windows is rounded up unless
// the file says otherwise, and with padding the last window must start inside the image or its left
// padding. Throws UserError.
PoolingForm ReadPooling(const LayerSpec& spec, const Shape& bottom);

struct SppForm {
  std::vector<PlainPooling> levels;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_POOLING_POOLING_FORM_H_
