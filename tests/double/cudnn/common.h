// What all functions of cuDNN's double share: the handle, error texts, checks of pointers, and the
// way to the stream. cuBLAS's double uses the checks, too.
#ifndef DOPPIO_TESTS_DOUBLE_CUDNN_COMMON_H_
#define DOPPIO_TESTS_DOUBLE_CUDNN_COMMON_H_

#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/double/cudnn/tensors.h"
#include "tests/double/machine/streams.h"

// cuDNN's own name for what a handle points to.
struct cudnnContext {
  int device = 0;                 // current when the handle was made
  cudaStream_t stream = nullptr;  // of `device`
};

namespace doppio::gpu_double {

// Keeps `text` for cudnnGetLastErrorString of the calling thread and returns `status`.
cudnnStatus_t Answer(cudnnStatus_t status, const std::string& text);

// True for the legacy and per-thread default streams, which have no device of their own.
bool IsDefaultStream(cudaStream_t stream);

// Success, or NOT_INITIALIZED for a null handle. Fault("handle") for one that was never made or is
// destroyed; Fault("current-device") unless the handle's device is the thread's current one.
cudnnStatus_t UseHandle(cudnnHandle_t handle, const std::string& function);

// Fault("alignment") unless `at` is a multiple of `alignment` bytes; Fault("bounds") unless
// [at, at + bytes) lies in one block; Fault("device") unless that block is memory of `device`.
void CheckDeviceMemory(int device, const void* at, int64_t bytes, int64_t alignment,
                       const std::string& what);
// The same for all that a tensor touches. Tensors of 16-bit elements with channels last must be
// aligned to 16 bytes, all others to an element.
void CheckTensor(int device, const Strided& tensor, const std::string& what);
// Fault("workspace") unless `given` >= `needed` bytes at `workspace`, aligned to 256 bytes, are
// memory of `device`. `needed` 0 allows anything.
void CheckWorkspace(int device, const void* workspace, int64_t given, int64_t needed,
                    const std::string& what);

// What a tensor touches: one access where it is dense, one for each dense piece where gaps lie
// between them.
std::vector<Access> AccessesOf(const Strided& tensor, bool writes);
void Append(std::vector<Access>* to, const std::vector<Access>& more);

// Overwrites memory whose content nobody may rely on. With device memory open only.
void FillWithGarbage(void* at, int64_t bytes);

// A number that depends on the seed of the settings and on `what` only, so that a process decides
// the same question alike each time, in any order.
uint64_t DrawFor(const std::string& what);
// True for about one question of `one_in` when the settings allow refusals (refuse=1).
bool Refuses(const std::string& what, uint64_t one_in);

// Counts an execution. True when the settings make this one fail (cudnn_fail=N).
bool ExecutionFails();
// Puts work on the handle's stream. CUDNN_STATUS_EXECUTION_FAILED_CUDART when CUDA refuses.
cudnnStatus_t EnqueueOn(cudnnHandle_t handle, Work work);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_CUDNN_COMMON_H_
