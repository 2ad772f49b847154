// The divisor of a loss on one of several GPU ranks if it depends on the number of labels that
// count. Only the GPU knows this rank's number, and the host adds up the numbers of all ranks, so
// the host waits for the GPU once for each such loss. It never waits if there is one rank only or
// if no label can be ignored.
#ifndef DOPPIO_LAYERS_LOSS_VALID_COUNT_CUDA_H_
#define DOPPIO_LAYERS_LOSS_VALID_COUNT_CUDA_H_

#include <cstring>
#include <memory>

#include "core/device/device.h"
#include "layers/loss/loss_normalizer.h"

namespace doppio {

// Must not outlive the device.
class ValidCount {
 public:
  explicit ValidCount(Device* device) : download_(device->MakeDownload(sizeof(int64_t))) {}

  // Returns the divisor. `ignores` is true if labels can be ignored. If the divisor needs the
  // number of labels that count, calls count(), which must make the GPU write this rank's number to
  // `valid` in device memory, and waits for the result. A collective call for pass.group in this
  // case.
  template <class F>
  LossDivisor DivisorOf(const LossNormalizer& normalizer, const Pass& pass, bool ignores,
                        const int64_t* valid, const F& count) {
    if (pass.group == nullptr || !normalizer.CountsValid()) return normalizer.DivisorOf(pass);
    if (!ignores) return normalizer.DivisorFor(pass, normalizer.positions() * pass.group->size());
    count();
    download_->Start(0, valid, sizeof(int64_t));
    int64_t own = 0;
    std::memcpy(&own, download_->Wait(), sizeof own);
    return normalizer.DivisorFor(pass, normalizer.AllValid(pass, own));
  }

 private:
  const std::unique_ptr<Download> download_;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_VALID_COUNT_CUDA_H_
