// Dropout on a GPU in plain arguments: what dropout_cuda.cc asks of dropout.cu.
#ifndef DOPPIO_LAYERS_ACTIVATION_DROPOUT_CUDA_H_
#define DOPPIO_LAYERS_ACTIVATION_DROPOUT_CUDA_H_

#include "core/device/device_cuda.h"
#include "core/tensor/dtype.h"
#include "layers/activation/dropout_random.h"

namespace doppio {

struct DropoutForm {
  Random random;
  float ratio, scale;  // scale: of what is kept
  int64_t samples, channels, positions;
  bool channels_last;   // the elements of a sample lie as positions x channels, else as channels x
                        // positions
  DType type;           // what they are stored as
  bool whole_channels;  // a number is drawn for each channel of a sample, not for each element
  int64_t per_sample() const { return channels * positions; }
};

// `to` is what is kept of `from`, scaled, and zero elsewhere. The same numbers are drawn whenever
// first_sample is the same: so values and their gradients go the same way. `to` may be `from`.
void LaunchDropout(const Gpu& gpu, const DropoutForm& form, uint64_t first_sample, const void* from,
                   void* to);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ACTIVATION_DROPOUT_CUDA_H_
