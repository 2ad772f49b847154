// Shared code of all functions of the cuDNN double: the handle, error texts, checks of pointers,
// and access to the stream. The double of cuBLAS uses the checks too.
#ifndef DOPPIO_TESTS_DOUBLE_CUDNN_COMMON_H_
#define DOPPIO_TESTS_DOUBLE_CUDNN_COMMON_H_

#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/double/cudnn/tensors.h"
#include "tests/double/machine/streams.h"

// cuDNN uses this name for the type behind a handle.
struct cudnnContext {
  int device = 0;                 // current device when the handle was created
  cudaStream_t stream = nullptr;  // on `device`
};

namespace doppio::gpu_double {

// Stores `text` for cudnnGetLastErrorString of the calling thread, and returns `status`.
cudnnStatus_t Answer(cudnnStatus_t status, const std::string& text);

// Returns true for the legacy and per-thread default streams, which do not belong to one device.
bool IsDefaultStream(cudaStream_t stream);

// Returns success, or NOT_INITIALIZED for a null handle. Fault("handle") for a handle that does not
// exist; Fault("current-device") unless the handle's device is the current device of the thread.
cudnnStatus_t UseHandle(cudnnHandle_t handle, const std::string& function);

// Fault("alignment") unless `at` is a multiple of `alignment` bytes; Fault("bounds") unless [at, at
// + bytes) is inside one block; Fault("device") unless that block is in memory of `device`.
void CheckDeviceMemory(int device, const void* at, int64_t bytes, int64_t alignment,
                       const std::string& what);
// Makes the same checks for all memory of a tensor. Tensors of 16-bit elements with channels last
// must be aligned to 16 bytes, and all others to the size of an element.
void CheckTensor(int device, const Strided& tensor, const std::string& what);
// Fault("workspace") unless `given` >= `needed` bytes at `workspace`, aligned to 256 bytes, are in
// memory of `device`. If `needed` is 0, any workspace is valid.
void CheckWorkspace(int device, const void* workspace, int64_t given, int64_t needed,
                    const std::string& what);

// Returns the memory of a tensor: one access if it is dense, or else one access for each dense
// piece.
std::vector<Access> AccessesOf(const Strided& tensor, bool writes);
void Append(std::vector<Access>* to, const std::vector<Access>& more);

// Overwrites memory whose content is undefined for the program. Device memory must be open.
void FillWithGarbage(void* at, int64_t bytes);

// Returns a number that depends only on the seed of the settings and on `what`. A process thus
// decides the same question the same way each time, in any order.
uint64_t DrawFor(const std::string& what);
// Returns true for about one in `one_in` questions if the settings allow refusals (refuse=1).
bool Refuses(const std::string& what, uint64_t one_in);

// Counts an execution. Returns true if the settings make this execution fail (cudnn_fail=N).
bool ExecutionFails();
// Puts work on the handle's stream. Returns CUDNN_STATUS_EXECUTION_FAILED_CUDART if CUDA returns an
// error.
cudnnStatus_t EnqueueOn(cudnnHandle_t handle, Work work);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_CUDNN_COMMON_H_
