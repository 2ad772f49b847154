// The sum of a pairwise exchange.
#ifndef DOPPIO_PARALLEL_GPU_ADD_TO_CUDA_H_
#define DOPPIO_PARALLEL_GPU_ADD_TO_CUDA_H_

#include <cstdint>

#include "core/device/device_cuda.h"
#include "core/tensor/dtype.h"

namespace doppio {

// to[i] += from[i], of any real type; in single precision for 16-bit ones.
void LaunchAddTo(const Gpu& gpu, DType dtype, int64_t count, const void* from, void* to);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_GPU_ADD_TO_CUDA_H_
