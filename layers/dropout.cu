#include "core/device/launch.cuh"
#include "layers/channels_cuda.h"
#include "layers/dropout_cuda.h"

namespace doppio {
namespace {

struct alignas(kDrawnTogether * sizeof(float)) Four {
  float v[kDrawnTogether];
};

DOPPIO_HD float Kept(uint32_t word, const DropoutForm& form, float value) {
  return (IsKept(word, form.ratio) ? value : 0.0f) * form.scale;
}

}  // namespace

// A thread for the elements that share a Philox call.
void LaunchDropout(const Gpu& gpu, const DropoutForm& form, uint64_t first_sample,
                   const float* from, float* to) {
  const int64_t calls = (form.per_sample + kDrawnTogether - 1) / kDrawnTogether,
                all = form.samples * calls;
  const IndexDivider by_calls(calls, all);
  auto aligned = [](const float* p) { return reinterpret_cast<uintptr_t>(p) % sizeof(Four) == 0; };
  if (form.per_sample % kDrawnTogether == 0 && aligned(from) && aligned(to)) {
    ForEachIndex(
        gpu, all, "Dropout", DOPPIO_BODY(int64_t index) {
          const int64_t sample = by_calls(index), call = index - sample * calls;
          const Random4 words = form.random.At(first_sample + static_cast<uint64_t>(sample),
                                               static_cast<uint64_t>(call));
          Four four = reinterpret_cast<const Four*>(from)[index];
          for (int k = 0; k < kDrawnTogether; ++k) four.v[k] = Kept(words.v[k], form, four.v[k]);
          reinterpret_cast<Four*>(to)[index] = four;
        });
    return;
  }
  ForEachIndex(
      gpu, all, "Dropout", DOPPIO_BODY(int64_t index) {
        const int64_t sample = by_calls(index), call = index - sample * calls;
        const Random4 words = form.random.At(first_sample + static_cast<uint64_t>(sample),
                                             static_cast<uint64_t>(call));
        const int64_t element = call * kDrawnTogether, begin = sample * form.per_sample + element;
        for (int k = 0; k < kDrawnTogether && element + k < form.per_sample; ++k) {
          to[begin + k] = Kept(words.v[k], form, from[begin + k]);
        }
      });
}

}  // namespace doppio
