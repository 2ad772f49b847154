// The form of Dropout and SpatialDropout, and the rule that decides which elements are kept. The
// rule depends only on the seed, the layer's name, the sample's global index and the element's
// index in the sample, so it gives the same result on every device.
#ifndef DOPPIO_LAYERS_ACTIVATION_DROPOUT_FORM_H_
#define DOPPIO_LAYERS_ACTIVATION_DROPOUT_FORM_H_

#include <cstdint>

#include "core/base/random.h"

namespace doppio {

constexpr char kSpatialDropout[] = "SpatialDropout";

// In the layer's phase, each element becomes 0 with probability `ratio`; the others are multiplied
// by scale(). With `scale_train: false` (Microsoft's Caffe), training does not scale, and phase
// TEST multiplies all elements by 1 - given.
struct DropoutForm {
  bool whole_channels = false;  // SpatialDropout: draws one number per channel of a sample
  float ratio = 0;
  enum { kNothing, kDivide, kMultiply } kept = kNothing;
  float given = 0;  // the dropout ratio in the net file
  Random random{0, 0};
  int64_t samples = 1, channels = 1, positions = 1;  // sizes of the bottom; `positions` per channel

  int64_t per_sample() const { return channels * positions; }
  // The factor of kept elements, computed in T: 1 (kNothing), 1 / (1 - given) (kDivide) or 1 -
  // given (kMultiply).
  template <class T>
  T scale() const {
    const T left = T(1) - T(given);
    return kept == kNothing ? T(1) : kept == kDivide ? T(1) / left : left;
  }
  // Returns true if the layer neither drops nor scales anything.
  bool is_identity() const { return given == 0 || (ratio == 0 && kept == kNothing); }
};

// Elements that share a Philox call; Random::Uniform counts them in the same way.
constexpr int kDrawnTogether = 4;

// Returns true if the element that drew `word` is kept.
DOPPIO_HD inline bool IsKept(uint32_t word, float ratio) { return ToUnit(word) >= ratio; }

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ACTIVATION_DROPOUT_FORM_H_
