// Reduction on a GPU: what reduction_cuda.cc asks of reduction.cu.
#ifndef DOPPIO_LAYERS_SHAPE_REDUCTION_CUDA_H_
#define DOPPIO_LAYERS_SHAPE_REDUCTION_CUDA_H_

#include "core/device/device_cuda.h"
#include "layers/shape/reduction_ops.h"

namespace doppio {

// y[row] = factor * sum, formed in double. `room`: ReductionRoom.
void LaunchReduction(const Gpu& gpu, const ReductionRows& rows, double factor, const float* x,
                     float* y, void* room);
int64_t ReductionRoom(const ReductionRows& rows);
// x is read where the term is no plain value.
void LaunchReductionGradient(const Gpu& gpu, const ReductionRows& rows, double factor,
                             const float* x, const float* dy, float* dx);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SHAPE_REDUCTION_CUDA_H_
