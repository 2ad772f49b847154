// The ContrastiveLoss of one pair of samples, shared by all devices. Source: R. Hadsell, S. Chopra,
// Y. LeCun, "Dimensionality Reduction by Learning an Invariant Mapping", 2006. The legacy form with
// margin - d^2 and the constant 1e-4 in the gradient are Caffe's.
#ifndef DOPPIO_LAYERS_LOSS_CONTRASTIVE_LOSS_OPS_H_
#define DOPPIO_LAYERS_LOSS_CONTRASTIVE_LOSS_OPS_H_

#include <cmath>

#include "core/base/random.h"  // DOPPIO_HD
#include "layers/loss/loss_normalizer.h"

namespace doppio {

// The loss draws similar pairs together and pushes dissimilar pairs apart until their distance is
// `margin`. d is the distance of the two samples, `square` is d^2.
template <class T>
struct ContrastiveTerms {
  T margin;
  bool legacy;  // use margin - d^2 instead of (margin - d)^2

  // Returns true if the pair is similar: `given`, truncated to an integer, is not 0.
  DOPPIO_HD static bool Similar(T given) { return std::trunc(given) != 0; }

  // Returns twice the loss of the pair.
  DOPPIO_HD T Loss(bool similar, T square) const {
    if (similar) return square;
    const T gap = Gap(square);
    return legacy ? gap : gap * gap;
  }
  // Returns the factor s of the gradient, which is s * (a - b) with respect to a, and -s * (a - b)
  // with respect to b.
  DOPPIO_HD T Slope(bool similar, T square) const {
    if (similar) return 1;
    const T gap = Gap(square);
    if (legacy) return gap == 0 ? T(0) : T(-1);
    return gap == 0 ? T(0) : -gap / (std::sqrt(square) + T(1e-4));
  }

 private:
  // Returns by how much a dissimilar pair is too close; 0 if it is far enough apart.
  DOPPIO_HD T Gap(T square) const {
    const T gap = margin - (legacy ? square : std::sqrt(square));
    return gap <= 0 ? T(0) : gap;  // returns NaN for NaN
  }
};

// The form of ContrastiveLoss: what its kernels need from the net file and the bottoms' shapes.
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

#endif  // DOPPIO_LAYERS_LOSS_CONTRASTIVE_LOSS_OPS_H_
