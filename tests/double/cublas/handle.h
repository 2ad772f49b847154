// The handle of cuBLAS's double.
#ifndef DOPPIO_TESTS_DOUBLE_CUBLAS_HANDLE_H_
#define DOPPIO_TESTS_DOUBLE_CUBLAS_HANDLE_H_

#include <cublas_v2.h>

#include <cstdint>
#include <string>

// cuBLAS's own name for what a handle points to.
struct cublasContext {
  int device = 0;                 // current when the handle was made
  cudaStream_t stream = nullptr;  // of `device`
  bool tf32 = false;              // single precision may be rounded to TF32
  bool exact_parts = false;       // parts of a sum may not be rounded to 16 bits
  bool own_workspace = true;      // cuBLAS's internal one
  void* workspace = nullptr;      // the caller's, unless own_workspace
  int64_t workspace_bytes = 0;
};

namespace doppio::gpu_double {

// Success, or NOT_INITIALIZED for a null handle. Fault("handle") for one that was never made or is
// destroyed; Fault("current-device") unless the handle's device is the thread's current one.
cublasStatus_t UseHandle(cublasHandle_t handle, const std::string& function);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_CUBLAS_HANDLE_H_
