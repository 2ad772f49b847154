// Kernels, right and wrong ones, that the emulator's test runs.
#ifndef DOPPIO_TESTS_DOUBLE_KERNELS_FOR_TEST_H_
#define DOPPIO_TESTS_DOUBLE_KERNELS_FOR_TEST_H_

#include <cuda_runtime.h>

#include <cstdint>

namespace doppio::gpu_double {

constexpr int kBlock = 256;

// Reverses each run of kBlock numbers, by way of shared memory; with or without its barrier.
cudaError_t LaunchReverse(cudaStream_t stream, float* data, int blocks, bool barrier);
// The same by way of device memory: data -> room -> data.
cudaError_t LaunchReverseInPlace(cudaStream_t stream, float* data, float* room, bool barrier);
// Adds up shared memory that only the first `written` threads have written.
cudaError_t LaunchSumShared(cudaStream_t stream, float* sum, int written);
// The first `leaving` threads end instead of going to the barrier.
cudaError_t LaunchLeave(cudaStream_t stream, int leaving);
// Odd threads take another barrier.
cudaError_t LaunchTwoBarriers(cudaStream_t stream);

// to[i] = from[i] for 4 * packs elements, in packs of 16 bytes.
cudaError_t LaunchCopyPacks(cudaStream_t stream, const float* from, float* to, int64_t packs);
// to[i] = from[i]
cudaError_t LaunchCopy(cudaStream_t stream, const float* from, float* to, int64_t n);
// All blocks write *to.
cudaError_t LaunchWriteOnce(cudaStream_t stream, float* to, int blocks);
// to[i] = a constant table's element i % 4
cudaError_t LaunchTable(cudaStream_t stream, float* to, int n);

// Appends each thread's number to order[...], by a cursor that starts with 0.
cudaError_t LaunchAppend(cudaStream_t stream, int* cursor, int* order, int blocks, int threads);
// The largest and the least of the n values; and how often they are odd, by atomicCAS.
cudaError_t LaunchExtremes(cudaStream_t stream, const int* values, int n, int* most, int* least,
                           unsigned* odd);
// A kernel with an argument of 4100 bytes.
cudaError_t LaunchLargeArgument(cudaStream_t stream);

// sums[row] = the sum over the row, by the product's ReduceRows.
void SumRows(cudaStream_t stream, int64_t rows, int64_t cols, const float* from, double* sums,
             void* room);
int64_t SumRowsBytes(int64_t rows, int64_t cols);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_KERNELS_FOR_TEST_H_
