#include <algorithm>
#include <functional>
#include <memory>

#include "tests/double/cudnn/functions.h"
#include "tests/double/cudnn/legacy_fixture.h"

namespace doppio::gpu_double {
namespace {

// Runs every algorithm of every direction and compares the results with plain loops.
void CompareAll(const std::function<std::unique_ptr<Convolution>()>& make) {
  for (int algorithm = 0; algorithm < CUDNN_CONVOLUTION_FWD_ALGO_COUNT; ++algorithm) {
    SCOPED_TRACE(algorithm);
    auto c = make();
    const auto expected = c->Expected();
    const cudnnStatus_t status = c->Forward(algorithm);
    if (status == CUDNN_STATUS_NOT_SUPPORTED) continue;
    ASSERT_EQ(status, kSuccess);
    c->stream.Wait();
    EXPECT_EQ(c->y_data->Read(), expected.y);
  }
  for (int algorithm = 0; algorithm < CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT; ++algorithm) {
    SCOPED_TRACE(algorithm);
    auto c = make();
    const auto expected = c->Expected();
    const cudnnStatus_t status = c->BackwardData(algorithm);
    if (status == CUDNN_STATUS_NOT_SUPPORTED) continue;
    ASSERT_EQ(status, kSuccess);
    c->stream.Wait();
    EXPECT_EQ(c->x_data->Read(), expected.dx);
  }
  for (int algorithm = 0; algorithm < CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT; ++algorithm) {
    SCOPED_TRACE(algorithm);
    auto c = make();
    const auto expected = c->Expected();
    const cudnnStatus_t status = c->BackwardFilter(algorithm);
    if (status == CUDNN_STATUS_NOT_SUPPORTED) continue;
    ASSERT_EQ(status, kSuccess);
    c->stream.Wait();
    EXPECT_EQ(c->w_data->Read(), expected.dw);
  }
}

TEST(Cudnn, ConvolvesAsPlainLoopsDo) {
  UseSettings(1);
  CompareAll([] { return std::make_unique<Convolution>(); });
  CompareAll([] {
    return std::make_unique<Convolution>(CUDNN_DATA_FLOAT, false, std::vector<int64_t>{6, 5}, 1, 1);
  });
  CompareAll([] {
    return std::make_unique<Convolution>(CUDNN_DATA_FLOAT, true, std::vector<int64_t>{4, 3, 5}, 1,
                                         2);
  });
  CompareAll([] {
    auto c =
        std::make_unique<Convolution>(CUDNN_DATA_FLOAT, false, std::vector<int64_t>{6, 5}, 2, 1, 2);
    c->g.flipped = true;
    EXPECT_EQ(cudnnSetConvolutionNdDescriptor(
                  c->conv, 2, Ints(c->g.pads).data(), Ints(c->g.strides).data(),
                  Ints(c->g.dilations).data(), CUDNN_CONVOLUTION, CUDNN_DATA_FLOAT),
              kSuccess);
    return c;
  });
}

TEST(Cudnn, ConvolvesIn16BitsWithChannelsLast) {
  UseSettings(1);
  for (cudnnDataType_t type : {CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16}) {
    Convolution c(type, true, {4, 4}, 1, 1);
    const auto expected = c.Expected();
    ASSERT_EQ(c.Forward(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM), kSuccess);
    c.stream.Wait();
    const std::vector<float> y = c.y_data->Read();
    for (size_t i = 0; i < y.size(); ++i) {
      char rounded[2];
      StoreElement(type, rounded, 0, expected.y[i]);
      EXPECT_EQ(y[i], LoadElement(type, rounded, 0));
    }
  }
}

TEST(Cudnn, ScalesAndAdds) {
  UseSettings(1);
  Convolution c;
  const auto expected = c.Expected();
  const std::vector<float> before = c.y_data->Read();
  ASSERT_EQ(c.Forward(0, 2, 0.5f), kSuccess);
  c.stream.Wait();
  const std::vector<float> y = c.y_data->Read();
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], 2 * expected.y[i] + 0.5f * before[i]);
}

// A fused call: y = convolution + y + bias, with or without ReLU.
struct Fused {
  explicit Fused(bool relu) : relu(relu) {
    const int dims[] = {1, 6, 1, 1}, strides[] = {6, 1, 1, 1};
    cudnnCreateTensorDescriptor(&bias_desc);
    EXPECT_EQ(cudnnSetTensorNdDescriptor(bias_desc, CUDNN_DATA_FLOAT, 4, dims, strides), kSuccess);
    cudnnCreateActivationDescriptor(&activation);
    EXPECT_EQ(cudnnSetActivationDescriptor(activation,
                                           relu ? CUDNN_ACTIVATION_RELU : CUDNN_ACTIVATION_IDENTITY,
                                           CUDNN_PROPAGATE_NAN, 0),
              kSuccess);
    const std::vector<float> other = c.y_data->Read();
    expected = c.Expected().y;
    const size_t pixels = other.size() / 12;
    for (size_t i = 0; i < other.size(); ++i) {
      const float sum = expected[i] + other[i] + bias_values[i / pixels % 6];
      expected[i] = relu ? std::max(sum, 0.f) : sum;
    }
  }
  ~Fused() {
    cudnnDestroyTensorDescriptor(bias_desc);
    cudnnDestroyActivationDescriptor(activation);
  }
  cudnnStatus_t Run(cudnnConvolutionFwdAlgo_t algorithm) {
    const float one = 1;
    const cudnnStatus_t status = cudnnConvolutionBiasActivationForward(
        c.handle, &one, c.x_desc, c.x.data, c.w_desc, c.w.data, c.conv, algorithm,
        c.workspace->data(), c.workspace->bytes(), &one, c.y_desc, c.y.data, bias_desc, bias.data(),
        activation, c.y_desc, c.y.data);
    c.stream.Wait();
    return status;
  }

  const bool relu;
  Convolution c;
  const std::vector<float> bias_values = SmallNumbers(6, 9);
  const DeviceElements bias{CUDNN_DATA_FLOAT, bias_values};
  std::vector<float> expected;
  cudnnTensorDescriptor_t bias_desc = nullptr;
  cudnnActivationDescriptor_t activation = nullptr;
};

TEST(Cudnn, FusesBiasSumAndRelu) {
  UseSettings(1);
  for (bool relu : {false, true}) {
    Fused fused(relu);
    ASSERT_EQ(fused.Run(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM), kSuccess);
    EXPECT_EQ(fused.c.y_data->Read(), fused.expected);
  }
  EXPECT_EQ(Fused(false).Run(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM), CUDNN_STATUS_NOT_SUPPORTED);
}

TEST(Cudnn, DropsTheFusedBiasWhenPlanted) {
  UseSettings(1, false, "fused-drops-bias");
  Fused fused(false);
  ASSERT_EQ(fused.Run(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM), kSuccess);
  EXPECT_NE(fused.c.y_data->Read(), fused.expected);
}

TEST(Cudnn, RefusesToFuseWithSomeSeeds) {
  int refused = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    UseSettings(seed, true);
    refused += Fused(true).Run(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM) != kSuccess;
  }
  EXPECT_GT(refused, 4);
  EXPECT_LT(refused, 36);
}

TEST(Cudnn, MeasuresAndAdvisesTheSameAlgorithms) {
  UseSettings(1);
  Convolution c;
  std::vector<cudnnConvolutionFwdAlgoPerf_t> measured, advised;
  ASSERT_EQ(c.Find(&measured), kSuccess);
  ASSERT_EQ(c.Find(&advised, false), kSuccess);
  EXPECT_EQ(measured.size(), 2u * CUDNN_CONVOLUTION_FWD_ALGO_COUNT);
  EXPECT_EQ(measured[0].status, kSuccess);
  EXPECT_GT(measured[0].time, 0);
  EXPECT_LT(advised[0].time, 0);
  for (const auto& perf : measured) {
    size_t bytes = 0;
    const cudnnStatus_t status = cudnnGetConvolutionForwardWorkspaceSize(
        c.handle, c.x_desc, c.w_desc, c.conv, c.y_desc, perf.algo, &bytes);
    EXPECT_EQ(status, perf.status);
    EXPECT_EQ(bytes, perf.memory);
  }
}

TEST(Cudnn, RefusesDifferentlyWithEachSeed) {
  int none = 0, all = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    UseSettings(seed, true);
    Convolution c;
    std::vector<cudnnConvolutionFwdAlgoPerf_t> perfs;
    ASSERT_EQ(c.Find(&perfs, false), kSuccess);
    const auto able = std::count_if(perfs.begin(), perfs.end(),
                                    [](const auto& p) { return p.status == kSuccess; });
    none += able == 0;
    all += able == 4;
  }
  EXPECT_GT(none, 0);
  EXPECT_GT(all, 0);
  EXPECT_LT(none + all, 190);
}

TEST(Cudnn, DoesNotMeasureInACaptureOrWithoutMemory) {
  UseSettings(1);
  Convolution c;
  std::vector<cudnnConvolutionFwdAlgoPerf_t> perfs;
  ASSERT_EQ(cudaStreamBeginCapture(c.stream.get(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_EQ(c.Find(&perfs), CUDNN_STATUS_INTERNAL_ERROR);
  cudaGraph_t graph = nullptr;
  EXPECT_NE(cudaStreamEndCapture(c.stream.get(), &graph), cudaSuccess);
  cudaGetLastError();
  std::vector<void*> hogs;
  size_t free = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  for (size_t bytes = free; bytes >= 256; bytes /= 2) {
    void* hog = nullptr;
    while (cudaMalloc(&hog, bytes) == cudaSuccess) hogs.push_back(hog);
  }
  cudaGetLastError();
  EXPECT_EQ(c.Find(&perfs), CUDNN_STATUS_ALLOC_FAILED);
  for (void* hog : hogs) cudaFree(hog);
}

TEST(Cudnn, ReplaysARecordingOnTheCurrentContent) {
  UseSettings(1);
  Convolution c;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(c.stream.get(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
  ASSERT_EQ(c.Forward(1), kSuccess);
  ASSERT_EQ(cudaStreamEndCapture(c.stream.get(), &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&ready, graph, 0), cudaSuccess);
  for (unsigned seed : {11u, 12u}) {
    c.x_data->Write(SmallNumbers(CountOf(c.x.dims), seed));
    const auto expected = c.Expected();
    ASSERT_EQ(cudaGraphLaunch(ready, c.stream.get()), cudaSuccess);
    c.stream.Wait();
    EXPECT_EQ(c.y_data->Read(), expected.y);
  }
  cudaGraphExecDestroy(ready);
  cudaGraphDestroy(graph);
}

TEST(Cudnn, NamesItsLegacyFunctions) {
  EXPECT_EQ(LegacyFunctions().size(), 34u);
  EXPECT_STREQ(cudnnGetErrorString(CUDNN_STATUS_NOT_SUPPORTED), "CUDNN_STATUS_NOT_SUPPORTED");
}

}  // namespace
}  // namespace doppio::gpu_double
