// The form of SmoothL1Loss: what its kernels need from the net file and the prediction's shape.
#ifndef DOPPIO_LAYERS_LOSS_SMOOTH_L1_LOSS_FORM_H_
#define DOPPIO_LAYERS_LOSS_SMOOTH_L1_LOSS_FORM_H_

#include <vector>

#include "layers/loss/loss_normalizer.h"
#include "layers/loss/smooth_l1_loss_ops.h"

namespace doppio {

struct SmoothL1Form {
  float sigma;
  // positions: the product of the extents after the channels. Each position of a sample has a loss.
  int64_t channels, positions;
  LossNormalizer normalizer;

  // Returns the terms, which point to the data of the bottoms. Weights without a bottom are null.
  template <class T>
  SmoothL1<T> TermsOf(const std::vector<Tensor>& bottoms) const {
    const auto weights = [&](size_t i) {
      return i < bottoms.size() ? bottoms[i].data<T>() : nullptr;
    };
    const T s = static_cast<T>(sigma);
    return {s * s, bottoms[0].data<T>(), bottoms[1].data<T>(), weights(2), weights(3)};
  }
  // Returns the divisor of this rank's loss. Every position counts.
  double Divisor(const Pass& pass) const {
    return normalizer.Divisor(pass, normalizer.positions());
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_SMOOTH_L1_LOSS_FORM_H_
