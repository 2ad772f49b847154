// What SmoothL1Loss's kernels on every device make of the file and of the bottoms.
#ifndef DOPPIO_LAYERS_SMOOTH_L1_LOSS_SPEC_H_
#define DOPPIO_LAYERS_SMOOTH_L1_LOSS_SPEC_H_

#include "core/net/layer.h"
#include "layers/smooth_l1_loss_ops.h"

namespace doppio {

template <class T>
SmoothL1<T> SmoothL1Of(T sigma, const std::vector<Tensor>& bottoms) {
  const auto weights = [&](size_t i) {
    return i < bottoms.size() ? bottoms[i].data<T>() : nullptr;
  };
  return {sigma * sigma, bottoms[0].data<T>(), bottoms[1].data<T>(), weights(2), weights(3)};
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SMOOTH_L1_LOSS_SPEC_H_
