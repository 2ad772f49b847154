// Correct and faulty kernels for the emulator's own test.
#ifndef DOPPIO_TESTS_DOUBLE_KERNELS_FOR_TEST_H_
#define DOPPIO_TESTS_DOUBLE_KERNELS_FOR_TEST_H_

#include <cuda_runtime.h>

#include <cstdint>

namespace doppio::gpu_double {

constexpr int kBlock = 256;

// Reverses each run of kBlock numbers through shared memory. Omits the barrier unless `barrier`.
cudaError_t LaunchReverse(cudaStream_t stream, float* data, int blocks, bool barrier);
// Reverses each run of kBlock numbers through device memory: data -> room -> data.
cudaError_t LaunchReverseInPlace(cudaStream_t stream, float* data, float* room, bool barrier);
// Sums shared memory in which only the first `written` threads have stored a value.
cudaError_t LaunchSumShared(cudaStream_t stream, float* sum, int written);
// The first `leaving` threads return instead of waiting at the barrier.
cudaError_t LaunchLeave(cudaStream_t stream, int leaving);
// Threads with an odd index wait at another barrier than the rest.
cudaError_t LaunchTwoBarriers(cudaStream_t stream);

// Copies 4 * packs elements from `from` to `to` in packs of 16 bytes.
cudaError_t LaunchCopyPacks(cudaStream_t stream, const float* from, float* to, int64_t packs);
// Copies n elements from `from` to `to`.
cudaError_t LaunchCopy(cudaStream_t stream, const float* from, float* to, int64_t n);
// Every block writes *to.
cudaError_t LaunchWriteOnce(cudaStream_t stream, float* to, int blocks);
// Sets to[i] to element i % 4 of a constant table.
cudaError_t LaunchTable(cudaStream_t stream, float* to, int n);

// Appends the number of each thread to `order`, at a position from `*cursor`, which must start at
// 0.
cudaError_t LaunchAppend(cudaStream_t stream, int* cursor, int* order, int blocks, int threads);
// Computes the maximum and the minimum of n values, and the number of odd values with atomicCAS.
cudaError_t LaunchExtremes(cudaStream_t stream, const int* values, int n, int* most, int* least,
                           unsigned* odd);
// Launches a kernel with an argument of 4100 bytes.
cudaError_t LaunchLargeArgument(cudaStream_t stream);

// Sums each row into `sums` with Doppio's ReduceRows. `room` is scratch memory of SumRowsBytes
// bytes.
void SumRows(cudaStream_t stream, int64_t rows, int64_t cols, const float* from, double* sums,
             void* room);
int64_t SumRowsBytes(int64_t rows, int64_t cols);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_KERNELS_FOR_TEST_H_
