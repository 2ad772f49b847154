// Tests the choice between several ways to compute one convolution with cuDNN
// (core/math/cudnn_candidates.h). The double's clock counts bytes, so that the fastest way is
// known. Each choice is made in a process of its own, like the choices of successive runs of
// Doppio, which share a file. GoogleTest runs death tests first, so this program has made no choice
// before.
#include "core/math/cudnn_candidates.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/device/device_cuda.h"
#include "tests/double/machine/settings.h"
#include "tests/testing/scoped_variable.h"

namespace doppio {
namespace {

// The plain graph accesses kBytes. The fused graph also accesses the bias.
constexpr int64_t kBytes = 3 * 1152, kBiasBytes = 32;

CudnnConvolutionCase Convolution() {
  return {{2, 8, 6, 6}, {8, 8, 3, 3}, {2, 8, 6, 6}, {{1, 1}, {1, 1}, {1, 1}, 1}, DType::kBFloat16};
}

// One way to compute the convolution.
struct Way {
  int64_t bytes_after = 0;  // bytes that the work after the graph writes
  float weight = 1;
  bool fused = false;      // bias and ReLU are part of the graph; its engines compile
  bool has_plan = true;    // false: cuDNN has no plan for it
  bool runs_after = true;  // false: the work after the graph cannot be launched
  bool slow = false;
};

std::vector<CudnnTimer::Memory> Memory() {
  return {{CudnnRole::kBottom, 1152},
          {CudnnRole::kWeights, 1152},
          {CudnnRole::kTop, 1152},
          {CudnnRole::kBias, kBiasBytes},
          {CudnnRole::kOther, 2 * kBytes}};
}

CudnnCandidate CandidateOf(Device* device, const Way& way) {
  CudnnCandidate candidate;
  candidate.roles = {CudnnRole::kBottom, CudnnRole::kWeights, CudnnRole::kTop};
  if (way.fused) candidate.roles.push_back(CudnnRole::kBias);
  candidate.weight = way.weight;
  candidate.slow = way.slow;
  candidate.find = [=]() -> std::shared_ptr<CudnnGraphStep> {
    if (!way.has_plan) return nullptr;
    const auto describe = [&](const CudnnTarget& target) {
      return CudnnGraph::Forward(target, Convolution(), {way.fused, false, way.fused});
    };
    std::vector<CudnnTimer::Memory> memory = Memory();
    memory.resize(candidate.roles.size());
    const std::chrono::milliseconds patience(gpu_double::TheSettings().slow_plans > 0 ? 1 : 60'000);
    return CudnnGraphStep::Find(device, way.fused ? "fused" : "plain", describe, memory, patience);
  };
  candidate.after = [=](const CudnnTimer& at) {
    if (!way.runs_after) throw DeviceError("it cannot be launched");
    if (way.bytes_after == 0) return;
    Cuda(cudaMemsetAsync(at.at(CudnnRole::kOther), 0, static_cast<size_t>(way.bytes_after),
                         GpuOf(device).stream),
         "clearing memory");
  };
  return candidate;
}

class CudnnCandidatesDeathTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(&folder_[0]), nullptr);
    cache_.Set(folder_.c_str());
    gpu_double::Settings settings = gpu_double::TheSettings();
    settings.refuse = false;
    settings.clock = "bytes";
    gpu_double::Use(settings);
  }
  static void SetSlowPlans(int ms) {
    gpu_double::Settings settings = gpu_double::TheSettings();
    settings.slow_plans = ms;
    gpu_double::Use(settings);
  }
  std::string Stored() const { return ReadFile(folder_ + "/doppio/cudnn_algorithms.json"); }

  // Prints what is chosen, and ends the process.
  [[noreturn]] static void ChooseAndExit(const std::vector<Way>& ways, bool deterministic) {
    {
      const std::unique_ptr<Device> device = FindDeviceBackend()->make(0);
      device->settings.deterministic = deterministic;
      std::vector<CudnnCandidate> candidates;
      for (const Way& way : ways) candidates.push_back(CandidateOf(device.get(), way));
      const ChosenCandidate chosen =
          ChooseCandidate(device.get(), "way", "way", Memory(), candidates);
      std::cerr << (chosen.step == nullptr ? "none" : "way " + std::to_string(chosen.index));
      if (chosen.step != nullptr) std::cerr << (chosen.step->settled() ? ", settled" : ", not yet");
      std::cerr << "\n";
    }
    std::exit(0);
  }

  std::string folder_ = testing::TempDir() + "/candidatesXXXXXX";
  ScopedVariable cache_{"XDG_CACHE_HOME", nullptr};
  const ScopedVariable measures_{"DOPPIO_CUDNN_MEASURE", nullptr};
};

#define EXPECT_CHOICE(chosen, ...) \
  EXPECT_EXIT(ChooseAndExit({__VA_ARGS__}, false), testing::ExitedWithCode(0), chosen)

TEST_F(CudnnCandidatesDeathTest, AreComparedWithTheWorkThatFollows) {
  EXPECT_CHOICE("way 1, settled", Way{kBytes}, Way{kBytes / 2}, Way{2 * kBytes});
}

TEST_F(CudnnCandidatesDeathTest, AreWeighted) {
  EXPECT_CHOICE("way 1", Way{0, 1.1f}, Way{kBytes / 20});
}
TEST_F(CudnnCandidatesDeathTest, AreChosenInSpiteOfAWeightThatIsSmallerThanTheGain) {
  EXPECT_CHOICE("way 0", Way{0, 1.1f}, Way{kBytes / 5});
}

TEST_F(CudnnCandidatesDeathTest, AreLeftOutIfTheyDoNotRun) {
  Way broken;
  broken.runs_after = false;
  EXPECT_CHOICE("way 2", broken, Way{kBytes}, Way{kBytes / 2});
}

TEST_F(CudnnCandidatesDeathTest, AreLeftOutWithoutAPlan) {
  Way unplanned;
  unplanned.has_plan = false;
  EXPECT_CHOICE("way 1", unplanned, Way{kBytes});
  EXPECT_CHOICE("none", unplanned, unplanned);
}

TEST_F(CudnnCandidatesDeathTest, AreNotMeasuredOnADeterministicDevice) {
  EXPECT_EXIT(ChooseAndExit({Way{kBytes}, Way{}}, true), testing::ExitedWithCode(0),
              "way 0, settled");
}

TEST_F(CudnnCandidatesDeathTest, AreTakenLastIfTheyAreSlowAndNothingIsMeasured) {
  Way slow, unplanned;
  slow.slow = true;
  unplanned.has_plan = false;
  EXPECT_EXIT(ChooseAndExit({slow, Way{}}, true), testing::ExitedWithCode(0), "way 1, settled");
  EXPECT_EXIT(ChooseAndExit({slow, unplanned}, true), testing::ExitedWithCode(0), "way 0, settled");
  EXPECT_CHOICE("way 0", slow, Way{kBytes});
}

TEST_F(CudnnCandidatesDeathTest, AreMeasuredOnce) {
  EXPECT_CHOICE("way 1", Way{kBytes}, Way{});
  EXPECT_CHOICE("way 1", Way{}, Way{kBytes});
}

// In a process with slow plans, patience ends with the first plan whose engine compiles.
TEST_F(CudnnCandidatesDeathTest, AreComparedAgainUntilAllTheirPlansAre) {
  Way fused;
  fused.fused = true;
  SetSlowPlans(2);
  EXPECT_CHOICE("way 1", fused, Way{0});
  EXPECT_CHOICE("way 0, not yet", fused, Way{2 * kBytes});
  EXPECT_NE(Stored().find("compared"), std::string::npos) << Stored();
  SetSlowPlans(0);
  EXPECT_CHOICE("way 1, settled", fused, Way{0});
  EXPECT_EQ(Stored().find("compared"), std::string::npos) << Stored();
  EXPECT_CHOICE("way 1, settled", fused, Way{2 * kBytes});
}

}  // namespace
}  // namespace doppio
