// Mixup on a GPU in plain arguments: what mixup_cuda.cc asks of mixup.cu.
#ifndef DOPPIO_LAYERS_ELEMENTWISE_MIXUP_CUDA_H_
#define DOPPIO_LAYERS_ELEMENTWISE_MIXUP_CUDA_H_

#include "core/device/device_cuda.h"
#include "core/tensor/dtype.h"
#include "layers/elementwise/mixup_ops.h"
#include "layers/loss/wrong_label_cuda.h"

namespace doppio {

// What LaunchMixupLabels needs beside the shares.
int64_t MixupRoomBytes(const MixupForm& form);

// shares[row]: of each sample of the batch, whose first one is `first_sample` of the run.
void LaunchMixupShares(const Gpu& gpu, const MixupForm& form, uint64_t first_sample,
                       double* shares);
// Data, or their gradients, which are stored as `type`. `to` is not `from`.
void LaunchMixupData(const Gpu& gpu, const MixupForm& form, const double* shares, DType type,
                     const void* from, void* to);
// A pair with a wrong label gets NaN for all classes; the first is written to `wrong`.
void LaunchMixupLabels(const Gpu& gpu, const MixupForm& form, const double* shares,
                       const float* labels, float* to, WrongLabelWord* wrong, void* room);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ELEMENTWISE_MIXUP_CUDA_H_
