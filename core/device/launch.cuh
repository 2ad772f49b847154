// How CUDA code runs: over indices, and sums over rows. What is to be done is given as host/device
// functions.
//
// Only for .cu files. Bodies are lambdas marked DOPPIO_BODY; an enclosing function must not be
// private to a class.
#ifndef DOPPIO_CORE_DEVICE_LAUNCH_CUH_
#define DOPPIO_CORE_DEVICE_LAUNCH_CUH_

#include <cstdint>

#include "core/device/device_cuda.h"

#define DOPPIO_BODY [=] __host__ __device__

namespace doppio {

// Runs kernel(args...) with `blocks` blocks of kThreadsPerBlock threads, in the order of the
// device's stream. Throws DeviceError, which names `what`, if CUDA rejects the launch; a failure
// inside the kernel shows at the next synchronisation.
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

template <class F>
__global__ void RunForEach(int64_t n, const F f) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step)
    f(i);
}

// Sums of the threads of a block, always added in the same order; valid in thread 0.
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
  const Sum own = sums[threadIdx.x];  // the others do not wait for what thread 0 has just written
  __syncthreads();                    // the room is free again
  return own;
}

// A block for each (row, part): partial[row * parts + part].
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

// A block for each row, which finishes it as well.
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

// A thread for each row: short rows, or few elements to add up.
template <class Sum, class Map, class Combine, class Finish>
__host__ __device__ void ReduceRow(int64_t row, int64_t cols, Sum zero, const Map& map,
                                   const Combine& combine, const Finish& finish) {
  Sum sum = zero;
  for (int64_t c = 0; c < cols; ++c) sum = combine(sum, map(row, c));
  finish(row, sum);
}

constexpr int64_t kShortRow = 32;  // elements that one thread may as well add up
constexpr int64_t kPartOfRow =
    8192;  // elements worth a block of their own where there are few rows
constexpr int64_t kMostParts = 1024;  // several blocks for each multiprocessor of a large GPU

inline int64_t PartsOf(int64_t rows, int64_t cols) {
  if (rows >= 1024 || cols < 2 * kPartOfRow) return 1;
  return std::clamp<int64_t>(std::min(cols / kPartOfRow, 2048 / std::max<int64_t>(1, rows)), 1,
                             kMostParts);
}

}  // namespace launch

// Functions with bodies are `static`: nvcc numbers lambdas by file, and the linker would take one
// file's for another's.

// f(i) for every i in [0, n). `what` names it in error messages.
template <class F>
static void ForEachIndex(const Gpu& gpu, int64_t n, const char* what, const F& f) {
  if (n <= 0) return;
  Launch(gpu, what, &launch::RunForEach<F>, BlocksFor(n), n, f);
}

// Memory that ReduceRows works in.
template <class Sum>
int64_t ReduceRowsBytes(int64_t rows, int64_t cols) {
  const int64_t parts = launch::PartsOf(rows, cols);
  return parts == 1 ? 0 : rows * parts * static_cast<int64_t>(sizeof(Sum));
}

namespace launch {

constexpr int64_t kMostBlocks = 65535;

// A block, or a thread, for each row.
template <class Sum, class Map, class Combine, class Finish>
static void ReduceWholeRows(const Gpu& gpu, int64_t rows, int64_t cols, const char* what, Sum zero,
                            const Map& map, const Combine& combine, const Finish& finish) {
  if (cols <= kShortRow) {
    ForEachIndex(
        gpu, rows, what,
        DOPPIO_BODY(int64_t row) { ReduceRow(row, cols, zero, map, combine, finish); });
    return;
  }
  const unsigned blocks = static_cast<unsigned>(std::min(rows, kMostBlocks));
  Launch(gpu, what, &RunReduceRows<Sum, Map, Combine, Finish>, blocks, rows, cols, zero, map,
         combine, finish);
}

}  // namespace launch

// finish(row, sum) for every row, where sum combines map(row, c) for c in [0, cols), starting with
// `zero`. The order of additions depends on the sizes only. `Sum` is a number or a small struct of
// numbers. `room`: ReduceRowsBytes.
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
  const unsigned blocks = static_cast<unsigned>(std::min(rows * parts, launch::kMostBlocks));
  Launch(gpu, what, &launch::RunReduceParts<Sum, Map, Combine>, blocks, rows, cols, parts, zero,
         map, combine, partial);
  launch::ReduceWholeRows(
      gpu, rows, parts, what, zero,
      DOPPIO_BODY(int64_t row, int64_t part) { return partial[row * parts + part]; }, combine,
      finish);
}

struct Plus {
  template <class T>
  __host__ __device__ T operator()(T a, T b) const {
    return a + b;
  }
};

}  // namespace doppio

#endif  // DOPPIO_CORE_DEVICE_LAUNCH_CUH_
