// A view of softmax's bottom for kernels that read softmax_param themselves.
#ifndef DOPPIO_LAYERS_ACTIVATION_SOFTMAX_VIEW_CUDA_H_
#define DOPPIO_LAYERS_ACTIVATION_SOFTMAX_VIEW_CUDA_H_

#include "core/net/graph/layer.h"
#include "layers/activation/softmax_math.h"

namespace doppio {

inline SoftmaxView::SoftmaxView(const LayerSpec& spec, const TensorSpec& bottom)
    : SoftmaxView(SoftmaxFormOf(spec, bottom.shape), bottom) {}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ACTIVATION_SOFTMAX_VIEW_CUDA_H_
