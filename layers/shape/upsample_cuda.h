// Upsample on a GPU in plain arguments: what upsample_cuda.cc asks of upsample.cu.
#ifndef DOPPIO_LAYERS_SHAPE_UPSAMPLE_CUDA_H_
#define DOPPIO_LAYERS_SHAPE_UPSAMPLE_CUDA_H_

#include "core/device/device_cuda.h"
#include "layers/shape/upsample_ops.h"

namespace doppio {

// body(i) for i in [0, n).
void LaunchUpsample(const Gpu& gpu, int64_t n, const RepeatPixels<float>& body);
void LaunchUpsample(const Gpu& gpu, int64_t n, const SumPixels<float>& body);
void LaunchUpsample(const Gpu& gpu, int64_t n, const TakeLast<float>& body);
void LaunchUpsample(const Gpu& gpu, int64_t n, const ReadByMask<float>& body);

// last[place] = the last element of the bottom that goes there, or -1. Sets *bad for an index that
// is no place.
void LaunchFindLast(const Gpu& gpu, const UpsampleForm& form, const float* mask, int32_t* last,
                    uint32_t* bad);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SHAPE_UPSAMPLE_CUDA_H_
