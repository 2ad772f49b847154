// The form of MultiBoxLoss: what its kernel needs from the net file and the bottoms' shapes.
#ifndef DOPPIO_LAYERS_DETECTION_MULTIBOX_LOSS_FORM_H_
#define DOPPIO_LAYERS_DETECTION_MULTIBOX_LOSS_FORM_H_

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>

#include "layers/detection/detection_bottoms.h"
#include "layers/loss/loss_normalizer.h"

namespace doppio {

// The two losses that MultiBoxLoss sums over the selected priors, with their gradients: the
// location loss of a coordinate, and the classification loss of a prior. Source: W. Liu et al.,
// "SSD", 2016, equations 1 to 3.

// The location loss of one coordinate, for the distance d between prediction and target: SMOOTH_L1,
// or L2, which is d^2 / 2.
struct PlaceTerm {
  bool smooth = true;

  double Loss(double d) const {
    return smooth && std::fabs(d) >= 1 ? std::fabs(d) - 0.5 : 0.5 * d * d;
  }
  double Gradient(double d) const { return smooth && std::fabs(d) >= 1 ? (d > 0) - (d < 0) : d; }
};

// The classification loss of one prior. SOFTMAX is the cross entropy of the label. LOGISTIC is the
// sum of the binary cross entropies of all classes, with target 1 for the label and 0 for all other
// classes.
struct ClassTerm {
  bool softmax = true;
  int64_t classes = 1;

  template <class T>
  double Loss(const T* scores, int64_t label) const {
    if (softmax) {
      const Sum sum = Exponentials(scores);
      const double p = std::exp(static_cast<double>(scores[label]) - sum.largest) / sum.sum;
      // A comparison with NaN is false, so a probability of NaN gives a loss of NaN. The bound is
      // Caffe's.
      return -std::log(p < static_cast<double>(FLT_MIN) ? static_cast<double>(FLT_MIN) : p);
    }
    double loss = 0;
    for (int64_t c = 0; c < classes; ++c) {
      const double x = static_cast<double>(scores[c]);
      loss += std::max(x, 0.0) - (c == label ? x : 0) + std::log1p(std::exp(-std::fabs(x)));
    }
    return loss;
  }

  // Writes gradient[c] = weight * (derivative of the loss with respect to score c).
  template <class T>
  void Gradient(const T* scores, int64_t label, double weight, T* gradient) const {
    const Sum sum = softmax ? Exponentials(scores) : Sum();
    for (int64_t c = 0; c < classes; ++c) {
      const double x = static_cast<double>(scores[c]);
      const double p = softmax ? std::exp(x - sum.largest) / sum.sum : 1 / (1 + std::exp(-x));
      gradient[c] = static_cast<T>(weight * (p - (c == label ? 1 : 0)));
    }
  }

 private:
  // The largest score, and the sum of e^(score - largest).
  struct Sum {
    double largest = 0, sum = 0;
  };
  template <class T>
  Sum Exponentials(const T* scores) const {
    Sum s;
    s.largest = static_cast<double>(*std::max_element(scores, scores + classes));
    for (int64_t c = 0; c < classes; ++c)
      s.sum += std::exp(static_cast<double>(scores[c]) - s.largest);
    return s;
  }
};

struct MultiBoxLossForm {
  DetectionExtents extents;
  int64_t label_rows = 0;
  int background = 0;
  bool difficult_ones = true;
  // If true, every object has the one class that is not the background.
  bool agnostic = false;
  // If true, objects are matched to the priors, else to the boxes that the locations predict.
  bool match_priors = true;
  // If true, sides of the matched box outside of the image add nothing to the location loss.
  bool only_inside = false;
  // False for a loss that propagate_down turns off.
  bool place_counts = true, classes_count = true;
  double place_weight = 1;
  BoxCode code;
  MatchRule match;
  MiningRule mining;
  // If true, mining's suppression compares the priors, else the boxes that the locations predict.
  bool mine_by_priors = false;
  PlaceTerm place;
  ClassTerm score;
  LossNormalizer normalizer{Normalization::kValid, 0, 0};

  bool mines() const { return mining.type != MiningType::kNone; }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_DETECTION_MULTIBOX_LOSS_FORM_H_
