#include "tests/double/kernels_for_test.h"

#include "core/device/elementwise.cuh"
#include "core/device/launch.cuh"

namespace doppio::gpu_double {
namespace {

template <class... Parameters, class... Args>
cudaError_t Start(cudaStream_t stream, void (*kernel)(Parameters...), int blocks, int threads,
                  const Args&... args) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, args...);
}

__global__ void Reverse(float* data, bool barrier) {
  __shared__ float room[kBlock];
  float* const own = data + blockIdx.x * kBlock;
  room[threadIdx.x] = own[threadIdx.x];
  if (barrier) __syncthreads();
  own[threadIdx.x] = room[kBlock - 1 - threadIdx.x];
}

__global__ void ReverseInPlace(float* data, float* room, bool barrier) {
  room[threadIdx.x] = data[threadIdx.x];
  if (barrier) __syncthreads();
  data[threadIdx.x] = room[kBlock - 1 - threadIdx.x];
}

__global__ void SumShared(float* sum, int written) {
  __shared__ float room[kBlock];
  if (static_cast<int>(threadIdx.x) < written) room[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x > 0) return;
  float of_all = 0;
  for (int i = 0; i < kBlock; ++i) of_all += room[i];
  *sum = of_all;
}

__global__ void Leave(int leaving) {
  if (static_cast<int>(threadIdx.x) < leaving) return;
  __syncthreads();
}

__global__ void TwoBarriers() {
  if (threadIdx.x % 2 == 0) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

__global__ void CopyPacks(const float* from, float* to, int64_t packs) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < packs;
       i += step)
    StorePack(LoadPack<4>(from + 4 * i), to + 4 * i);
}

__global__ void Copy(const float* from, float* to, int64_t n) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[i];
}

__global__ void WriteOnce(float* to) {
  if (threadIdx.x == 0) *to = 1;
}

__global__ void Table(float* to, int n) {
  constexpr float kTable[4] = {1, 10, 100, 1000};
  const int i = static_cast<int>(threadIdx.x);
  if (i < n) to[i] = kTable[i % 4];
}

__global__ void Append(int* cursor, int* order) {
  order[atomicAdd(cursor, 1)] = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
}

__global__ void Extremes(const int* values, int n, int* most, int* least, unsigned* odd) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  atomicMax(most, values[i]);
  atomicMin(least, values[i]);
  if (values[i] % 2 == 0) return;
  unsigned seen = 0;
  for (unsigned now; (now = atomicCAS(odd, seen, seen + 1)) != seen;) seen = now;
}

struct Large {
  char bytes[4100];
};
__global__ void TakeLarge(Large) {}

}  // namespace

cudaError_t LaunchReverse(cudaStream_t stream, float* data, int blocks, bool barrier) {
  return Start(stream, &Reverse, blocks, kBlock, data, barrier);
}
cudaError_t LaunchReverseInPlace(cudaStream_t stream, float* data, float* room, bool barrier) {
  return Start(stream, &ReverseInPlace, 1, kBlock, data, room, barrier);
}
cudaError_t LaunchSumShared(cudaStream_t stream, float* sum, int written) {
  return Start(stream, &SumShared, 1, kBlock, sum, written);
}
cudaError_t LaunchLeave(cudaStream_t stream, int leaving) {
  return Start(stream, &Leave, 3, kBlock, leaving);
}
cudaError_t LaunchTwoBarriers(cudaStream_t stream) {
  return Start(stream, &TwoBarriers, 1, kBlock);
}
cudaError_t LaunchCopyPacks(cudaStream_t stream, const float* from, float* to, int64_t packs) {
  return Start(stream, &CopyPacks, 2, 64, from, to, packs);
}
cudaError_t LaunchCopy(cudaStream_t stream, const float* from, float* to, int64_t n) {
  return Start(stream, &Copy, static_cast<int>((n + kBlock - 1) / kBlock), kBlock, from, to, n);
}
cudaError_t LaunchWriteOnce(cudaStream_t stream, float* to, int blocks) {
  return Start(stream, &WriteOnce, blocks, 32, to);
}
cudaError_t LaunchTable(cudaStream_t stream, float* to, int n) {
  return Start(stream, &Table, 1, n, to, n);
}
cudaError_t LaunchAppend(cudaStream_t stream, int* cursor, int* order, int blocks, int threads) {
  return Start(stream, &Append, blocks, threads, cursor, order);
}
cudaError_t LaunchExtremes(cudaStream_t stream, const int* values, int n, int* most, int* least,
                           unsigned* odd) {
  return Start(stream, &Extremes, (n + kBlock - 1) / kBlock, kBlock, values, n, most, least, odd);
}
cudaError_t LaunchLargeArgument(cudaStream_t stream) {
  return Start(stream, &TakeLarge, 1, 1, Large());
}

void SumRows(cudaStream_t stream, int64_t rows, int64_t cols, const float* from, double* sums,
             void* room) {
  Gpu gpu;
  gpu.stream = stream;
  ReduceRows(
      gpu, rows, cols, "sums of rows", 0.0,
      DOPPIO_BODY(int64_t row, int64_t c) { return static_cast<double>(from[row * cols + c]); },
      Plus(), DOPPIO_BODY(int64_t row, double sum) { sums[row] = sum; }, room);
}
int64_t SumRowsBytes(int64_t rows, int64_t cols) { return ReduceRowsBytes<double>(rows, cols); }

}  // namespace doppio::gpu_double
