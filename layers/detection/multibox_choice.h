// Selects the priors of an image that contribute to MultiBoxLoss: those that contribute to the
// location loss, and the larger set that contributes to the classification loss.
#ifndef DOPPIO_LAYERS_DETECTION_MULTIBOX_CHOICE_H_
#define DOPPIO_LAYERS_DETECTION_MULTIBOX_CHOICE_H_

#include <vector>

#include "layers/detection/multibox_loss_form.h"

namespace doppio {

// A prior that contributes to the location loss.
struct PlaceSample {
  int64_t code = 0;  // offset of its code in the image's locations
  Box target{}, divisor{};
  // False for each coordinate that adds nothing to the loss.
  std::array<bool, 4> counts{};

  // Returns the difference between coordinate k of the prediction and of the target.
  template <class T>
  double Distance(const T* locations, size_t k) const {
    return (static_cast<double>(locations[code + static_cast<int64_t>(k)]) - target[k]) /
           divisor[k];
  }
  // Returns the sum of the losses of the coordinates that count.
  template <class T>
  double Loss(const PlaceTerm& term, const T* locations) const {
    double loss = 0;
    for (size_t k = 0; k < 4; ++k) {
      if (counts[k]) loss += term.Loss(Distance(locations, k));
    }
    return loss;
  }
};

// A prior that contributes to the classification loss, and its target class.
struct ClassSample {
  int64_t prior = 0, label = 0;
};

// Selects the priors of one image that contribute to MultiBoxLoss: matched ones for the location
// loss, and mined negatives too for the classification loss. Reuses its memory from pass to pass.
class MultiBoxChoice {
 public:
  const std::vector<PlaceSample>& places() const { return places_; }
  const std::vector<ClassSample>& classes() const { return classes_; }

  // Makes the selection. `locations` and `scores` point to the values of this image.
  template <class T>
  void Choose(const MultiBoxLossForm& form, const Priors& priors,
              const std::vector<LabeledBox>& objects, const T* locations, const T* scores) {
    const DetectionExtents& e = form.extents;
    label_.assign(e.priors, form.background);
    places_.clear();
    classes_.clear();
    negatives_.clear();
    // With mining, an image without objects adds nothing: the number of negatives is relative to
    // the number of positives.
    if (objects.empty() && form.mines()) return;
    for (int64_t c = 0; c < e.location_classes; ++c) {
      const bool shared = e.location_classes == 1;
      if (!shared && c == form.background) continue;
      const int label = shared ? kAnyLabel : static_cast<int>(c);
      Match(form, priors, objects, label, locations + 4 * c);
      for (size_t i = 0; i < label_.size(); ++i) {
        if (matches_.object[i] >= 0) label_[i] = LabelOf(form, objects[matches_.object[i]]);
      }
      if (form.mines()) {
        Losses(form, priors, objects, locations, scores);
        MineBoxes(form.mining, loss_.data(), form.mine_by_priors ? priors.boxes : boxes_, &matches_,
                  &negatives_);
      }
      for (size_t i = 0; i < label_.size(); ++i) {
        if (matches_.object[i] >= 0)
          places_.push_back(PlaceOf(form, priors, objects, static_cast<int64_t>(i), c));
      }
    }
    // Mining requires that classes share locations, so matches_ holds all matches.
    for (int64_t i = 0; i < e.priors; ++i) {
      if (form.mines() && matches_.object[i] < 0) continue;
      classes_.push_back({i, label_[i]});
    }
    for (int i : negatives_) classes_.push_back({i, form.background});
  }

 private:
  static int LabelOf(const MultiBoxLossForm& form, const LabeledBox& object) {
    return form.agnostic ? form.background + 1 : object.label;
  }

  // Writes the matches of the priors to matches_. Also decodes the locations into boxes_ if the
  // matching or the suppression reads them.
  template <class T>
  void Match(const MultiBoxLossForm& form, const Priors& priors,
             const std::vector<LabeledBox>& objects, int label, const T* codes) {
    const bool suppresses = form.mines() && form.mining.nms_threshold > 0 && !form.mine_by_priors;
    if (!form.match_priors || suppresses)
      priors.Decode(form.code, codes, 4 * form.extents.location_classes, &boxes_);
    if (!form.match_priors) return MatchBoxes(form.match, objects, label, boxes_, &matches_);
    // Match each prior regardless of the label first: a prior whose object has another label must
    // not match an object of this label.
    MatchBoxes(form.match, objects, kAnyLabel, priors.boxes, &matches_);
    if (label == kAnyLabel) return;
    for (int& object : matches_.object) {
      if (object >= 0 && objects[object].label != label) object = kNoObject;
    }
  }

  // Returns the sample of the matched prior i.
  PlaceSample PlaceOf(const MultiBoxLossForm& form, const Priors& priors,
                      const std::vector<LabeledBox>& objects, int64_t i,
                      int64_t location_class) const {
    const size_t at = i;
    const LabeledBox& object = objects[matches_.object[at]];
    PlaceSample sample;
    sample.code = 4 * (i * form.extents.location_classes + location_class);
    sample.target = form.code.Encode(priors.boxes[at], priors.variances[at], object.box);
    sample.divisor = form.code.variance_in_target ? priors.variances[at] : Box{1, 1, 1, 1};
    const Box& matched = form.match_priors ? priors.boxes[at] : boxes_[at];
    for (size_t k = 0; k < 4; ++k)
      sample.counts[k] = !form.only_inside || (matched[k] >= 0 && matched[k] <= 1);
    return sample;
  }

  // Writes the loss of each prior, by which mining ranks the priors, to loss_.
  template <class T>
  void Losses(const MultiBoxLossForm& form, const Priors& priors,
              const std::vector<LabeledBox>& objects, const T* locations, const T* scores) {
    loss_.resize(label_.size());
    for (size_t i = 0; i < loss_.size(); ++i) {
      loss_[i] =
          form.score.Loss(scores + static_cast<int64_t>(i) * form.extents.classes, label_[i]);
      if (form.mining.type != MiningType::kHardExample || matches_.object[i] < 0) continue;
      loss_[i] +=
          PlaceOf(form, priors, objects, static_cast<int64_t>(i), 0).Loss(form.place, locations);
    }
  }

  std::vector<int> label_, negatives_;
  std::vector<Box> boxes_;  // decoded from the locations
  std::vector<double> loss_;
  Matches matches_;
  std::vector<PlaceSample> places_;
  std::vector<ClassSample> classes_;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_DETECTION_MULTIBOX_CHOICE_H_
