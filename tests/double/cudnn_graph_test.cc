// Statuses are those that cuDNN 9.19 gives, but where a comment says that the double is stricter.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "tests/double/cudnn/backend_case.h"
#include "tests/double/machine/fault.h"
#include "tests/double/machine/settings.h"

namespace doppio::gpu_double {
namespace {

constexpr int64_t kCompiled = 8, kFillsUp = 9;  // engines that take a tail
constexpr int64_t kEngines = 11;

const TensorCase kX{1, {2, 8, 5, 4}}, kW{2, {8, 8, 3, 3}}, kY{3, {2, 8, 5, 4}};
const TensorCase kBias{4, {1, 8, 1, 1}, CUDNN_DATA_FLOAT}, kOther{5, {2, 8, 5, 4}};
TensorCase Inside(int64_t id) { return {id, kY.dims, CUDNN_DATA_FLOAT, true}; }

class CudnnGraph : public testing::Test {
 protected:
  void SetUp() override { testing::FLAGS_gtest_death_test_style = "threadsafe"; }

  void Begin(const std::string& plant = "", bool refuse = false, int fail = 0) {
    Settings settings;
    settings.plant = plant;
    settings.refuse = refuse;
    settings.cudnn_fail = fail;
    settings.devices = 2;
    Use(settings);
    ASSERT_EQ(cudnnCreate(&handle_), CUDNN_STATUS_SUCCESS);
    ASSERT_EQ(cudaStreamCreate(&stream_), cudaSuccess);
    ASSERT_EQ(cudnnSetStream(handle_, stream_), CUDNN_STATUS_SUCCESS);
  }

  Key Plain() {
    EXPECT_EQ(MakeGraph({ForwardKey(kX, kW, kY)}, handle_, &graph_), CUDNN_STATUS_SUCCESS);
    return graph_;
  }
  // relu(convolution + bias + other)
  Key Fused() {
    const TensorCase a = Inside(100), b = Inside(101), c = Inside(102);
    EXPECT_EQ(MakeGraph({ForwardKey(kX, kW, a), PointwiseKey(CUDNN_POINTWISE_ADD, a, &kBias, b),
                         PointwiseKey(CUDNN_POINTWISE_ADD, b, &kOther, c),
                         PointwiseKey(CUDNN_POINTWISE_RELU_FWD, c, nullptr, kY)},
                        handle_, &graph_),
              CUDNN_STATUS_SUCCESS);
    return graph_;
  }

  // Device memory with small whole numbers and, for bias and the other tensor, halves.
  void* Fill(const TensorCase& tensor) {
    const int64_t count = CountOf(tensor.dims), bytes = BytesOf(tensor.type);
    std::vector<char> host(static_cast<size_t>(count * bytes));
    for (int64_t i = 0; i < count; ++i) {
      StoreElement(tensor.type, host.data(), i, Value(tensor, i));
    }
    void* data = nullptr;
    EXPECT_EQ(cudaMalloc(&data, host.size()), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(data, host.data(), host.size(), cudaMemcpyHostToDevice), cudaSuccess);
    return data;
  }
  static double Value(const TensorCase& tensor, int64_t i) {
    return static_cast<double>((i * 7 + tensor.id * 3) % 5 - 2) / (tensor.id > 3 ? 2 : 1);
  }
  std::map<int64_t, void*> Places(bool fused) {
    std::map<int64_t, void*> places;
    for (const TensorCase& tensor : {kX, kW, kY}) places[tensor.id] = Fill(tensor);
    if (fused) {
      for (const TensorCase& tensor : {kBias, kOther}) places[tensor.id] = Fill(tensor);
    }
    return places;
  }
  void* Workspace(int64_t bytes) {
    void* data = nullptr;
    EXPECT_EQ(cudaMalloc(&data, static_cast<size_t>(std::max<int64_t>(1, bytes))), cudaSuccess);
    return data;
  }
  std::vector<double> Result(const void* data) {
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    std::vector<uint16_t> bits(static_cast<size_t>(CountOf(kY.dims)));
    EXPECT_EQ(cudaMemcpy(bits.data(), data, bits.size() * 2, cudaMemcpyDeviceToHost), cudaSuccess);
    std::vector<double> values;
    for (uint16_t one : bits) values.push_back(FloatOfHalf(one));
    return values;
  }

  // By the definition, in the order of memory (channels last).
  static std::vector<double> Expected(bool fused) {
    const int64_t n = 2, c = 8, h = 5, w = 4;
    std::vector<double> values;
    for (int64_t at = 0; at < n * h * w * c; ++at) {
      const int64_t k = at % c, q = at / c % w, p = at / (c * w) % h, image = at / (c * w * h);
      double sum = 0;
      for (int64_t r = 0; r < 3; ++r) {
        for (int64_t s = 0; s < 3; ++s) {
          const int64_t i = p + r - 1, j = q + s - 1;
          if (i < 0 || i >= h || j < 0 || j >= w) continue;
          for (int64_t d = 0; d < c; ++d) {
            sum += Value(kX, ((image * h + i) * w + j) * c + d) *
                   Value(kW, ((k * 3 + r) * 3 + s) * c + d);
          }
        }
      }
      if (fused) sum = std::max(0.0, sum + Value(kBias, k) + Value(kOther, at));
      values.push_back(sum);
    }
    return values;
  }

  cudnnHandle_t handle_ = nullptr;
  cudaStream_t stream_ = nullptr;
  Key graph_ = nullptr;
};

using CudnnGraphFaults = CudnnGraph;

TEST_F(CudnnGraph, ChecksTypesAndCountsOfAttributes) {
  const Key tensor = Make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const std::vector<int64_t> one{1}, two{1, 1}, nine(9, 1);
  EXPECT_EQ(SetAll(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_INT64, one),
            CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
  EXPECT_EQ(SetInts(tensor, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, one), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(SetInts(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, two), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(SetInts(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, {}), CUDNN_STATUS_BAD_PARAM);
  // Stricter: cuDNN takes 9 dimensions.
  EXPECT_EQ(SetInts(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, nine), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(
      cudnnBackendSetAttribute(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, nullptr),
      CUDNN_STATUS_BAD_PARAM);
  char text[200];
  cudnnGetLastErrorString(text, sizeof(text));
  EXPECT_STREQ(text,
               "cudnnBackendSetAttribute: CUDNN_ATTR_TENSOR_DIMENSIONS is set from a null pointer");
}

TEST_F(CudnnGraph, TellsWhatIsSetAndReadTooEarlyOrTooLate) {
  const Key tensor = kX.Unfinished();
  int64_t value = 0, count = 0;
  const auto read = [&](int64_t room, void* to) {
    return cudnnBackendGetAttribute(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, room,
                                    &count, to);
  };
  EXPECT_EQ(read(1, &value), CUDNN_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cudnnBackendFinalize(tensor), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(cudnnBackendFinalize(tensor), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(SetInts(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, {7}), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(read(1, &value), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(value, 2);
  EXPECT_EQ(read(0, nullptr), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(count, 4);
  EXPECT_EQ(cudnnBackendFinalize(Make(CUDNN_BACKEND_TENSOR_DESCRIPTOR)), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnBackendFinalize(nullptr), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
}

TEST_F(CudnnGraph, RefusesOperationsThatDoNotFit) {
  const auto finalized = [](Key key) { return cudnnBackendFinalize(key); };
  EXPECT_EQ(finalized(ForwardKey(kX, kW, {3, {2, 8, 5, 5}})), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(finalized(ForwardKey(kX, {2, {8, 3, 3, 3}}, kY)), CUDNN_STATUS_BAD_PARAM);
  // Stricter than cuDNN, which notices these later or never.
  EXPECT_EQ(finalized(ForwardKey(kX, {1, {8, 8, 3, 3}}, kY)), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(finalized(ForwardKey(kX, {2, {8, 8, 3, 3}, CUDNN_DATA_BFLOAT16}, kY)),
            CUDNN_STATUS_BAD_PARAM);
  const TensorCase narrow{4, {1, 7, 1, 1}, CUDNN_DATA_FLOAT}, flat{4, {1, 8}, CUDNN_DATA_FLOAT};
  const TensorCase from = Inside(100);
  EXPECT_EQ(finalized(PointwiseKey(CUDNN_POINTWISE_ADD, from, &narrow, kY)),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(finalized(PointwiseKey(CUDNN_POINTWISE_ADD, from, &flat, kY)), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(finalized(PointwiseKey(CUDNN_POINTWISE_ADD, from, nullptr, kY)),
            CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnGraph, RefusesGraphsWithLooseOrAmbiguousTensors) {
  Begin();
  const TensorCase inside = Inside(100);
  Key graph = nullptr;
  const auto add = [&](const TensorCase& b) {
    return PointwiseKey(CUDNN_POINTWISE_ADD, inside, &b, kY);
  };
  EXPECT_EQ(MakeGraph({ForwardKey(kX, kW, inside)}, handle_, &graph), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(MakeGraph({add(kBias)}, handle_, &graph), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(MakeGraph({ForwardKey(kX, kW, kY), add(kBias)}, handle_, &graph),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(MakeGraph({ForwardKey(kX, kW, inside), add({1, {1, 8, 1, 1}})}, handle_, &graph),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(MakeGraph({add(kBias), ForwardKey(kX, kW, inside)}, handle_, &graph),
            CUDNN_STATUS_SUCCESS);
}

TEST_F(CudnnGraph, OffersEnginesByNumberAndKnob) {
  Begin();
  const Key graph = Plain();
  EXPECT_EQ(Read<int64_t>(graph, CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, CUDNN_TYPE_INT64),
            std::vector<int64_t>{kEngines});
  for (int64_t index : {int64_t{-1}, kEngines}) {
    EXPECT_EQ(MakePlan(graph, handle_, index).engine, CUDNN_STATUS_NOT_SUPPORTED);
  }
  EXPECT_EQ(MakePlan(graph, handle_, 2, {{CUDNN_KNOB_TYPE_SPLIT_K_SLC, 3}}).configuration,
            CUDNN_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(MakePlan(graph, handle_, 2, {{CUDNN_KNOB_TYPE_STAGES, 2}}).configuration,
            CUDNN_STATUS_NOT_SUPPORTED);
  const auto bytes = [&](int64_t split) {
    return MakePlan(graph, handle_, 2, {{CUDNN_KNOB_TYPE_SPLIT_K_SLC, split}}).workspace_bytes;
  };
  EXPECT_EQ(bytes(8), 4 * bytes(2));
  EXPECT_EQ(bytes(8), bytes(8));
}

TEST_F(CudnnGraph, WantsChannelsLastAndMultiplesOfEight) {
  Begin();
  const auto takers = [&](const std::vector<int64_t>& x, const std::vector<int64_t>& w,
                          bool channels_last) {
    TensorCase in{1, x}, filter{2, w}, out{3, {x[0], w[0], x[2], x[3]}};
    for (TensorCase* tensor : {&in, &filter, &out}) tensor->channels_last = channels_last;
    Key graph = nullptr;
    EXPECT_EQ(MakeGraph({ForwardKey(in, filter, out)}, handle_, &graph), CUDNN_STATUS_SUCCESS);
    std::set<int64_t> made;
    for (int64_t i = 0; i < kEngines; ++i) {
      if (MakePlan(graph, handle_, i).Made()) made.insert(i);
    }
    return made;
  };
  EXPECT_EQ(takers({1, 8, 4, 4}, {8, 8, 3, 3}, true), (std::set<int64_t>{0, 1, 2, 3, 4, 5, 6, 8}));
  EXPECT_EQ(takers({1, 5, 4, 4}, {7, 5, 3, 3}, true), (std::set<int64_t>{0, 3, 4, 5, 6}));
  EXPECT_EQ(takers({1, 8, 4, 4}, {8, 8, 3, 3}, false), std::set<int64_t>());
}

TEST_F(CudnnGraph, ComputesConvolutionsWithTheirTails) {
  Begin();
  for (bool fused : {false, true}) {
    const Key graph = fused ? Fused() : Plain();
    for (int64_t index = 0; index < kEngines; ++index) {
      const PlanCase plan = MakePlan(graph, handle_, index);
      const bool exact = index != 4 && index != 5 && index != 6;  // 6: 1 TiB of workspace
      if (!plan.Made() || !exact) continue;
      SCOPED_TRACE(index);
      const auto places = Places(fused);
      ASSERT_EQ(Execute(handle_, plan.key, places, Workspace(plan.workspace_bytes)),
                CUDNN_STATUS_SUCCESS);
      EXPECT_EQ(Result(places.at(kY.id)), Expected(fused));
    }
  }
}

TEST_F(CudnnGraph, IsWrongWithEnginesThatNobodyMayTake) {
  Begin();
  const PlanCase plan = MakePlan(Plain(), handle_, 4);
  const auto places = Places(false);
  ASSERT_EQ(Execute(handle_, plan.key, places, nullptr), CUDNN_STATUS_SUCCESS);
  EXPECT_NE(Result(places.at(kY.id)), Expected(false));
}

TEST_F(CudnnGraph, ReplaysWhatACaptureSaved) {
  Begin();
  const PlanCase plan = MakePlan(Plain(), handle_, 1);
  const auto places = Places(false);
  ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  ASSERT_EQ(Execute(handle_, plan.key, places, nullptr), CUDNN_STATUS_SUCCESS);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  cudaGraphExec_t replay = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&replay, graph, 0), cudaSuccess);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(cudaMemsetAsync(places.at(kY.id), 0, 2, stream_), cudaSuccess);
    ASSERT_EQ(cudaGraphLaunch(replay, stream_), cudaSuccess);
    EXPECT_EQ(Result(places.at(kY.id)), Expected(false));
  }
}

TEST_F(CudnnGraph, RefusesEnginesAlikeThroughoutAProcess) {
  Begin("", true);
  const auto made = [&](int64_t channels, int64_t engine) {
    Key graph = nullptr;
    const TensorCase x{1, {1, channels, 4, 4}}, w{2, {8, channels, 3, 3}}, y{3, {1, 8, 4, 4}};
    EXPECT_EQ(MakeGraph({ForwardKey(x, w, y)}, handle_, &graph), CUDNN_STATUS_SUCCESS);
    return MakePlan(graph, handle_, engine).plan == CUDNN_STATUS_SUCCESS;
  };
  int refused = 0;
  for (int64_t channels = 8; channels <= 320; channels += 8) {
    for (int64_t engine : {0, 1}) {
      const bool first = made(channels, engine);
      refused += !first;
      EXPECT_EQ(made(channels, engine), first);
    }
  }
  EXPECT_GT(refused, 5);
  EXPECT_LT(refused, 60);
}

TEST_F(CudnnGraph, FailsTheExecutionThatIsToFail) {
  constexpr int kExecutions = 200;  // of the process, in other tests as well
  Begin("", false, kExecutions);
  const PlanCase plan = MakePlan(Plain(), handle_, 1);
  const auto places = Places(false);
  int failed = 0;
  for (int i = 0; i < kExecutions; ++i) {
    const cudnnStatus_t status = Execute(handle_, plan.key, places, nullptr);
    failed += status == CUDNN_STATUS_EXECUTION_FAILED;
    EXPECT_TRUE(status == CUDNN_STATUS_EXECUTION_FAILED || status == CUDNN_STATUS_SUCCESS);
  }
  EXPECT_EQ(failed, 1);
}

TEST_F(CudnnGraph, WantsOnePointerForEachTensorOfTheGraph) {
  Begin();
  const PlanCase plan = MakePlan(Plain(), handle_, 1);
  auto places = Places(true);
  EXPECT_EQ(Execute(handle_, plan.key, places, nullptr), CUDNN_STATUS_BAD_PARAM);
  places = {{kX.id, places[kX.id]}, {kY.id, places[kY.id]}};
  EXPECT_EQ(Execute(handle_, plan.key, places, nullptr), CUDNN_STATUS_BAD_PARAM);
}

#define EXPECT_FAULT(statement, check) \
  EXPECT_EXIT(statement, testing::ExitedWithCode(kFaultStatus), "double: " check)

TEST_F(CudnnGraphFaults, AreWrongPointers) {
  Begin();
  const PlanCase plan = MakePlan(Plain(), handle_, 3);
  void* workspace = Workspace(plan.workspace_bytes);
  const auto run = [&](int64_t id, void* at, void* room) {
    auto places = Places(false);
    if (id > 0) places[id] = at;
    Execute(handle_, plan.key, places, room);
  };
  char* x = static_cast<char*>(Fill({1, {3, 8, 5, 4}}));
  EXPECT_FAULT(run(1, x + 8, workspace), "alignment");
  std::vector<char> host(4096);
  EXPECT_FAULT(run(1, reinterpret_cast<void*>(uintptr_t(&host[16]) & ~uintptr_t{15}), workspace),
               "(bounds|device)");
  EXPECT_FAULT(run(1, x + 640, workspace), "bounds");
  EXPECT_FAULT(run(0, nullptr, nullptr), "workspace");
  EXPECT_FAULT(run(0, nullptr, Workspace(plan.workspace_bytes - 256)), "workspace");
  EXPECT_FAULT(run(0, nullptr, Places(false)[1]), "workspace");
  EXPECT_FAULT(run(1, workspace, workspace), "overlap");
}

TEST_F(CudnnGraphFaults, AreOtherDevicesAndDestroyedDescriptors) {
  Begin();
  const PlanCase plan = MakePlan(Plain(), handle_, 1);
  const auto places = Places(false);
  EXPECT_FAULT(
      {
        cudaSetDevice(1);
        Execute(handle_, plan.key, places, nullptr);
      },
      "current-device");
  EXPECT_FAULT(
      {
        cudnnBackendDestroyDescriptor(graph_);
        Execute(handle_, plan.key, places, nullptr);
      },
      "descriptor");
  EXPECT_FAULT(
      {
        cudnnBackendDestroyDescriptor(plan.key);
        Execute(handle_, plan.key, places, nullptr);
      },
      "descriptor");
  EXPECT_FAULT(
      Refer(Make(CUDNN_BACKEND_ENGINE_DESCRIPTOR), CUDNN_ATTR_ENGINE_OPERATION_GRAPH, {plan.key}),
      "descriptor");
}

TEST_F(CudnnGraph, MayHaveAMissingReluPlanted) {
  Begin("graph-relu-missing");
  const PlanCase plan = MakePlan(Fused(), handle_, kCompiled);
  const auto places = Places(true);
  ASSERT_EQ(Execute(handle_, plan.key, places, nullptr), CUDNN_STATUS_SUCCESS);
  EXPECT_NE(Result(places.at(kY.id)), Expected(true));
}

TEST_F(CudnnGraph, MayHaveSwappedTensorsPlanted) {
  Begin("graph-wrong-role");
  const PlanCase plan = MakePlan(Plain(), handle_, kCompiled);
  const auto places = Places(false);
  ASSERT_EQ(Execute(handle_, plan.key, places, nullptr), CUDNN_STATUS_SUCCESS);
  EXPECT_NE(Result(places.at(kY.id)), Expected(false));
}

TEST_F(CudnnGraphFaults, AreFoundWhereAPlanTellsOfLessWorkspace) {
  Begin("graph-workspace-small");
  const PlanCase plan = MakePlan(Fused(), handle_, kFillsUp);
  const auto places = Places(true);
  EXPECT_FAULT(Execute(handle_, plan.key, places, Workspace(plan.workspace_bytes)), "workspace");
}

}  // namespace
}  // namespace doppio::gpu_double
