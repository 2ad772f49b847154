// Which elements Dropout keeps, the same on every device: it depends on the seed, the layer's name,
// the global index of the sample and the element within it only.
#ifndef DOPPIO_LAYERS_ACTIVATION_DROPOUT_RANDOM_H_
#define DOPPIO_LAYERS_ACTIVATION_DROPOUT_RANDOM_H_

#include "core/base/random.h"

namespace doppio {

// Elements that share a Philox call, as Random::Uniform counts them.
constexpr int kDrawnTogether = 4;

// Whether the element that drew `word` is kept.
DOPPIO_HD inline bool IsKept(uint32_t word, float ratio) { return ToUnit(word) >= ratio; }

// NVCaffe's layer may name its own seed. A template, so that device code can include this file
// without protobuf.
template <class Spec>
Random DropoutRandom(const Spec& spec) {
  const int64_t own = spec.param.dropout_param().random_seed();
  return Random(own >= 0 ? static_cast<uint64_t>(own) : spec.options.seed,
                Stream("dropout", spec.name()));
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ACTIVATION_DROPOUT_RANDOM_H_
