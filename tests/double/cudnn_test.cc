#include <cudnn.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>

#include "tests/double/cudnn/common_testing.h"
#include "tests/double/cudnn/functions.h"
#include "tests/double/machine/fault.h"

namespace doppio::gpu_double {
namespace {

constexpr cudnnStatus_t kSuccess = CUDNN_STATUS_SUCCESS;

std::vector<int> Ints(const std::vector<int64_t>& values) { return {values.begin(), values.end()}; }

// A convolution with its descriptors and tensors; by default 2 images, 4 -> 6 channels, 2 groups.
struct Convolution {
  explicit Convolution(cudnnDataType_t type = CUDNN_DATA_FLOAT, bool channels_last = false,
                       std::vector<int64_t> image = {5, 7}, int64_t group = 2, int64_t stride = 2,
                       int64_t kernel = 3)
      : type(type) {
    x.dims = {2, 4};
    w.dims = {6, 4 / group};
    for (int64_t size : image) {
      x.dims.push_back(size);
      w.dims.push_back(kernel);
    }
    g.pads.assign(image.size(), 1);
    g.strides.assign(image.size(), stride);
    g.dilations.assign(image.size(), 1);
    g.group = group;
    y.dims = ConvolvedDims(x.dims, w.dims, g);
    for (Strided* t : {&x, &w, &y}) {
      t->type = type;
      t->strides = DenseStrides(t->dims, channels_last);
    }
    EXPECT_EQ(cudnnCreate(&handle), kSuccess);
    EXPECT_EQ(cudnnSetStream(handle, stream.get()), kSuccess);
    for (auto [descriptor, t] : {std::make_pair(&x_desc, &x), std::make_pair(&y_desc, &y)}) {
      EXPECT_EQ(cudnnCreateTensorDescriptor(descriptor), kSuccess);
      set = std::max(set,
                     cudnnSetTensorNdDescriptor(*descriptor, type, static_cast<int>(t->dims.size()),
                                                Ints(t->dims).data(), Ints(t->strides).data()));
    }
    EXPECT_EQ(cudnnCreateFilterDescriptor(&w_desc), kSuccess);
    EXPECT_EQ(cudnnSetFilterNdDescriptor(w_desc, type,
                                         channels_last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW,
                                         static_cast<int>(w.dims.size()), Ints(w.dims).data()),
              kSuccess);
    EXPECT_EQ(cudnnCreateConvolutionDescriptor(&conv), kSuccess);
    EXPECT_EQ(cudnnSetConvolutionNdDescriptor(
                  conv, static_cast<int>(image.size()), Ints(g.pads).data(), Ints(g.strides).data(),
                  Ints(g.dilations).data(), CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
              kSuccess);
    EXPECT_EQ(cudnnSetConvolutionGroupCount(conv, static_cast<int>(group)), kSuccess);
    EXPECT_EQ(cudnnSetConvolutionMathType(conv, CUDNN_FMA_MATH), kSuccess);
    auto make = [&](Strided* t, unsigned seed) {
      auto elements = std::make_unique<DeviceElements>(type, SmallNumbers(CountOf(t->dims), seed));
      t->data = elements->data();
      return elements;
    };
    x_data = make(&x, 1);
    w_data = make(&w, 2);
    y_data = make(&y, 3);
    workspace = std::make_unique<DeviceElements>(CUDNN_DATA_FLOAT, 1 << 16);
  }
  ~Convolution() {
    cudnnDestroyTensorDescriptor(x_desc);
    cudnnDestroyTensorDescriptor(y_desc);
    cudnnDestroyFilterDescriptor(w_desc);
    cudnnDestroyConvolutionDescriptor(conv);
    cudnnDestroy(handle);
  }

  cudnnStatus_t Forward(int algorithm, float alpha = 1, float beta = 0) {
    return cudnnConvolutionForward(handle, &alpha, x_desc, x.data, w_desc, w.data, conv,
                                   static_cast<cudnnConvolutionFwdAlgo_t>(algorithm),
                                   workspace->data(), workspace->bytes(), &beta, y_desc, y.data);
  }
  cudnnStatus_t BackwardData(int algorithm, float alpha = 1, float beta = 0) {
    return cudnnConvolutionBackwardData(handle, &alpha, w_desc, w.data, y_desc, y.data, conv,
                                        static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm),
                                        workspace->data(), workspace->bytes(), &beta, x_desc,
                                        x.data);
  }
  cudnnStatus_t BackwardFilter(int algorithm, float alpha = 1, float beta = 0) {
    return cudnnConvolutionBackwardFilter(handle, &alpha, x_desc, x.data, y_desc, y.data, conv,
                                          static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm),
                                          workspace->data(), workspace->bytes(), &beta, w_desc,
                                          w.data);
  }
  cudnnStatus_t Find(std::vector<cudnnConvolutionFwdAlgoPerf_t>* perfs, bool measure = true) {
    perfs->resize(2 * CUDNN_CONVOLUTION_FWD_ALGO_COUNT);
    int count = 0;
    const auto ask =
        measure ? cudnnFindConvolutionForwardAlgorithm : cudnnGetConvolutionForwardAlgorithm_v7;
    const cudnnStatus_t status = ask(handle, x_desc, w_desc, conv, y_desc,
                                     static_cast<int>(perfs->size()), &count, perfs->data());
    perfs->resize(static_cast<size_t>(count));
    return status;
  }

  // What the three products must be, in memory order, by loops over all pixels of a plane; a third
  // spatial axis goes before.
  struct Plain {
    std::vector<float> y, dx, dw;
  };
  Plain Expected() const {
    const std::vector<float> in = x_data->Read(), weights = w_data->Read(), out = y_data->Read();
    Plain p{std::vector<float>(out.size()), std::vector<float>(in.size()),
            std::vector<float>(weights.size())};
    const size_t axes = x.dims.size() - 2;
    const auto at = [&](const Strided& t, const std::vector<int64_t>& index) {
      int64_t offset = 0;
      for (size_t i = 0; i < index.size(); ++i) offset += index[i] * t.strides[i];
      return static_cast<size_t>(offset);
    };
    for (int64_t o = 0; o < CountOf(y.dims); ++o) {
      std::vector<int64_t> yi(y.dims.size());
      for (int64_t axis = static_cast<int64_t>(yi.size()) - 1, rest = o; axis >= 0; --axis) {
        yi[axis] = rest % y.dims[axis];
        rest /= y.dims[axis];
      }
      for (int64_t k = 0; k < CountOf(w.dims) / w.dims[0]; ++k) {
        std::vector<int64_t> wi(w.dims.size());
        for (int64_t axis = static_cast<int64_t>(wi.size()) - 1, rest = k; axis >= 1; --axis) {
          wi[axis] = rest % w.dims[axis];
          rest /= w.dims[axis];
        }
        wi[0] = yi[1];
        std::vector<int64_t> xi{yi[0], yi[1] / (w.dims[0] / g.group) * w.dims[1] + wi[1]};
        bool inside = true;
        for (size_t i = 0; i < axes; ++i) {
          const int64_t p_ = g.flipped ? w.dims[i + 2] - 1 - wi[i + 2] : wi[i + 2];
          xi.push_back(yi[i + 2] * g.strides[i] - g.pads[i] + p_ * g.dilations[i]);
          inside = inside && xi.back() >= 0 && xi.back() < x.dims[i + 2];
        }
        if (!inside) continue;
        p.y[at(y, yi)] += in[at(x, xi)] * weights[at(w, wi)];
        p.dx[at(x, xi)] += out[at(y, yi)] * weights[at(w, wi)];
        p.dw[at(w, wi)] += out[at(y, yi)] * in[at(x, xi)];
      }
    }
    return p;
  }

  const cudnnDataType_t type;
  Strided x, w, y;
  ConvolutionGeometry g;
  cudnnStatus_t set = kSuccess;
  TestStream stream;
  cudnnHandle_t handle = nullptr;
  cudnnTensorDescriptor_t x_desc = nullptr, y_desc = nullptr;
  cudnnFilterDescriptor_t w_desc = nullptr;
  cudnnConvolutionDescriptor_t conv = nullptr;
  std::unique_ptr<DeviceElements> x_data, w_data, y_data, workspace;
};

TEST(CudnnTensors, ConvertHalvesBothWaysAndRoundToNearestEven) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = FloatOfHalf(static_cast<uint16_t>(bits));
    if (std::isnan(value)) continue;
    ASSERT_EQ(HalfOfFloat(value), bits);
  }
  EXPECT_EQ(HalfOfFloat(1 + 0x1p-11f), 0x3c00);
  EXPECT_EQ(HalfOfFloat(1 + 3 * 0x1p-11f), 0x3c02);
  EXPECT_EQ(HalfOfFloat(65520), 0x7c00);
  EXPECT_EQ(HalfOfFloat(65519), 0x7bff);
  EXPECT_EQ(HalfOfFloat(0x1p-25f), 0);
  EXPECT_EQ(HalfOfFloat(3 * 0x1p-25f), 2);
  EXPECT_TRUE(std::isnan(FloatOfHalf(HalfOfFloat(std::nanf("")))));
  EXPECT_EQ(BFloat16OfFloat(1 + 0x1p-8f), 0x3f80);
  EXPECT_EQ(BFloat16OfFloat(1 + 3 * 0x1p-8f), 0x3f82);
  EXPECT_TRUE(std::isnan(FloatOfBFloat16(BFloat16OfFloat(std::nanf("")))));
  EXPECT_EQ(RoundToTf32(1 + 0x1p-11f), 1);
  EXPECT_EQ(RoundToTf32(1 + 0x1p-10f), 1 + 0x1p-10f);
}

TEST(CudnnTensors, TouchTheirDensePiecesOnly) {
  Strided t{CUDNN_DATA_FLOAT, {2, 3, 4}, {30, 8, 1}, nullptr};
  const std::vector<Access> pieces = AccessesOf(t, false);
  ASSERT_EQ(pieces.size(), 6u);
  EXPECT_EQ(pieces[0].bytes, 16);
  EXPECT_EQ(ExtentBytes(t), (30 + 16 + 3 + 1) * 4);
  t.strides = {12, 4, 1};
  EXPECT_EQ(AccessesOf(t, true).size(), 1u);
}

// Runs every algorithm of every direction.
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

// y = the convolution + y + a bias, with or without ReLU.
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
  UseSettings(1);
}

TEST(Cudnn, RefusesToFuseWithSomeSeeds) {
  int refused = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    UseSettings(seed, true);
    refused += Fused(true).Run(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM) != kSuccess;
  }
  EXPECT_GT(refused, 4);
  EXPECT_LT(refused, 36);
  UseSettings(1);
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

TEST(Cudnn, ReplaysARecordingOnTheContentOfNow) {
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

TEST(Cudnn, FailsTheExecutionThatTheSettingsName) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Settings settings;
        settings.cudnn_fail = 2;
        settings.refuse = false;
        Use(settings);
        Convolution c;
        const bool as_asked = c.Forward(0) == kSuccess &&
                              c.Forward(0) == CUDNN_STATUS_EXECUTION_FAILED &&
                              c.Forward(0) == kSuccess;
        std::_Exit(as_asked ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(Cudnn, RefusesWrongDescriptorsWithAReason) {
  UseSettings(1);
  cudnnTensorDescriptor_t t = nullptr;
  ASSERT_EQ(cudnnCreateTensorDescriptor(&t), kSuccess);
  const auto set = [&](std::vector<int> dims, std::vector<int> strides) {
    return cudnnSetTensorNdDescriptor(t, CUDNN_DATA_FLOAT, static_cast<int>(dims.size()),
                                      dims.data(), strides.data());
  };
  EXPECT_EQ(set({2, 3, 4}, {12, 4, 1}), CUDNN_STATUS_NOT_SUPPORTED);
  char text[100] = "";
  cudnnGetLastErrorString(text, sizeof(text));
  EXPECT_STREQ(text, "cudnnSetTensorNdDescriptor: 3 dims, not 4 to 8");
  EXPECT_EQ(set({2, 3, 0, 4}, {12, 4, 4, 1}), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(set({2, 3, 4, 5}, {60, 20, 4, 1}), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(set({2, 3, 4, 5}, {60, 1, 15, 3}), kSuccess);
  cudnnDestroyTensorDescriptor(t);
  Convolution c;
  EXPECT_EQ(cudnnSetConvolutionGroupCount(c.conv, 4), kSuccess);
  EXPECT_EQ(c.Forward(0), CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
  EXPECT_EQ(cudnnSetConvolutionGroupCount(c.conv, 0), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnSetConvolutionMathType(c.conv, static_cast<cudnnMathType_t>(9)),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnGetVersion(), 91900u);
}

// What `run` does with a convolution ends the process with the fault.
void ExpectFault(const std::string& fault, const std::function<void(Convolution*)>& run,
                 const std::string& plant = "", cudnnDataType_t type = CUDNN_DATA_FLOAT) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        UseSettings(1, false, plant);
        Convolution c(type, type != CUDNN_DATA_FLOAT, {8, 8}, 1, 1);
        run(&c);
        std::_Exit(0);
      },
      testing::ExitedWithCode(kFaultStatus), "double: " + fault);
}

TEST(CudnnDeathTest, FindsMistakesOfItsCaller) {
  ExpectFault("current-device", [](Convolution* c) {
    cudaSetDevice(1);
    c->Forward(0);
  });
  ExpectFault("workspace", [](Convolution* c) {
    c->workspace = std::make_unique<DeviceElements>(CUDNN_DATA_FLOAT, 8);
    c->Forward(1);
  });
  ExpectFault("bounds", [](Convolution* c) {
    c->x.data = static_cast<float*>(c->x.data) + 1;
    c->Forward(0);
  });
  ExpectFault("overlap", [](Convolution* c) {
    c->y.data = c->x.data;
    c->x.data = c->y_data->data();
    c->y.data = c->x.data;
    c->Forward(0);
  });
  ExpectFault("handle", [](Convolution* c) {
    cudnnDestroyTensorDescriptor(c->x_desc);
    c->Forward(0);
  });
  ExpectFault(
      "alignment",
      [](Convolution* c) {
        c->x.data = static_cast<char*>(c->x.data) + 2;
        c->Forward(0);
      },
      "", CUDNN_DATA_HALF);
}

TEST(CudnnDeathTest, SaysTooSmallWorkspacesWhenPlanted) {
  ExpectFault(
      "workspace",
      [](Convolution* c) {
        size_t bytes = 0;
        ASSERT_EQ(cudnnGetConvolutionForwardWorkspaceSize(
                      c->handle, c->x_desc, c->w_desc, c->conv, c->y_desc,
                      CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, &bytes),
                  kSuccess);
        c->workspace = std::make_unique<DeviceElements>(CUDNN_DATA_FLOAT, bytes / 4);
        c->Forward(0);
      },
      "workspace-small");
}

TEST(Cudnn, SwapsStridesWhenPlanted) {
  UseSettings(1, false, "swapped-strides");
  EXPECT_EQ(Convolution().set, CUDNN_STATUS_BAD_PARAM);  // 5 x 7 pixels
  Convolution square(CUDNN_DATA_FLOAT, false, {4, 4}, 1, 1);
  ASSERT_EQ(square.set, kSuccess);
  const auto expected = square.Expected();
  ASSERT_EQ(square.Forward(0), kSuccess);
  square.stream.Wait();
  EXPECT_NE(square.y_data->Read(), expected.y);
  UseSettings(1);
}

TEST(Cudnn, NamesItsLegacyFunctions) {
  EXPECT_EQ(LegacyFunctions().size(), 34u);
  EXPECT_STREQ(cudnnGetErrorString(CUDNN_STATUS_NOT_SUPPORTED), "CUDNN_STATUS_NOT_SUPPORTED");
}

}  // namespace
}  // namespace doppio::gpu_double
