// ContrastiveLoss of one pair of samples, the same on every device. Source: R. Hadsell, S. Chopra,
// Y. LeCun, "Dimensionality Reduction by Learning an Invariant Mapping", 2006; the older form, with
// margin - d^2, and the constant in the gradient are Caffe's.
#ifndef DOPPIO_LAYERS_LOSS_CONTRASTIVE_LOSS_OPS_H_
#define DOPPIO_LAYERS_LOSS_CONTRASTIVE_LOSS_OPS_H_

#include <cmath>

#include "core/base/random.h"  // DOPPIO_HD

namespace doppio {

// Similar pairs are drawn together, others pushed apart until they are `margin` away.
template <class T>
struct ContrastiveTerms {
  T margin;
  bool legacy;  // margin - d^2 instead of (margin - d)^2

  // Numbers are cut to integers: all but 0 say that a pair is similar.
  DOPPIO_HD static bool Similar(T given) { return std::trunc(given) != 0; }

  // Twice the loss, for a squared distance.
  DOPPIO_HD T Loss(bool similar, T square) const {
    if (similar) return square;
    const T gap = Gap(square);
    return legacy ? gap : gap * gap;
  }
  // The gradient is this times (a - b) by a, and minus that by b.
  DOPPIO_HD T Slope(bool similar, T square) const {
    if (similar) return 1;
    const T gap = Gap(square);
    if (legacy) return gap == 0 ? T(0) : T(-1);
    return gap == 0 ? T(0) : -gap / (std::sqrt(square) + T(1e-4));
  }

 private:
  DOPPIO_HD T Gap(T square) const {
    const T gap = margin - (legacy ? square : std::sqrt(square));
    return gap <= 0 ? T(0) : gap;  // NaN passes
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_CONTRASTIVE_LOSS_OPS_H_
