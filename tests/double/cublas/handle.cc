#include "tests/double/cublas/handle.h"

#include "tests/double/cudnn/common.h"
#include "tests/double/cudnn/common_live.h"
#include "tests/double/machine/fault.h"
#include "tests/double/machine/settings.h"

namespace doppio::gpu_double {
cublasStatus_t UseHandle(cublasHandle_t handle, const std::string& function) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  LiveObjects<cublasHandle_t>::Check(handle, function);
  if (CurrentDevice() != handle->device) {
    Fault("current-device", function + ": the handle is of GPU " + std::to_string(handle->device) +
                                ", but GPU " + std::to_string(CurrentDevice()) + " is current");
  }
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace doppio::gpu_double

using namespace doppio::gpu_double;  // NOLINT: the functions below have the library's names

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (Forbid("cublasCreate while a stream is captured") != cudaSuccess) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  *handle = new cublasContext;
  (*handle)->device = CurrentDevice();
  LiveObjects<cublasHandle_t>::Add(*handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  LiveObjects<cublasHandle_t>::Remove(handle, "cublasDestroy");
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  const cublasStatus_t status = UseHandle(handle, "cublasSetStream");
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  if (!IsDefaultStream(stream) && DeviceOf(stream) != handle->device) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (!Planted("blas-stream-not-set")) handle->stream = stream;
  // As documented, setting a stream resets the workspace to the internal one.
  handle->own_workspace = true;
  handle->workspace = nullptr;
  handle->workspace_bytes = 0;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t bytes) {
  const cublasStatus_t status = UseHandle(handle, "cublasSetWorkspace");
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  if (reinterpret_cast<uintptr_t>(workspace) % 256 != 0) return CUBLAS_STATUS_INVALID_VALUE;
  const auto given = static_cast<int64_t>(bytes);
  CheckWorkspace(handle->device, workspace, given, given, "cublasSetWorkspace");
  handle->own_workspace = false;
  handle->workspace = workspace;
  handle->workspace_bytes = given;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  const cublasStatus_t status = UseHandle(handle, "cublasSetMathMode");
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  constexpr int kExact = CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
  const int precision = mode & ~kExact;
  if (precision < CUBLAS_DEFAULT_MATH || precision > CUBLAS_TF32_TENSOR_OP_MATH) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  handle->tf32 = precision == CUBLAS_TF32_TENSOR_OP_MATH || precision == CUBLAS_TENSOR_OP_MATH;
  handle->exact_parts = (mode & kExact) != 0;
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasGetStatusString(cublasStatus_t status) {
#define DOPPIO_STATUS(name) \
  case name:                \
    return #name
  switch (status) {
    DOPPIO_STATUS(CUBLAS_STATUS_SUCCESS);
    DOPPIO_STATUS(CUBLAS_STATUS_NOT_INITIALIZED);
    DOPPIO_STATUS(CUBLAS_STATUS_ALLOC_FAILED);
    DOPPIO_STATUS(CUBLAS_STATUS_INVALID_VALUE);
    DOPPIO_STATUS(CUBLAS_STATUS_ARCH_MISMATCH);
    DOPPIO_STATUS(CUBLAS_STATUS_MAPPING_ERROR);
    DOPPIO_STATUS(CUBLAS_STATUS_EXECUTION_FAILED);
    DOPPIO_STATUS(CUBLAS_STATUS_INTERNAL_ERROR);
    DOPPIO_STATUS(CUBLAS_STATUS_NOT_SUPPORTED);
    DOPPIO_STATUS(CUBLAS_STATUS_LICENSE_ERROR);
  }
#undef DOPPIO_STATUS
  return "unknown";
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  switch (type) {
    case MAJOR_VERSION:
      *value = CUBLAS_VER_MAJOR;
      return CUBLAS_STATUS_SUCCESS;
    case MINOR_VERSION:
      *value = CUBLAS_VER_MINOR;
      return CUBLAS_STATUS_SUCCESS;
    case PATCH_LEVEL:
      *value = CUBLAS_VER_PATCH;
      return CUBLAS_STATUS_SUCCESS;
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

}  // extern "C"
