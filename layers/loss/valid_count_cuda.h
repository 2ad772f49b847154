// The divisor of a loss on a GPU that is one of several ranks, where it depends on how many labels
// count: only the GPU knows this rank's number, and the host adds the others', so the host waits
// for the GPU once for each such loss. One rank alone never waits, nor does anybody whose labels
// all count.
#ifndef DOPPIO_LAYERS_LOSS_VALID_COUNT_CUDA_H_
#define DOPPIO_LAYERS_LOSS_VALID_COUNT_CUDA_H_

#include <cstring>
#include <memory>

#include "core/device/device.h"
#include "layers/loss/loss_normalizer.h"

namespace doppio {

class ValidCount {
 public:
  explicit ValidCount(Device* device) : download_(device->MakeDownload(sizeof(int64_t))) {}

  // `ignores`: whether some labels may not count. Then count() is called, to have the GPU write
  // their number to `valid`.
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
