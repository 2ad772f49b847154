#include <cublas_v2.h>

#include <cmath>
#include <memory>
#include <utility>

#include "tests/double/cublas/functions.h"
#include "tests/double/cudnn/common_testing.h"
#include "tests/double/machine/fault.h"

namespace doppio::gpu_double {
namespace {

cudaDataType_t CudaType(cudnnDataType_t type) {
  return type == CUDNN_DATA_HALF       ? CUDA_R_16F
         : type == CUDNN_DATA_BFLOAT16 ? CUDA_R_16BF
                                       : CUDA_R_32F;
}

constexpr int64_t kM = 3, kN = 5, kK = 4, kBatch = 2, kGap = 2;

// A batch of products whose matrices have gaps between their columns and between each other.
struct Products {
  Products(cudnnDataType_t factors, cudnnDataType_t result, bool ta, bool tb)
      : ta(ta),
        tb(tb),
        factors(factors),
        result(result),
        lda((ta ? kK : kM) + kGap),
        ldb((tb ? kN : kK) + kGap),
        ldc(kM + kGap),
        step_a(lda * (ta ? kM : kK) + 1),
        step_b(ldb * (tb ? kK : kN) + 1),
        step_c(ldc * kN + 1),
        a_values(SmallNumbers(kBatch * step_a, 1)),
        b_values(SmallNumbers(kBatch * step_b, 2)),
        c_values(SmallNumbers(kBatch * step_c, 3)),
        a(factors, a_values),
        b(factors, b_values),
        c(result, c_values) {
    EXPECT_EQ(cublasCreate_v2(&handle), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cublasSetStream_v2(handle, stream.get()), CUBLAS_STATUS_SUCCESS);
  }
  ~Products() { cublasDestroy_v2(handle); }

  cublasStatus_t Run(float alpha, float beta, cublasComputeType_t compute = CUBLAS_COMPUTE_32F) {
    return cublasGemmStridedBatchedEx_64(
        handle, ta ? CUBLAS_OP_T : CUBLAS_OP_N, tb ? CUBLAS_OP_T : CUBLAS_OP_N, kM, kN, kK, &alpha,
        a.data(), CudaType(factors), lda, step_a, b.data(), CudaType(factors), ldb, step_b, &beta,
        c.data(), CudaType(result), ldc, step_c, kBatch, compute, CUBLAS_GEMM_DEFAULT);
  }
  // Computes the expected C with a plain loop.
  std::vector<float> Expected(float alpha, float beta) const {
    std::vector<float> c = c_values;
    for (int64_t i = 0; i < kBatch; ++i) {
      for (int64_t row = 0; row < kM; ++row) {
        for (int64_t column = 0; column < kN; ++column) {
          float sum = 0;
          for (int64_t k = 0; k < kK; ++k) {
            sum += a_values[i * step_a + (ta ? row * lda + k : k * lda + row)] *
                   b_values[i * step_b + (tb ? k * ldb + column : column * ldb + k)];
          }
          float& to = c[i * step_c + column * ldc + row];
          to = alpha * sum + (beta == 0 ? 0 : beta * to);
        }
      }
    }
    return c;
  }

  const bool ta, tb;
  const cudnnDataType_t factors, result;
  const int64_t lda, ldb, ldc, step_a, step_b, step_c;
  const std::vector<float> a_values, b_values, c_values;
  DeviceElements a, b, c;
  TestStream stream;
  cublasHandle_t handle = nullptr;
};

TEST(Cublas, MultipliesColumnMajorMatricesAndLeavesTheGapsAlone) {
  UseSettings(1);
  const std::pair<cudnnDataType_t, cudnnDataType_t> types[] = {
      {CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT},
      {CUDNN_DATA_HALF, CUDNN_DATA_HALF},
      {CUDNN_DATA_HALF, CUDNN_DATA_FLOAT},
      {CUDNN_DATA_BFLOAT16, CUDNN_DATA_BFLOAT16},
      {CUDNN_DATA_BFLOAT16, CUDNN_DATA_FLOAT}};
  for (const auto& [factors, result] : types) {
    for (int transposed = 0; transposed < 4; ++transposed) {
      for (float beta : {0.f, 2.f}) {
        SCOPED_TRACE(std::to_string(factors) + " " + std::to_string(transposed));
        Products p(factors, result, transposed & 1, transposed & 2);
        ASSERT_EQ(p.Run(0.5f, beta), CUBLAS_STATUS_SUCCESS);
        p.stream.Wait();
        EXPECT_EQ(p.c.Read(), p.Expected(0.5f, beta));
      }
    }
  }
}

TEST(Cublas, DoesNotReadTheOldResultWhenBetaIsZero) {
  Products p(CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, false, false);
  p.c.Write(std::vector<float>(p.c_values.size(), std::nanf("")));
  ASSERT_EQ(p.Run(1, 0), CUBLAS_STATUS_SUCCESS);
  p.stream.Wait();
  EXPECT_EQ(p.c.Read()[0], p.Expected(1, 0)[0]);
}

TEST(Cublas, RoundsFactorsToTf32WhenAsked) {
  Products p(CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, false, false);
  const float fine = 1 + 0x1p-12f;
  p.a.Write(std::vector<float>(p.a_values.size(), fine));
  p.b.Write(std::vector<float>(p.b_values.size(), 1));
  ASSERT_EQ(p.Run(1, 0), CUBLAS_STATUS_SUCCESS);
  p.stream.Wait();
  EXPECT_EQ(p.c.Read()[0], 4 * fine);
  ASSERT_EQ(p.Run(1, 0, CUBLAS_COMPUTE_32F_FAST_TF32), CUBLAS_STATUS_SUCCESS);
  p.stream.Wait();
  EXPECT_EQ(p.c.Read()[0], 4);
}

TEST(Cublas, RefusesWhatItsManualExcludes) {
  Products p(CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, false, false);
  const float one = 1;
  const auto run = [&](int64_t m, int64_t lda, int64_t ldc, const float* alpha, cudaDataType_t b,
                       cublasComputeType_t compute) {
    return cublasGemmStridedBatchedEx_64(
        p.handle, CUBLAS_OP_N, CUBLAS_OP_N, m, 1, 1, alpha, p.a.data(), CUDA_R_32F, lda, 1,
        p.b.data(), b, 1, 1, &one, p.c.data(), CUDA_R_32F, ldc, 1, 1, compute, CUBLAS_GEMM_DEFAULT);
  };
  const auto kFloats = CUBLAS_COMPUTE_32F;
  EXPECT_EQ(run(3, 3, 3, &one, CUDA_R_32F, kFloats), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(run(-1, 3, 3, &one, CUDA_R_32F, kFloats), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(run(3, 2, 3, &one, CUDA_R_32F, kFloats), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(run(3, 3, 2, &one, CUDA_R_32F, kFloats), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(run(3, 3, 3, nullptr, CUDA_R_32F, kFloats), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(run(3, 3, 3, &one, CUDA_R_16F, kFloats), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(run(3, 3, 3, &one, CUDA_R_32F, CUBLAS_COMPUTE_16F), CUBLAS_STATUS_NOT_SUPPORTED);
  p.stream.Wait();
}

TEST(Cublas, RecordsOnlyWithTheCallersWorkspaceAndDestroysItsContent) {
  Products p(CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, false, true);
  const DeviceElements workspace(CUDNN_DATA_FLOAT, std::vector<float>(1024, 7));
  cudaGraph_t graph = nullptr;
  const auto record = [&] {
    EXPECT_EQ(cudaStreamBeginCapture(p.stream.get(), cudaStreamCaptureModeThreadLocal),
              cudaSuccess);
    const cublasStatus_t status = p.Run(1, 0);
    EXPECT_EQ(cudaStreamEndCapture(p.stream.get(), &graph), cudaSuccess);
    return status;
  };
  EXPECT_EQ(record(), CUBLAS_STATUS_NOT_SUPPORTED);
  cudaGraphDestroy(graph);
  ASSERT_EQ(cublasSetWorkspace_v2(p.handle, workspace.data(), workspace.bytes()),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(record(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(p.c.Read(), p.c_values);
  cudaGraphExec_t ready = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&ready, graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(ready, p.stream.get()), cudaSuccess);
  p.stream.Wait();
  EXPECT_EQ(p.c.Read(), p.Expected(1, 0));
  EXPECT_NE(workspace.Read()[0], 7);
  cudaGraphExecDestroy(ready);
  cudaGraphDestroy(graph);
  // Setting a stream, even the same one, resets the workspace.
  ASSERT_EQ(cublasSetStream_v2(p.handle, p.stream.get()), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(record(), CUBLAS_STATUS_NOT_SUPPORTED);
  cudaGraphDestroy(graph);
}

TEST(Cublas, RefusesAStreamOfAnotherGpuAndAMisalignedWorkspace) {
  Products p(CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, false, true);
  cudaSetDevice(1);
  {
    const TestStream other;
    cudaSetDevice(0);
    EXPECT_EQ(cublasSetStream_v2(p.handle, other.get()), CUBLAS_STATUS_INVALID_VALUE);
  }
  EXPECT_EQ(cublasSetWorkspace_v2(p.handle, static_cast<char*>(p.a.data()) + 4, 4),
            CUBLAS_STATUS_INVALID_VALUE);
}

TEST(CublasDeathTest, FindsMistakesOfItsCaller) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto faults = testing::ExitedWithCode(kFaultStatus);
  const auto make = [] {
    return std::make_unique<Products>(CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, false, false);
  };
  EXPECT_EXIT(
      {
        auto p = make();
        cudaSetDevice(1);
        p->Run(1, 0);
      },
      faults, "double: current-device");
  EXPECT_EXIT(
      {
        auto p = make();
        cublasSetWorkspace_v2(p->handle, p->a.data(), p->a.bytes() + 1);
      },
      faults, "double: workspace");
  EXPECT_EXIT(
      {
        auto p = make();
        const float one = 1;
        cublasGemmStridedBatchedEx_64(p->handle, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, kK, &one,
                                      p->a.data(), CUDA_R_32F, 1000, 0, p->b.data(), CUDA_R_32F, kK,
                                      0, &one, p->c.data(), CUDA_R_32F, kM, 0, 1,
                                      CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
      },
      faults, "double: bounds");
  EXPECT_EXIT(
      {
        auto p = make();
        cublasDestroy_v2(p->handle);
        p->Run(1, 0);
      },
      faults, "double: handle");
}

TEST(CublasDeathTest, SwapsOperationsWhenPlanted) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        UseSettings(1, false, "gemm-transposed");
        Products p(CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, false, true);
        p.Run(1, 0);
      },
      testing::ExitedWithCode(kFaultStatus), "double: bounds");
}

TEST(Cublas, NamesItsFunctionsAndStatuses) {
  EXPECT_EQ(CublasFunctions().size(), 8u);
  EXPECT_STREQ(cublasGetStatusString(CUBLAS_STATUS_NOT_SUPPORTED), "CUBLAS_STATUS_NOT_SUPPORTED");
  int major = 0;
  EXPECT_EQ(cublasGetProperty(MAJOR_VERSION, &major), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(major, CUBLAS_VER_MAJOR);
}

}  // namespace
}  // namespace doppio::gpu_double
