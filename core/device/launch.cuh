// Launches CUDA kernels over indices, and reductions over rows. Callers pass the computation as
// host/device functions.
//
// Only for .cu files. The functions are lambdas marked DOPPIO_BODY. The function that contains such
// a lambda must not be a private member of a class (a restriction of nvcc).
#ifndef DOPPIO_CORE_DEVICE_LAUNCH_CUH_
#define DOPPIO_CORE_DEVICE_LAUNCH_CUH_

#include <cstdint>

#include "core/device/device_cuda.h"

#define DOPPIO_BODY [=] __host__ __device__

namespace doppio {

// Launches kernel(args...) with `blocks` blocks of kThreadsPerBlock threads, in stream order.
// Throws DeviceError, naming `what`, if CUDA rejects the launch. A failure inside the kernel
// appears at the next synchronisation.
template <class... Parameters, class... Args>
static void Launch(const Gpu& gpu, const char* what, void (*kernel)(Parameters...), unsigned blocks,
                   const Args&... args) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(kThreadsPerBlock);
  config.stream = gpu.stream;
  const cudaError_t result = cudaLaunchKernelEx(&config, kernel, args...);
  if (result != cudaSuccess) Cuda(result, "the launch of", what);
}

namespace launch {

// Calls f(i) for every i in [0, n) in a grid-stride loop.
template <class F>
__global__ void RunForEach(int64_t n, const F f) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step)
    f(i);
}

// Combines the values of all threads of a block, always in the same order. The result is valid in
// thread 0. All threads of the block must call it.
template <class Sum, class Combine>
__device__ Sum CombineBlock(Sum mine, const Combine& combine) {
  alignas(16) __shared__ unsigned char room[kThreadsPerBlock * sizeof(Sum)];
  Sum* sums = reinterpret_cast<Sum*>(room);
  sums[threadIdx.x] = mine;
  for (unsigned half = kThreadsPerBlock / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half)
      sums[threadIdx.x] = combine(sums[threadIdx.x], sums[threadIdx.x + half]);
  }
  // No barrier is needed: the result is valid only in thread 0, which wrote it.
  const Sum own = sums[threadIdx.x];
  __syncthreads();  // the shared memory can be reused after this barrier
  return own;
}

// Reduces part `part` of row `row` to partial[row * parts + part]. One block handles each part.
template <class Sum, class Map, class Combine>
__global__ void RunReduceParts(int64_t rows, int64_t cols, int64_t parts, Sum zero, const Map map,
                               const Combine combine, Sum* partial) {
  for (int64_t item = blockIdx.x; item < rows * parts; item += gridDim.x) {
    const int64_t row = item / parts, part = item % parts;
    const int64_t end = cols * (part + 1) / parts;
    Sum sum = zero;
    for (int64_t c = cols * part / parts + threadIdx.x; c < end; c += blockDim.x) {
      sum = combine(sum, map(row, c));
    }
    sum = CombineBlock(sum, combine);
    if (threadIdx.x == 0) partial[item] = sum;
  }
}

// Reduces each row with one block and calls `finish` with the sum.
template <class Sum, class Map, class Combine, class Finish>
__global__ void RunReduceRows(int64_t rows, int64_t cols, Sum zero, const Map map,
                              const Combine combine, const Finish finish) {
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    Sum sum = zero;
    for (int64_t c = threadIdx.x; c < cols; c += blockDim.x) sum = combine(sum, map(row, c));
    sum = CombineBlock(sum, combine);
    if (threadIdx.x == 0) finish(row, sum);
  }
}

// Reduces one row on one thread. For short rows.
template <class Sum, class Map, class Combine, class Finish>
__host__ __device__ void ReduceRow(int64_t row, int64_t cols, Sum zero, const Map& map,
                                   const Combine& combine, const Finish& finish) {
  Sum sum = zero;
  for (int64_t c = 0; c < cols; ++c) sum = combine(sum, map(row, c));
  finish(row, sum);
}

constexpr int64_t kShortRow = 32;  // a row of at most 32 elements is reduced by one thread
// If there are few rows, a row is split into parts of at least this many elements, one per block.
constexpr int64_t kPartOfRow = 8192;
constexpr int64_t kMaxParts = 1024;  // several blocks per multiprocessor of a large GPU

// Returns the number of parts into which each row is split.
inline int64_t PartsOf(int64_t rows, int64_t cols) {
  if (rows >= 1024 || cols < 2 * kPartOfRow) return 1;
  return std::clamp<int64_t>(std::min(cols / kPartOfRow, 2048 / std::max<int64_t>(1, rows)), 1,
                             kMaxParts);
}

}  // namespace launch

// Functions that contain a DOPPIO_BODY are static: nvcc numbers lambdas per file, so the linker
// could replace a function by one of another file.

// Calls f(i) for every i in [0, n). `what` names the work in error messages.
template <class F>
static void ForEachIndex(const Gpu& gpu, int64_t n, const char* what, const F& f) {
  if (n <= 0) return;
  Launch(gpu, what, &launch::RunForEach<F>, BlocksFor(n), n, f);
}

// Returns the bytes of scratch memory that ReduceRows needs.
template <class Sum>
int64_t ReduceRowsBytes(int64_t rows, int64_t cols) {
  const int64_t parts = launch::PartsOf(rows, cols);
  return parts == 1 ? 0 : rows * parts * static_cast<int64_t>(sizeof(Sum));
}

namespace launch {

constexpr int64_t kMaxBlocks = 65535;

// Reduces each row without splitting it, with one thread for a short row and one block for a long
// row.
template <class Sum, class Map, class Combine, class Finish>
static void ReduceWholeRows(const Gpu& gpu, int64_t rows, int64_t cols, const char* what, Sum zero,
                            const Map& map, const Combine& combine, const Finish& finish) {
  if (cols <= kShortRow) {
    ForEachIndex(
        gpu, rows, what,
        DOPPIO_BODY(int64_t row) { ReduceRow(row, cols, zero, map, combine, finish); });
    return;
  }
  const unsigned blocks = static_cast<unsigned>(std::min(rows, kMaxBlocks));
  Launch(gpu, what, &RunReduceRows<Sum, Map, Combine, Finish>, blocks, rows, cols, zero, map,
         combine, finish);
}

}  // namespace launch

// Calls finish(row, sum) for every row, where `sum` combines map(row, c) for all columns c < cols.
// `zero` is the neutral element of `combine`. The order of additions depends only on the sizes.
// `Sum` is a number or a small struct of numbers. `room` is device memory of ReduceRowsBytes bytes.
template <class Sum, class Map, class Combine, class Finish>
static void ReduceRows(const Gpu& gpu, int64_t rows, int64_t cols, const char* what, Sum zero,
                       const Map& map, const Combine& combine, const Finish& finish, void* room) {
  if (rows <= 0) return;
  const int64_t parts = launch::PartsOf(rows, cols);
  if (parts == 1) {
    launch::ReduceWholeRows(gpu, rows, cols, what, zero, map, combine, finish);
    return;
  }
  Sum* partial = static_cast<Sum*>(room);
  const unsigned blocks = static_cast<unsigned>(std::min(rows * parts, launch::kMaxBlocks));
  Launch(gpu, what, &launch::RunReduceParts<Sum, Map, Combine>, blocks, rows, cols, parts, zero,
         map, combine, partial);
  launch::ReduceWholeRows(
      gpu, rows, parts, what, zero,
      DOPPIO_BODY(int64_t row, int64_t part) { return partial[row * parts + part]; }, combine,
      finish);
}

// Adds two values: a `combine` for ReduceRows.
struct Plus {
  template <class T>
  __host__ __device__ T operator()(T a, T b) const {
    return a + b;
  }
};

}  // namespace doppio

#endif  // DOPPIO_CORE_DEVICE_LAUNCH_CUH_
