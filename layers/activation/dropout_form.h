// What the kernels of Dropout and SpatialDropout need of the file, and which elements they keep.
// That depends on the seed, the layer's name, the global index of the sample and the element within
// it only, so it is the same on every device.
#ifndef DOPPIO_LAYERS_ACTIVATION_DROPOUT_FORM_H_
#define DOPPIO_LAYERS_ACTIVATION_DROPOUT_FORM_H_

#include <cstdint>

#include "core/base/random.h"

namespace doppio {

constexpr char kSpatialDropout[] = "SpatialDropout";

// In this phase each value becomes 0 with probability `ratio`; the others are multiplied by
// scale(). With scale_train: false of Microsoft's Caffe, the values of TEST are scaled instead.
struct DropoutForm {
  bool whole_channels = false;  // SpatialDropout: one number is drawn for each channel of a sample
  float ratio = 0;
  enum { kNothing, kDivide, kMultiply } kept = kNothing;
  float given = 0;  // the ratio of the file
  Random random{0, 0};
  int64_t samples = 1, channels = 1, positions = 1;  // the bottom's; positions: of a channel

  int64_t per_sample() const { return channels * positions; }
  // In T's arithmetic: 1, 1 / (1 - given), or 1 - given.
  template <class T>
  T scale() const {
    const T left = T(1) - T(given);
    return kept == kNothing ? T(1) : kept == kDivide ? T(1) / left : left;
  }
  bool is_identity() const { return given == 0 || (ratio == 0 && kept == kNothing); }
};

// Elements that share a Philox call, as Random::Uniform counts them.
constexpr int kDrawnTogether = 4;

// Returns true if the element that drew `word` is kept.
DOPPIO_HD inline bool IsKept(uint32_t word, float ratio) { return ToUnit(word) >= ratio; }

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ACTIVATION_DROPOUT_FORM_H_
