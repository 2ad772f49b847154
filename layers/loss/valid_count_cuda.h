// The number of labels that count in a loss on a GPU, which only the GPU knows if labels can be
// ignored. Tests read it after a pass. A loss on one of several ranks needs the sum of the numbers
// of all ranks for its divisor, so the host then waits for the GPU once for each such loss. It
// never waits if there is one rank only or if no label can be ignored.
#ifndef DOPPIO_LAYERS_LOSS_VALID_COUNT_CUDA_H_
#define DOPPIO_LAYERS_LOSS_VALID_COUNT_CUDA_H_

#include "core/device/device_cuda.h"
#include "layers/loss/loss_normalizer.h"

namespace doppio {

// Must not outlive the device.
class ValidCount {
 public:
  explicit ValidCount(Device* device) : memory_(device, sizeof(int64_t)), counted_(device) {
    *word() = 0;
  }

  // Returns the word of pinned host memory to which kernels write this rank's number.
  int64_t* word() const { return static_cast<int64_t*>(memory_.data()); }
  // Returns the number that the GPU wrote last. The caller has waited for the GPU.
  int64_t last() const { return *static_cast<volatile int64_t*>(word()); }

  // Returns the divisor. `ignores` is true if labels can be ignored. If the divisor needs the
  // number of labels that count, calls count(), which must make the GPU write word(), and waits for
  // the result. A collective call for pass.group in this case.
  template <class F>
  LossDivisor DivisorOf(const LossNormalizer& normalizer, const Pass& pass, bool ignores,
                        const F& count) {
    if (pass.group == nullptr || !normalizer.CountsValid()) return normalizer.DivisorOf(pass);
    if (!ignores) return normalizer.DivisorFor(pass, normalizer.positions() * pass.group->size());
    count();
    counted_.Record();
    counted_.Wait();
    return normalizer.DivisorFor(pass, normalizer.AllValid(pass, last()));
  }

 private:
  PinnedBuffer memory_;
  Fence counted_;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_VALID_COUNT_CUDA_H_
