// Copies of rows between arrays of different widths on a GPU, for elements of any type.
#ifndef DOPPIO_LAYERS_COMMON_COPY_RUNS_CUDA_H_
#define DOPPIO_LAYERS_COMMON_COPY_RUNS_CUDA_H_

#include <cstdint>

#include "core/device/device_cuda.h"

namespace doppio {

// `rows` runs of `bytes`, so far apart as the pitches say. CUDA's own copy is made for long rows;
// with channels last a run is the channels of one pixel.
void CopyRuns(const Gpu& gpu, int64_t rows, int64_t bytes, void* to, int64_t to_pitch,
              const void* from, int64_t from_pitch);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_COMMON_COPY_RUNS_CUDA_H_
