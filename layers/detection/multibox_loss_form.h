// The form of MultiBoxLoss.
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
  bool agnostic = false;     // every object is the one class that is not the background
  bool match_priors = true;  // else what the locations say
  bool only_inside = false;  // sides of the matched box outside of the image learn nothing
  bool place_counts = true, classes_count = true;
  double place_weight = 1;
  BoxCode code;
  MatchRule match;
  MiningRule mining;
  bool mine_by_priors = false;  // which boxes overlap in mining's suppression
  PlaceTerm place;
  ClassTerm score;
  LossNormalizer normalizer{Normalization::kValid, 0, 0};

  bool mines() const { return mining.type != MiningType::kNone; }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_DETECTION_MULTIBOX_LOSS_FORM_H_
