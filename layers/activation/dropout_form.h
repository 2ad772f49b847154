// The form of Dropout, SpatialDropout and SeLuDropout, and the rule that decides which elements are
// kept. The rule depends only on the seed, the layer's name, the sample's global index and the
// element's index in the sample, so it gives the same result on every device.
#ifndef DOPPIO_LAYERS_ACTIVATION_DROPOUT_FORM_H_
#define DOPPIO_LAYERS_ACTIVATION_DROPOUT_FORM_H_

#include <cstdint>

#include "core/base/random.h"

namespace doppio {

constexpr char kSpatialDropout[] = "SpatialDropout";
constexpr char kSeluDropout[] = "SeLuDropout";

// A kept element x becomes scale * x + offset, every other element becomes `dropped`.
template <class T>
struct DropoutMap {
  T scale, offset, dropped;
  DOPPIO_HD T operator()(bool kept, T x) const { return kept ? x * scale + offset : dropped; }
};

// In the layer's phase, each element is dropped with probability `ratio`: it becomes 0, or
// `dropped` in SeLuDropout. The others are multiplied by scale(), and SeLuDropout adds `offset`.
// With `scale_train: false` (Microsoft's Caffe), training does not scale, and phase TEST multiplies
// all elements by 1 - given.
struct DropoutForm {
  // SpatialDropout: draws one number per channel of a sample. With `whole_samples`, a sample counts
  // as one channel.
  bool whole_channels = false;
  float ratio = 0;
  enum { kNothing, kDivide, kMultiply, kNormalize } kept = kNothing;
  float given = 0;                                 // the dropout ratio in the net file
  double normalizer = 1, dropped = 0, offset = 0;  // SeLuDropout
  Random random{0, 0};
  int64_t samples = 1, channels = 1, positions = 1;  // sizes of the bottom; `positions` per channel

  int64_t per_sample() const { return channels * positions; }
  // The factor of kept elements, computed in T: 1 (kNothing), 1 / (1 - given) (kDivide), 1 - given
  // (kMultiply) or `normalizer` (kNormalize).
  template <class T>
  T scale() const {
    if (kept == kNormalize) return static_cast<T>(normalizer);
    const T left = T(1) - T(given);
    return kept == kNothing ? T(1) : kept == kDivide ? T(1) / left : left;
  }
  template <class T>
  DropoutMap<T> values() const {
    return {scale<T>(), static_cast<T>(offset), static_cast<T>(dropped)};
  }
  template <class T>
  DropoutMap<T> gradients() const {
    return {scale<T>(), T(0), T(0)};
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
