// Losses that are a sum over all scores of a sample, one of which belongs to the sample's label.
// One struct each, shared by all devices. To add a loss, define its struct here, append it to
// AllLabelLosses, and read its fields in label_loss.cc.
//
// A struct has these members; `own` is true for the score of the label:
//   kType: the layer's type in a net file.
//   Loss(x, own): returns the loss of a score.
//   Gradient(x, own): returns the derivative of the loss with respect to x.
#ifndef DOPPIO_LAYERS_LOSS_LABEL_LOSS_OPS_H_
#define DOPPIO_LAYERS_LOSS_LABEL_LOSS_OPS_H_

#include <cmath>
#include <tuple>

#include "core/base/random.h"  // DOPPIO_HD
#include "layers/common/labels.h"
#include "layers/loss/loss_normalizer.h"

namespace doppio {

// One against all: the loss of a score is its hinge loss max(0, 1 - y x), with y = 1 for the score
// of the label and y = -1 for all other scores, or the square of the hinge loss.
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
  // Returns the hinge loss of the score.
  template <class T>
  DOPPIO_HD static T Miss(T x, bool own) {
    const T miss = 1 + (own ? -x : x);
    return miss <= 0 ? T(0) : miss;  // returns NaN for NaN
  }
};

// -log of the label's score, which is a probability. As in Caffe, probabilities below 1e-20 count
// as 1e-20.
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

using AllLabelLosses = std::tuple<HingeLoss, MultinomialLogisticLoss>;

// The form of a loss in label_loss_ops.h: what its kernels need from the net file and the bottoms'
// shapes.
template <class Op>
struct LabelLossForm {
  Op op;
  int64_t samples, scores;  // scores: number of values per sample
  LabelReader labels;
  LossNormalizer normalizer;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_LABEL_LOSS_OPS_H_
