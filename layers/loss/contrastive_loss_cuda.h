// ContrastiveLoss on a GPU, in plain arguments: what contrastive_loss_cuda.cc asks of
// contrastive_loss.cu.
#ifndef DOPPIO_LAYERS_LOSS_CONTRASTIVE_LOSS_CUDA_H_
#define DOPPIO_LAYERS_LOSS_CONTRASTIVE_LOSS_CUDA_H_

#include "core/device/device_cuda.h"
#include "layers/loss/contrastive_loss_ops.h"

namespace doppio {

struct ContrastivePairs {
  const float *a, *b;    // samples x values
  const float* similar;  // one per sample
  int64_t samples, values;
  ContrastiveTerms<float> terms;
};

int64_t ContrastiveScratchBytes(int64_t samples, int64_t values);
// *loss, on the device: the sum over pairs / (2 divisor). `slopes` of each sample: for backward, or
// null.
void LaunchContrastiveForward(const Gpu& gpu, const ContrastivePairs& pairs, double divisor,
                              float* loss, float* slopes, void* scratch);
// Both gradients, of which one may be null. `weight`, on the device: the loss weight.
void LaunchContrastiveBackward(const Gpu& gpu, const ContrastivePairs& pairs, double divisor,
                               const float* weight, const float* slopes, float* da, float* db);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_CONTRASTIVE_LOSS_CUDA_H_
