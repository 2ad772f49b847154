// Axpy on a GPU, in plain arguments: what axpy_cuda.cc asks of axpy.cu.
#ifndef DOPPIO_LAYERS_ELEMENTWISE_AXPY_CUDA_H_
#define DOPPIO_LAYERS_ELEMENTWISE_AXPY_CUDA_H_

#include "core/device/device_cuda.h"

namespace doppio {

// Runs of `length` neighbouring elements that have one factor.
struct AxpyRuns {
  int64_t runs, length;
  const float* a;  // one per run
  const float* x;
};

// top = a * x + y; it may be x or y.
void LaunchAxpy(const Gpu& gpu, const AxpyRuns& in, const float* y, float* top);

int64_t AxpyScratchBytes(int64_t runs, int64_t length);
// The gradients of the factors and of x; either may be null, and dx may be dy.
void LaunchAxpyBackward(const Gpu& gpu, const AxpyRuns& in, const float* dy, float* da, float* dx,
                        void* scratch);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ELEMENTWISE_AXPY_CUDA_H_
