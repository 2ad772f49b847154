// Losses that are a sum over all scores of a sample, of which one is its label's: one struct each,
// for every device. To add one, write it here, append it to AnyLabelLoss, and read in
// label_loss.cc what it takes from the file.
//
// An operation promises
//   kType                             the layer's type in a net file;
//   Loss(x, own), Gradient(x, own)    a score's loss and its derivative; `own`: the label's score.
#ifndef DOPPIO_LAYERS_LOSS_LABEL_LOSS_OPS_H_
#define DOPPIO_LAYERS_LOSS_LABEL_LOSS_OPS_H_

#include <cmath>
#include <variant>

#include "core/base/random.h"  // DOPPIO_HD

namespace doppio {

// One against all: how far a score is on the wrong side of +1 (the label's) or -1, or the square of
// that.
struct HingeLoss {
  static constexpr const char* kType = "HingeLoss";
  bool squared = false;

  template <class T>
  DOPPIO_HD T Loss(T x, bool own) const {
    const T miss = Miss(x, own);
    return squared ? miss * miss : miss;
  }
  template <class T>
  DOPPIO_HD T Gradient(T x, bool own) const {
    const T miss = Miss(x, own), sign = own ? T(-1) : T(1);
    if (squared) return 2 * miss * sign;
    return miss == 0 ? T(0) : sign;
  }

 private:
  template <class T>
  DOPPIO_HD static T Miss(T x, bool own) {
    const T miss = 1 + (own ? -x : x);
    return miss <= 0 ? T(0) : miss;  // NaN passes
  }
};

// -log of the label's score, which is a probability; at least 1e-20, as in Caffe.
struct MultinomialLogisticLoss {
  static constexpr const char* kType = "MultinomialLogisticLoss";

  template <class T>
  DOPPIO_HD T Loss(T x, bool own) const {
    return own ? -std::log(Bounded(x)) : T(0);
  }
  template <class T>
  DOPPIO_HD T Gradient(T x, bool own) const {
    return own ? -1 / Bounded(x) : T(0);
  }

 private:
  template <class T>
  DOPPIO_HD static T Bounded(T x) {
    return x < T(1e-20) ? T(1e-20) : x;
  }
};

using AnyLabelLoss = std::variant<HingeLoss, MultinomialLogisticLoss>;

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_LABEL_LOSS_OPS_H_
