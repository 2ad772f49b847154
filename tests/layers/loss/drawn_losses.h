// The fields of loss_param that the rows of several losses draw.
#ifndef DOPPIO_TESTS_LAYERS_LOSS_DRAWN_LOSSES_H_
#define DOPPIO_TESTS_LAYERS_LOSS_DRAWN_LOSSES_H_

#include <string>

#include "tests/layers/common/drawn_fields.h"

namespace doppio {

// Adds the fields of loss_param that say what the sum of the losses is divided by, for so many
// samples with so many positions each. The divisors keep gradients at a size that lets nets learn.
inline void SetNormalization(Draw& draw, int64_t samples, int64_t positions, DrawnFields* fields) {
  const bool few = positions <= 16;
  const double count = static_cast<double>(samples * positions);
  switch (draw.Int(0, 9)) {
    case 0:
      fields->Set("normalization", "FULL");
      break;
    case 1:
      fields->Set("normalization", "VALID").MaybeBool(0.3, "normalize");
      break;
    case 2:
      fields->Set("normalization", few ? "BATCH_SIZE" : "FULL");
      break;
    case 3:
      fields->Set("normalization", count <= 32 ? "NONE" : "VALID");
      break;
    case 4:
      fields->Set("normalization", "PRE_FIXED");
      fields->Set("pre_fixed_normalizer", draw.Real(0.5, 2) * count);
      break;
    case 5:
      fields->Set("normalize", few ? draw.Chance(0.5) : true);
      break;
    default:
      fields->Maybe(0.05, "pre_fixed_normalizer", 3);  // without effect
      break;
  }
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_LAYERS_LOSS_DRAWN_LOSSES_H_
