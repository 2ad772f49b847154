// Rows of a matrix that others name by number, on a GPU: what the kernels of Embed, BatchReindex
// and Filter are made of. Rows have `width` numbers.
#ifndef DOPPIO_LAYERS_COMMON_ROWS_CUDA_H_
#define DOPPIO_LAYERS_COMMON_ROWS_CUDA_H_

#include "core/device/device_cuda.h"
#include "layers/common/row_index.h"
#include "layers/loss/wrong_label_cuda.h"

namespace doppio {

// rows[i] = the row that indices[i] means, or kNoRow; the first such one is reported to `wrong`.
// `room`: ReadIndicesRoom.
void LaunchReadIndices(const Gpu& gpu, const IndexReader& reader, int64_t count,
                       const float* indices, int32_t* rows, WrongLabelWord* wrong, void* room);
int64_t ReadIndicesRoom(int64_t count);

// to[i] = from[rows[i]] + bias, or `absent` where rows[i] is kNoRow. `bias` may be null.
void LaunchGatherRows(const Gpu& gpu, int64_t count, int64_t width, const int32_t* rows,
                      const float* from, const float* bias, float absent, float* to);

// to[rows[i]] += from[i], always in the order of i. The equal ones among `rows` are found by
// comparing each with those behind it and before it: good for the thousands of a batch. `links`: 2
// * count numbers to work in.
void LaunchAddRows(const Gpu& gpu, int64_t count, int64_t width, const int32_t* rows,
                   const float* from, float* to, int32_t* links);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_COMMON_ROWS_CUDA_H_
