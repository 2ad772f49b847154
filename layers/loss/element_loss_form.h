// The form of an element loss (element_loss_ops.h): what its kernels need from the net file.
#ifndef DOPPIO_LAYERS_LOSS_ELEMENT_LOSS_FORM_H_
#define DOPPIO_LAYERS_LOSS_ELEMENT_LOSS_FORM_H_

#include "layers/loss/element_loss_ops.h"
#include "layers/loss/loss_normalizer.h"

namespace doppio {

struct ElementLossForm {
  LossNormalizer normalizer;
  IgnoredTarget<double> ignored{};

  // Returns the ignored target in type T.
  template <class T>
  IgnoredTarget<T> Ignored() const {
    return {ignored.any, static_cast<T>(ignored.value)};
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_ELEMENT_LOSS_FORM_H_
