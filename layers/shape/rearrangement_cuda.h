// Copies of strided boxes on a GPU: what rearrangement_cuda.cc asks of rearrangement.cu.
#ifndef DOPPIO_LAYERS_SHAPE_REARRANGEMENT_CUDA_H_
#define DOPPIO_LAYERS_SHAPE_REARRANGEMENT_CUDA_H_

#include "core/device/device_cuda.h"
#include "layers/shape/strided_box.h"

namespace doppio {

constexpr int kMostBoxAxes = 8;

// Of elements of 2 or 4 bytes, in a box of at most kMostBoxAxes axes: to the top, or back to the
// bottom.
void LaunchBoxToTop(const Gpu& gpu, const StridedBox& box, int64_t element_bytes,
                    const void* bottom, void* top);
void LaunchBoxToBottom(const Gpu& gpu, const StridedBox& box, int64_t element_bytes,
                       const void* top, void* bottom);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SHAPE_REARRANGEMENT_CUDA_H_
