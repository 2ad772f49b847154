// Copies of matrix rows that are selected by index, on a GPU, for the kernels of Embed,
// BatchReindex and Filter. Each row has `width` numbers. Every function runs in the order of the
// device's stream.
#ifndef DOPPIO_LAYERS_COMMON_ROWS_CUDA_H_
#define DOPPIO_LAYERS_COMMON_ROWS_CUDA_H_

#include "core/device/device_cuda.h"
#include "layers/common/row_index.h"
#include "layers/common/wrong_label_cuda.h"

namespace doppio {

// Sets rows[i] to the row of indices[i], or to kNoRow if the index is out of range. Reports the
// first such index to `wrong`. `room` has ReadIndicesRoom(count) bytes.
void LaunchReadIndices(const Gpu& gpu, const IndexReader& reader, int64_t count,
                       const float* indices, int32_t* rows, WrongLabelWord* wrong, void* room);
int64_t ReadIndicesRoom(int64_t count);

// to[i] = from[rows[i]] + bias, where rows[i] == kNoRow reads a row of `absent`. `bias` may be
// null.
void LaunchGatherRows(const Gpu& gpu, int64_t count, int64_t width, const int32_t* rows,
                      const float* from, const float* bias, float absent, float* to);

// to[rows[i]] += from[i], always in the order of i. Each index is compared with those before and
// after it to find equal rows, which is fast enough for the thousands of indices in a batch.
// `links` is scratch memory for 2 * count numbers.
void LaunchAddRows(const Gpu& gpu, int64_t count, int64_t width, const int32_t* rows,
                   const float* from, float* to, int32_t* links);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_COMMON_ROWS_CUDA_H_
