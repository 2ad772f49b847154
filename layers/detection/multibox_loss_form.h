// The form of MultiBoxLoss: what its kernel needs from the net file and the bottoms' shapes.
#ifndef DOPPIO_LAYERS_DETECTION_MULTIBOX_LOSS_FORM_H_
#define DOPPIO_LAYERS_DETECTION_MULTIBOX_LOSS_FORM_H_

#include <cstdint>

#include "layers/detection/detection_bottoms.h"
#include "layers/detection/multibox_terms.h"
#include "layers/loss/loss_normalizer.h"

namespace doppio {

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
