#include "core/math/cublas.h"

#include <cublas_v2.h>

#include <algorithm>
#include <memory>
#include <string>

#include "core/device/device_cuda.h"
#include "core/math/blas.h"
#include "core/base/shared_library.h"

namespace doppio {
namespace {

struct Api {
  decltype(cublasCreate_v2)* create;
  decltype(cublasDestroy_v2)* destroy;
  decltype(cublasSetStream_v2)* set_stream;
  decltype(cublasSetMathMode)* set_math_mode;
  decltype(cublasSgemmStridedBatched_64)* gemm;
  decltype(cublasGetStatusString)* text;
};

const Api& Cublas() {
  static const Api api = [] {
    const SharedLibrary library("cuBLAS", "libcublas.so.13");
    Api a;
    library.SetTo(&a.create, "cublasCreate_v2");
    library.SetTo(&a.destroy, "cublasDestroy_v2");
    library.SetTo(&a.set_stream, "cublasSetStream_v2");
    library.SetTo(&a.set_math_mode, "cublasSetMathMode");
    library.SetTo(&a.gemm, "cublasSgemmStridedBatched_64");
    library.SetTo(&a.text, "cublasGetStatusString");
    return a;
  }();
  return api;
}

void Check(cublasStatus_t status, const char* doing) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw DeviceError(std::string("cuBLAS failed at ") + doing + ": " + Cublas().text(status));
}

struct Handle {
  explicit Handle(Device* device) {
    const cudaStream_t stream = CudaStream(device);
    Check(Cublas().create(&handle), "its start");
    Check(Cublas().set_stream(handle, stream), "taking a stream");
    const bool tf32 = device->math() != MathMode::kFloat32;
    Check(Cublas().set_math_mode(handle, tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH),
          "choosing a precision");
  }
  ~Handle() { Cublas().destroy(handle); }
  cublasHandle_t handle = nullptr;
};

}  // namespace

void GpuGemmBatch(Device* device, bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha,
                  const float* a, const float* b, float beta, float* c, GemmStrides strides, int64_t batch) {
  if (GpuOf(device).on_host) {
    for (int64_t i = 0; i < batch; ++i) {
      Gemm(transpose_a, transpose_b, m, n, k, alpha, a + i * strides.a, b + i * strides.b, beta, c + i * strides.c);
    }
    return;
  }
  if (m == 0 || n == 0 || batch == 0) return;
  CudaStream(device);   // makes the device current
  const Handle& own = device->Attached<Handle>("cublas");
  const auto op = [](bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; };
  const int64_t a_row = std::max<int64_t>(1, transpose_a ? m : k), b_row = std::max<int64_t>(1, transpose_b ? k : n);
  // cuBLAS is column-major: C' = B' A'.
  Check(Cublas().gemm(own.handle, op(transpose_b), op(transpose_a), n, m, k, &alpha, b, b_row, strides.b, a, a_row,
                      strides.a, &beta, c, n, strides.c, batch),
        "a matrix product");
}

void GpuGemm(Device* device, bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha,
             const float* a, const float* b, float beta, float* c) {
  GpuGemmBatch(device, transpose_a, transpose_b, m, n, k, alpha, a, b, beta, c, {}, 1);
}

}  // namespace doppio
