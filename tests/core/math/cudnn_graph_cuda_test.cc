// cuDNN can make plans for a GPU from a description of it. These tests check without a GPU whether
// cuDNN supports Doppio's graphs, and with which engines. Only a GPU can check the results.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/math/cudnn_plan.h"

namespace doppio {
namespace {

// cuDNN's description of an H200.
constexpr char kGpu[] =
    R"({"deviceName": "NVIDIA H200", "cudaDeviceId": 0, "pciDeviceId": 0, "deviceVer": 900,
  "driverVer": 13000, "multiProcessorCount": 132, "warpSize": 32, "maxGridSize": [2147483647, 65535, 65535],
  "maxBlockSize": [1024, 1024, 64], "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "maxCtasPerSM": 32,
  "regsPerBlock": 65536, "maxRegistersPerSM": 65536, "maxSharedMemoryPerBlock": 49152,
  "maxSharedMemoryPerBlockOptin": 232448, "reservedSharedMemoryPerBlock": 1024, "smClockRateKHz": 1980000,
  "memClockRateKHz": 3201000, "l2CacheSize": 62914560, "totalGlobalMem": 150754820096, "isTccDriver": 0,
  "supportCoopLaunch": 1})";

constexpr int64_t kMiB = int64_t{1} << 20;

class CudnnGraphs : public testing::Test {
 protected:
  void SetUp() override {
    try {
      properties_ = std::make_unique<CudnnBackendDescriptor>(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
      properties_->Set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, sizeof(kGpu) - 1,
                       kGpu);
      properties_->Finish("being told of a GPU");
    } catch (const DeviceError& e) {
      properties_.reset();
      GTEST_SKIP() << e.message();  // no cuDNN, or an older version
    }
  }

  CudnnTarget target() const { return {nullptr, properties_.get()}; }

  std::unique_ptr<CudnnBackendDescriptor> properties_;
};

CudnnConvolutionCase Case(std::vector<int64_t> x, std::vector<int64_t> w, std::vector<int64_t> y,
                          int64_t stride, int64_t pad, int64_t group, DType type) {
  const std::vector<int64_t> pads(x.size() - 2, pad), strides(x.size() - 2, stride),
      ones(x.size() - 2, 1);
  return {std::move(x), std::move(w), std::move(y), {pads, strides, ones, group}, type};
}

struct NamedCase {
  const char* name;
  CudnnConvolutionCase conv;
};
std::vector<NamedCase> Cases(DType type) {
  return {
      {"first", Case({64, 3, 224, 224}, {64, 3, 7, 7}, {64, 64, 112, 112}, 2, 3, 1, type)},
      {"3x3", Case({64, 64, 56, 56}, {64, 64, 3, 3}, {64, 64, 56, 56}, 1, 1, 1, type)},
      {"1x1", Case({64, 64, 56, 56}, {256, 64, 1, 1}, {64, 256, 56, 56}, 1, 0, 1, type)},
      {"1x1 in steps", Case({64, 256, 56, 56}, {512, 256, 1, 1}, {64, 512, 28, 28}, 2, 0, 1, type)},
      {"groups", Case({64, 96, 27, 27}, {256, 48, 5, 5}, {64, 256, 27, 27}, 1, 2, 2, type)},
      {"odd channels", Case({32, 5, 12, 12}, {7, 5, 3, 3}, {32, 7, 12, 12}, 1, 1, 1, type)},
      {"depthwise", Case({32, 64, 28, 28}, {64, 1, 3, 3}, {32, 64, 28, 28}, 1, 1, 64, type)},
      {"volume", Case({8, 32, 16, 16, 16}, {32, 32, 3, 3, 3}, {8, 32, 16, 16, 16}, 1, 1, 1, type)}};
}

// Returns the graphs that need no driver. Engines that compile at run time need one.
std::vector<CudnnGraph> GraphsOf(const CudnnTarget& target, const CudnnConvolutionCase& c) {
  std::vector<CudnnGraph> graphs;
  graphs.push_back(CudnnGraph::Forward(target, c, {}));
  graphs.push_back(CudnnGraph::BackwardData(target, c));
  graphs.push_back(CudnnGraph::BackwardFilter(target, c, c.type));
  return graphs;
}

TEST_F(CudnnGraphs, ArePlannedInAllDirectionsAndFromWhatWasChosen) {
  for (DType type : {DType::kBFloat16, DType::kFloat16}) {
    for (const NamedCase& c : Cases(type)) {
      SCOPED_TRACE(std::string(c.name) + " in " + Name(type));
      for (const CudnnGraph& graph : GraphsOf(target(), c.conv)) {
        const CudnnHeuristics heuristics(graph, {512 * kMiB, false});
        const auto plans = heuristics.Best(2);
        ASSERT_EQ(plans.size(), 2u);
        EXPECT_NE(plans[0]->choice(), plans[1]->choice());
        for (const auto& plan : plans) {
          EXPECT_LE(plan->workspace_bytes(), 512 * kMiB);
          const auto again = heuristics.PlanFor(plan->choice());
          ASSERT_NE(again, nullptr);
          EXPECT_EQ(again->choice(), plan->choice());
          EXPECT_EQ(again->workspace_bytes(), plan->workspace_bytes());
        }
      }
    }
  }
}

TEST_F(CudnnGraphs, KeepToTheWorkspace) {
  const CudnnConvolutionCase first = Cases(DType::kBFloat16)[0].conv;
  const CudnnGraph graph = CudnnGraph::Forward(target(), first, {});
  const auto large = CudnnHeuristics(graph, {512 * kMiB, false}).Best(1);
  ASSERT_EQ(large.size(), 1u);
  ASSERT_GT(large[0]->workspace_bytes(), kMiB);
  const CudnnHeuristics small(graph, {kMiB, false});
  EXPECT_EQ(small.PlanFor(large[0]->choice()), nullptr);
  const auto plans = small.Best(8);
  EXPECT_FALSE(plans.empty());
  for (const auto& plan : plans) EXPECT_LE(plan->workspace_bytes(), kMiB);
}

TEST_F(CudnnGraphs, AreContentWithOnePlanWherePatienceIsOver) {
  const CudnnGraph graph = CudnnGraph::Forward(target(), Cases(DType::kBFloat16)[1].conv, {});
  const CudnnHeuristics heuristics(graph, {512 * kMiB, false});
  const auto plans = heuristics.Best(4, CudnnHeuristics::Patience::zero());
  ASSERT_EQ(plans.size(), 1u);
  EXPECT_EQ(plans[0]->choice(), heuristics.Best(4)[0]->choice());
}

TEST_F(CudnnGraphs, MayBeAskedForTheSameBitsEveryTime) {
  for (const NamedCase& c : Cases(DType::kFloat16)) {
    SCOPED_TRACE(c.name);
    for (const CudnnGraph& graph : GraphsOf(target(), c.conv)) {
      const CudnnHeuristics heuristics(graph, {512 * kMiB, true});
      const auto plans = heuristics.Best(1);
      ASSERT_EQ(plans.size(), 1u);
      EXPECT_NE(heuristics.PlanFor(plans[0]->choice()), nullptr);
    }
  }
}

TEST_F(CudnnGraphs, IgnoreAChoiceThatMakesNoSense) {
  const CudnnGraph graph = CudnnGraph::Forward(target(), Cases(DType::kBFloat16)[1].conv, {});
  const CudnnHeuristics heuristics(graph, {512 * kMiB, false});
  for (const AlgorithmChoice& choice : {AlgorithmChoice{}, {1, 2}, {-1}, {100000}, {0, 9999, 1}}) {
    EXPECT_EQ(heuristics.PlanFor(choice), nullptr);
  }
}

// This test checks that the library accepts the graphs, and the next one that some engine does.
// Only a driver can find out which graphs have a plan.
TEST_F(CudnnGraphs, TakeATailAndGradientsInSinglePrecision) {
  for (DType type : {DType::kBFloat16, DType::kFloat16}) {
    for (const NamedCase& c : Cases(type)) {
      SCOPED_TRACE(c.name);
      for (int parts = 0; parts < 8; ++parts) {
        const CudnnEpilogue tail{(parts & 1) != 0, (parts & 2) != 0, (parts & 4) != 0};
        EXPECT_NO_THROW(CudnnGraph::Forward(target(), c.conv, tail));
      }
      EXPECT_NO_THROW(CudnnGraph::BackwardFilter(target(), c.conv, DType::kFloat32));
    }
  }
}

// Returns the number of engines that support a graph, including those that only lack a driver to
// compile it. Queries each engine by number, because cuDNN's heuristics leave out engines that lack
// a driver.
int EnginesFor(const CudnnGraph& graph) {
  int64_t all = 0;
  graph.operations().Get(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, CUDNN_TYPE_INT64, 1, &all);
  int takers = 0;
  for (int64_t number = 0; number < all; ++number) {
    CudnnBackendDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    engine.SetDescriptor(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph.operations());
    engine.SetOne(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, number);
    engine.SetDescriptor(CUDNN_ATTR_ENGINE_DEVICEPROP, *graph.target().properties);
    if (!engine.Complete()) continue;
    CudnnBackendDescriptor configuration(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    configuration.SetDescriptor(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
    const cudnnStatus_t status = Cudnn().cudnnBackendFinalize(configuration.get());
    takers += status == CUDNN_STATUS_SUCCESS ||
              status == CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING;
  }
  return takers;
}

TEST_F(CudnnGraphs, AreTakenByEnginesWithATailAndWithGradientsInSinglePrecision) {
  for (DType type : {DType::kBFloat16, DType::kFloat16}) {
    for (const NamedCase& c : Cases(type)) {
      SCOPED_TRACE(std::string(c.name) + " in " + Name(type));
      for (int parts = 1; parts < 8; ++parts) {
        const CudnnEpilogue tail{(parts & 1) != 0, (parts & 2) != 0, (parts & 4) != 0};
        EXPECT_GT(EnginesFor(CudnnGraph::Forward(target(), c.conv, tail)), 0) << "tail " << parts;
      }
      EXPECT_GT(EnginesFor(CudnnGraph::BackwardFilter(target(), c.conv, DType::kFloat32)), 0);
    }
  }
}

TEST_F(CudnnGraphs, AreRefusedWhereExtentsDoNotFit) {
  CudnnConvolutionCase wrong = Cases(DType::kBFloat16)[1].conv;
  wrong.y[3] += 1;
  EXPECT_THROW(CudnnGraph::Forward(target(), wrong, {}), DeviceError);
}

}  // namespace
}  // namespace doppio
