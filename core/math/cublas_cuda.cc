#include "core/math/cublas.h"

#include <cublas_v2.h>

#include <algorithm>
#include <string>

#include "core/base/library_version.h"
#include "core/base/shared_library.h"
#include "core/device/device_cuda.h"

namespace doppio {
namespace {

struct Api {
  decltype(cublasCreate_v2)* create;
  decltype(cublasDestroy_v2)* destroy;
  decltype(cublasSetStream_v2)* set_stream;
  decltype(cublasSetWorkspace_v2)* set_workspace;
  decltype(cublasSetMathMode)* set_math_mode;
  decltype(cublasGemmStridedBatchedEx_64)* gemm;
  decltype(cublasGetStatusString)* text;
  decltype(cublasGetProperty)* property;
};

const Api& Cublas() {
  static const Api api = [] {
    const SharedLibrary library("cuBLAS", "libcublas.so.13");
    Api a;
    library.SetRequired(&a.create, "cublasCreate_v2");
    library.SetRequired(&a.destroy, "cublasDestroy_v2");
    library.SetRequired(&a.set_stream, "cublasSetStream_v2");
    library.SetRequired(&a.set_workspace, "cublasSetWorkspace_v2");
    library.SetRequired(&a.set_math_mode, "cublasSetMathMode");
    library.SetRequired(&a.gemm, "cublasGemmStridedBatchedEx_64");
    library.SetRequired(&a.text, "cublasGetStatusString");
    library.SetRequired(&a.property, "cublasGetProperty");
    return a;
  }();
  return api;
}

void Check(cublasStatus_t status, const char* doing) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw DeviceError("cuBLAS failed at ", doing, ": ", Cublas().text(status));
}

std::string CublasVersion() {
  std::string version;
  for (libraryPropertyType part : {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL}) {
    int number = 0;
    Check(Cublas().property(part, &number), "saying its version");
    version += (version.empty() ? "" : ".") + std::to_string(number);
  }
  return version;
}

DOPPIO_REGISTER(Libraries, "cuBLAS",
                {StrCat(CUBLAS_VER_MAJOR, ".", CUBLAS_VER_MINOR, ".", CUBLAS_VER_PATCH),
                 &CublasVersion});

struct OwnedCublas {
  explicit OwnedCublas(Device* device) {
    const cudaStream_t stream = GpuOf(device).stream;
    Check(Cublas().create(&handle), "its start");
    Check(Cublas().set_stream(handle, stream), "taking a stream");
    // Without this memory, cuBLAS would allocate memory when a product needs it, and allocations
    // cannot be recorded. The call follows set_stream, because setting a stream resets the
    // workspace.
    workspace = Buffer(device, std::min(kWorkspaceBytes, device->settings.workspace_bytes));
    Check(Cublas().set_workspace(handle, workspace.data(), workspace.bytes()), "taking memory");
    const bool tf32 = device->settings.math != MathMode::kFloat32;
    // Also keeps the partial sums of a split reduction in single precision.
    const int mode = (tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH) |
                     CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
    Check(Cublas().set_math_mode(handle, static_cast<cublasMath_t>(mode)), "choosing a precision");
  }
  ~OwnedCublas() { Cublas().destroy(handle); }
  // The size that NVIDIA recommends for its largest GPUs.
  static constexpr int64_t kWorkspaceBytes = int64_t{32} << 20;
  cublasHandle_t handle = nullptr;
  Buffer workspace;
};

const OwnedCublas& HandleOf(Device* device) {
  GpuOf(device);  // makes the device current
  return device->attached().Get<OwnedCublas>("cublas");
}

cublasOperation_t Operation(bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; }

cudaDataType_t CudaType(DType type) {
  if (type == DType::kFloat16) return CUDA_R_16F;
  return type == DType::kBFloat16 ? CUDA_R_16BF : CUDA_R_32F;
}

}  // namespace

void GpuGemm(Device* device, const GemmShape& s, const GemmMatrix& a, const GemmMatrix& b,
             float beta, const GemmMatrix& c) {
  DOPPIO_CHECK(a.type == b.type && (c.type == a.type || c.type == DType::kFloat32),
               "a product of these types");
  if (s.m == 0 || s.n == 0 || s.batch == 0) return;
  const float alpha = 1;
  const bool tf32 = a.type == DType::kFloat32 && device->settings.math != MathMode::kFloat32;
  Check(Cublas().gemm(HandleOf(device).handle, Operation(s.transpose_b), Operation(s.transpose_a),
                      s.n, s.m, s.k, &alpha, b.data, CudaType(b.type), b.row, b.step, a.data,
                      CudaType(a.type), a.row, a.step, &beta, c.data, CudaType(c.type), c.row,
                      c.step, s.batch, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                      CUBLAS_GEMM_DEFAULT),
        "a matrix product");
}

}  // namespace doppio
