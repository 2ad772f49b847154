// The handle of the cuBLAS double.
#ifndef DOPPIO_TESTS_DOUBLE_CUBLAS_HANDLE_H_
#define DOPPIO_TESTS_DOUBLE_CUBLAS_HANDLE_H_

#include <cublas_v2.h>

#include <cstdint>
#include <string>

// cuBLAS uses this name for the type behind a handle.
struct cublasContext {
  int device = 0;                 // current device when the handle was created
  cudaStream_t stream = nullptr;  // on `device`
  bool tf32 = false;              // single-precision factors may be rounded to TF32
  bool exact_parts = false;       // partial sums must not be rounded to 16 bits
  bool own_workspace = true;      // uses cuBLAS's internal workspace
  void* workspace = nullptr;      // set by the caller; unused if own_workspace
  int64_t workspace_bytes = 0;
};

namespace doppio::gpu_double {

// Returns success, or NOT_INITIALIZED for a null handle. Fault("handle") for a handle that does not
// exist; Fault("current-device") unless the handle's device is the current device of the thread.
cublasStatus_t UseHandle(cublasHandle_t handle, const std::string& function);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_CUBLAS_HANDLE_H_
