// The kernel that adds in a pairwise exchange.
#ifndef DOPPIO_PARALLEL_GPU_ADD_TO_CUDA_H_
#define DOPPIO_PARALLEL_GPU_ADD_TO_CUDA_H_

#include <cstdint>

#include "core/device/device_cuda.h"
#include "core/tensor/dtype.h"

namespace doppio {

// Launches to[i] += from[i] for `count` elements of any real type; 16-bit elements are added in
// single precision.
void LaunchAddTo(const Gpu& gpu, DType dtype, int64_t count, const void* from, void* to);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_GPU_ADD_TO_CUDA_H_
