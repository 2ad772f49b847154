// The form of ContrastiveLoss: what its kernels need from the net file and the bottoms' shapes.
#ifndef DOPPIO_LAYERS_LOSS_CONTRASTIVE_LOSS_FORM_H_
#define DOPPIO_LAYERS_LOSS_CONTRASTIVE_LOSS_FORM_H_

#include "layers/loss/contrastive_loss_ops.h"
#include "layers/loss/loss_normalizer.h"

namespace doppio {

struct ContrastiveForm {
  int64_t samples, values;  // values: number of values per sample
  ContrastiveTerms<float> terms;
  LossNormalizer normalizer;

  // Returns the terms in type T.
  template <class T>
  ContrastiveTerms<T> Terms() const {
    return {static_cast<T>(terms.margin), terms.legacy};
  }
  double Divisor(const Pass& pass) const { return normalizer.Divisor(pass, samples); }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_CONTRASTIVE_LOSS_FORM_H_
