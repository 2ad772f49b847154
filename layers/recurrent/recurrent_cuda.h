// The element-wise parts of RNN and LSTM on a GPU: what recurrent_cuda.cc asks of recurrent.cu.
#ifndef DOPPIO_LAYERS_RECURRENT_RECURRENT_CUDA_H_
#define DOPPIO_LAYERS_RECURRENT_RECURRENT_CUDA_H_

#include "core/device/device_cuda.h"
#include "layers/recurrent/recurrent_ops.h"

namespace doppio {

// body(i) for i in [0, n).
void LaunchRecurrent(const Gpu& gpu, int64_t n, const LstmStep<float>& body);
void LaunchRecurrent(const Gpu& gpu, int64_t n, const LstmStepBackward<float>& body);
void LaunchRecurrent(const Gpu& gpu, int64_t n, const TanhStep<float>& body);
void LaunchRecurrent(const Gpu& gpu, int64_t n, const TanhStepBackward<float>& body);
void LaunchRecurrent(const Gpu& gpu, int64_t n, const ContinueStates<float>& body);
void LaunchRecurrent(const Gpu& gpu, int64_t n, const SumOverSteps<float>& body);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_RECURRENT_RECURRENT_CUDA_H_
