#include <cublas_v2.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tests/double/cublas/handle.h"
#include "tests/double/cudnn/common.h"
#include "tests/double/cudnn/tensors_product.h"
#include "tests/double/machine/fault.h"
#include "tests/double/machine/settings.h"

namespace doppio::gpu_double {
namespace {

// Describes one factor or the result of a batch of products as it is stored. The matrices are
// column-major, so the three dims are (batch, columns, rows).
Strided Matrices(const void* data, cudaDataType_t type, int64_t batch, int64_t step,
                 int64_t columns, int64_t leading, int64_t rows) {
  Strided m;
  m.type = type == CUDA_R_16F    ? CUDNN_DATA_HALF
           : type == CUDA_R_16BF ? CUDNN_DATA_BFLOAT16
                                 : CUDNN_DATA_FLOAT;
  m.dims = {batch, columns, rows};
  m.strides = {step, leading, 1};
  m.data = const_cast<void*>(data);
  return m;
}

struct Product {
  bool transpose_a = false, transpose_b = false;
  int64_t m = 0, n = 0, k = 0, batch = 0;
  float alpha = 0, beta = 0;
  Strided a, b, c;
  bool tf32 = false;
  bool narrow_parts = false;  // round partial sums to the type of the result
  void* workspace = nullptr;
  int64_t workspace_bytes = 0;  // workspace that the product uses
};

// Returns true if the table of cublasGemmEx lists these types for sums in single precision.
bool Supported(cudaDataType_t a, cudaDataType_t b, cudaDataType_t c, cublasComputeType_t compute) {
  if (a != b) return false;
  const bool wide = a == CUDA_R_32F, narrow = a == CUDA_R_16F || a == CUDA_R_16BF;
  if (compute == CUBLAS_COMPUTE_32F_FAST_TF32) return wide && c == CUDA_R_32F;
  if (compute != CUBLAS_COMPUTE_32F) return false;
  return (wide && c == CUDA_R_32F) || (narrow && (c == a || c == CUDA_R_32F));
}

std::vector<float> LoadFactor(const Strided& factor, int64_t index, bool tf32) {
  std::vector<float> dense(static_cast<size_t>(factor.dims[1] * factor.dims[2]));
  LoadDense(factor, {index, 1}, dense.data());
  if (tf32) std::transform(dense.begin(), dense.end(), dense.begin(), RoundToTf32);
  return dense;
}

// Rounds the values like a split sum whose parts are stored in the result's type.
void RoundTo(cudnnDataType_t type, std::vector<float>* values) {
  for (float& v : *values) {
    v = type == CUDNN_DATA_HALF ? FloatOfHalf(HalfOfFloat(v)) : FloatOfBFloat16(BFloat16OfFloat(v));
  }
}

void Run(const Product& p) {
  FillWithGarbage(p.workspace, p.workspace_bytes);
  for (int64_t i = 0; i < p.batch; ++i) {
    std::vector<float> c(static_cast<size_t>(p.m * p.n));
    if (p.k > 0) {
      const std::vector<float> a = LoadFactor(p.a, i, p.tf32), b = LoadFactor(p.b, i, p.tf32);
      // A column-major product is the row-major product of the transposed matrices: b * a.
      MultiplyMatrices(p.transpose_b, p.transpose_a, p.n, p.m, p.k, b.data(), a.data(), false,
                       c.data());
      if (p.narrow_parts) RoundTo(p.c.type, &c);
    }
    StoreDense(p.c, {i, 1}, c.data(), p.alpha, p.beta);
  }
}

// Checks all memory that the product accesses, and returns the accesses.
std::vector<Access> Touched(int device, const Product& p) {
  const std::string what = "cublasGemmStridedBatchedEx: ";
  std::vector<Access> accesses;
  const auto add = [&](const Strided& m, const char* name, bool reads, bool writes) {
    CheckDeviceMemory(device, m.data, ExtentBytes(m), BytesOf(m.type), what + name);
    if (reads) Append(&accesses, AccessesOf(m, false));
    if (writes) Append(&accesses, AccessesOf(m, true));
  };
  if (p.k > 0 && p.alpha != 0) {
    add(p.a, "A", true, false);
    add(p.b, "B", true, false);
  }
  add(p.c, "C", p.beta != 0, true);
  if (p.workspace_bytes > 0) accesses.push_back({p.workspace, p.workspace_bytes, true});
  return accesses;
}

// Returns true if matrices of the batch overlap. They do not if they are stored one after the
// other, or side by side in the gaps between columns.
bool Overlap(const Strided& c) {
  const int64_t batch = c.dims[0], step = std::abs(c.strides[0]), column = c.strides[1];
  const bool behind = step >= (c.dims[1] - 1) * column + c.dims[2];
  const bool beside = step >= c.dims[2] && (batch - 1) * step + c.dims[2] <= column;
  return batch > 1 && !behind && !beside;
}

// Finds the workspace that the product uses. Returns CUBLAS_STATUS_NOT_SUPPORTED if there is none.
cublasStatus_t TakeWorkspace(const cublasContext& handle, Product* p) {
  if (handle.own_workspace) {
    return IsCaptured(handle.stream) ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
  }
  const int64_t wanted = (p->m * p->n * 4 + 255) / 256 * 256;
  p->workspace = handle.workspace;
  p->workspace_bytes = std::min(wanted, handle.workspace_bytes);
  CheckWorkspace(handle.device, p->workspace, handle.workspace_bytes, p->workspace_bytes,
                 "a matrix product's workspace");
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace
}  // namespace doppio::gpu_double

using namespace doppio::gpu_double;  // NOLINT: the function below has the library's name

extern "C" cublasStatus_t cublasGemmStridedBatchedEx_64(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int64_t m, int64_t n,
    int64_t k, const void* alpha, const void* a, cudaDataType a_type, int64_t lda,
    long long int stride_a, const void* b, cudaDataType b_type, int64_t ldb, long long int stride_b,
    const void* beta, void* c, cudaDataType c_type, int64_t ldc, long long int stride_c,
    int64_t batch, cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
  cublasStatus_t status = UseHandle(handle, "cublasGemmStridedBatchedEx");
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  if (Planted("gemm-transposed")) std::swap(transa, transb);
  const bool ta = transa != CUBLAS_OP_N, tb = transb != CUBLAS_OP_N;
  if (transa < CUBLAS_OP_N || transa > CUBLAS_OP_C || transb < CUBLAS_OP_N ||
      transb > CUBLAS_OP_C || m < 0 || n < 0 || k < 0 || batch < 0 ||
      lda < std::max<int64_t>(1, ta ? k : m) || ldb < std::max<int64_t>(1, tb ? n : k) ||
      ldc < std::max<int64_t>(1, m) || algorithm < CUBLAS_GEMM_DEFAULT) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (alpha == nullptr || beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (!Supported(a_type, b_type, c_type, compute)) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (m == 0 || n == 0 || batch == 0) return CUBLAS_STATUS_SUCCESS;

  Product p;
  p.transpose_a = ta;
  p.transpose_b = tb;
  p.m = m;
  p.n = n;
  p.k = k;
  p.batch = batch;
  p.alpha = *static_cast<const float*>(alpha);
  p.beta = *static_cast<const float*>(beta);
  p.a = Matrices(a, a_type, batch, stride_a, ta ? m : k, lda, ta ? k : m);
  p.b = Matrices(b, b_type, batch, stride_b, tb ? k : n, ldb, tb ? n : k);
  p.c = Matrices(c, c_type, batch, stride_c, n, ldc, m);
  p.tf32 = a_type == CUDA_R_32F && (handle->tf32 || compute == CUBLAS_COMPUTE_32F_FAST_TF32);
  p.narrow_parts = BytesOf(p.c.type) == 2 && !handle->exact_parts;
  if (p.alpha == 0) p.k = 0;  // cuBLAS does not read the factors in this case
  if (stride_a < 0 || stride_b < 0 || stride_c < 0) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (Overlap(p.c)) Fault("overlap", "cublasGemmStridedBatchedEx: the results of a batch overlap");
  if (p.k > 0 && (status = TakeWorkspace(*handle, &p)) != CUBLAS_STATUS_SUCCESS) return status;

  Work work;
  work.what = "a matrix product of cuBLAS";
  work.accesses = Touched(handle->device, p);
  work.run = [p] {
    Run(p);
    return std::vector<Access>();
  };
  return Enqueue(handle->stream, std::move(work)) == cudaSuccess ? CUBLAS_STATUS_SUCCESS
                                                                 : CUBLAS_STATUS_EXECUTION_FAILED;
}
