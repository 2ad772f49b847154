// The expected statuses are those of cuDNN 9.19, unless a comment states that the double is
// stricter.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <set>
#include <tuple>

#include "tests/double/cudnn/backend_fixture.h"
#include "tests/double/machine/fault.h"
#include "tests/double/machine/settings.h"

namespace doppio::gpu_double {
namespace {

class CudnnGraph : public CudnnGraphCase {};
class CudnnGraphFaults : public CudnnGraphCase {};

TEST_F(CudnnGraph, ChecksTypesAndCountsOfAttributes) {
  const Key tensor = Make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const std::vector<int64_t> one{1}, two{1, 1}, nine(9, 1);
  EXPECT_EQ(SetAll(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_INT64, one),
            CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
  EXPECT_EQ(SetInts(tensor, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, one), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(SetInts(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, two), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(SetInts(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, {}), CUDNN_STATUS_BAD_PARAM);
  // The double is stricter: cuDNN accepts 9 dimensions.
  EXPECT_EQ(SetInts(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, nine), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(
      cudnnBackendSetAttribute(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, nullptr),
      CUDNN_STATUS_BAD_PARAM);
  char text[200];
  cudnnGetLastErrorString(text, sizeof(text));
  EXPECT_STREQ(text,
               "cudnnBackendSetAttribute: CUDNN_ATTR_TENSOR_DIMENSIONS is set from a null pointer");
}

TEST_F(CudnnGraph, RefusesAttributesThatAreSetOrReadAtTheWrongTime) {
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
  // The double is stricter: cuDNN notices these mistakes later or never.
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
      const bool exact =
          index != 4 && index != 5 && index != 6;  // engine 6 needs 1 TiB of workspace
      if (!plan.Made() || !exact) continue;
      SCOPED_TRACE(index);
      const auto places = Places(fused);
      ASSERT_EQ(Execute(handle_, plan.key, places, Workspace(plan.workspace_bytes)),
                CUDNN_STATUS_SUCCESS);
      EXPECT_EQ(Result(places.at(kY.id)), Expected(fused));
    }
  }
}

// Checks that <dy, x * w> = <dx, x> = <dw, w>, with the values of y as dy.
TEST_F(CudnnGraph, ComputesGradientsAdjointToTheConvolution) {
  Begin();
  const auto dot = [](const TensorCase& tensor, const std::vector<double>& values) {
    double sum = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      sum += values[i] * CudnnGraphCase::Value(tensor, static_cast<int64_t>(i));
    }
    return sum;
  };
  const double expected = dot(kY, Expected(false));
  const TensorCase wide{2, kW.dims, CUDNN_DATA_FLOAT};
  const auto data = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
  const auto filter = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
  int ran = 0;
  for (const auto& [type, w, to] :
       {std::tuple(data, kW, kX), std::tuple(filter, kW, kW), std::tuple(filter, wide, wide)}) {
    Key graph = nullptr;
    ASSERT_EQ(MakeGraph({DirectedKey(type, kX, w, kY)}, handle_, &graph), CUDNN_STATUS_SUCCESS);
    for (int64_t index : {0, 1, 2, 3, 7, 8, 9}) {
      const PlanCase plan = MakePlan(graph, handle_, index);
      if (!plan.Made()) continue;
      SCOPED_TRACE(index);
      const std::map<int64_t, void*> places{{1, Fill(kX)}, {2, Fill(w)}, {3, Fill(kY)}};
      ASSERT_EQ(Execute(handle_, plan.key, places, Workspace(plan.workspace_bytes)),
                CUDNN_STATUS_SUCCESS);
      EXPECT_NEAR(dot(to, Result(to, places.at(to.id))), expected, index == 7 ? 1e-2 : 0);
      ++ran;
    }
  }
  EXPECT_EQ(ran, 6 + 6 + 3);
}

TEST_F(CudnnGraph, ComputesWrongNumbersWithForbiddenEngines) {
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

// In another process, because executions are counted over the process.
TEST_F(CudnnGraph, FailsTheExecutionThatIsToFail) {
  EXPECT_EXIT(
      {
        Begin("", false, 3);
        const PlanCase plan = MakePlan(Plain(), handle_, 1);
        const auto places = Places(false);
        const auto run = [&] { return Execute(handle_, plan.key, places, nullptr); };
        const bool as_asked = run() == CUDNN_STATUS_SUCCESS && run() == CUDNN_STATUS_SUCCESS &&
                              run() == CUDNN_STATUS_EXECUTION_FAILED &&
                              run() == CUDNN_STATUS_SUCCESS;
        std::_Exit(as_asked ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(CudnnGraph, MayTakeLongToCompileAPlan) {
  Begin();
  Settings settings = TheSettings();
  settings.slow_plans = 20;
  Use(settings);
  const Key graph = Plain();
  const auto begun = std::chrono::steady_clock::now();  // real time, as in cuDNN: at least 20 ms
  EXPECT_TRUE(MakePlan(graph, handle_, kCompiled).Made());
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(20));
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

TEST_F(CudnnGraphFaults, AreFoundWhereAPlanStatesLessWorkspace) {
  Begin("graph-workspace-small");
  const PlanCase plan = MakePlan(Fused(), handle_, kFillsUp);
  const auto places = Places(true);
  EXPECT_FAULT(Execute(handle_, plan.key, places, Workspace(plan.workspace_bytes)), "workspace");
}

}  // namespace
}  // namespace doppio::gpu_double
