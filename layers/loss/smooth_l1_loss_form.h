// What SmoothL1Loss's kernels need of the file and of the prediction's shape.
#ifndef DOPPIO_LAYERS_LOSS_SMOOTH_L1_LOSS_FORM_H_
#define DOPPIO_LAYERS_LOSS_SMOOTH_L1_LOSS_FORM_H_

#include <vector>

#include "layers/loss/loss_normalizer.h"
#include "layers/loss/smooth_l1_loss_ops.h"

namespace doppio {

struct SmoothL1Form {
  float sigma;
  int64_t channels, positions;  // positions: those behind the channels, each with a loss
  LossNormalizer normalizer;

  template <class T>
  SmoothL1<T> TermsOf(const std::vector<Tensor>& bottoms) const {
    const auto weights = [&](size_t i) {
      return i < bottoms.size() ? bottoms[i].data<T>() : nullptr;
    };
    const T s = static_cast<T>(sigma);
    return {s * s, bottoms[0].data<T>(), bottoms[1].data<T>(), weights(2), weights(3)};
  }
  double Divisor(const Pass& pass) const {
    return normalizer.Divisor(pass, normalizer.positions());
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_SMOOTH_L1_LOSS_FORM_H_
