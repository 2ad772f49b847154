// The shape of Softmax, without protobuf, so that device code can include it.
#ifndef DOPPIO_LAYERS_ACTIVATION_SOFTMAX_SHAPE_H_
#define DOPPIO_LAYERS_ACTIVATION_SOFTMAX_SHAPE_H_

#include <cstdint>

namespace doppio {

// An array as outer x classes x inner. A position is one index of outer x inner.
struct SoftmaxShape {
  int64_t outer = 1, classes = 1, inner = 1;
  int64_t count() const { return outer * classes * inner; }
  int64_t positions() const { return outer * inner; }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ACTIVATION_SOFTMAX_SHAPE_H_
