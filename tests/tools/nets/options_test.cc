// Tests that callers without a command line fill the structs of options.
#include "tools/cli/options.h"

#include <gtest/gtest.h>

#include "tests/testing/mistake.h"
#include "tools/nets/nets.h"
#include "tools/train/training_start.h"

namespace doppio {
namespace {

TEST(Options, OfAnInputBecomeOptionsOfANet) {
  NetInputOptions input;
  input.batch = 32;
  input.seed = 7;
  input.place = "conv*=cpu:0,fc*=cpu:1";
  const NetOptions net = MakeNetOptions(input, "bf16", TEST, DataMode::kAssume);
  EXPECT_EQ(net.phase, TEST);
  EXPECT_EQ(net.data, DataMode::kAssume);
  EXPECT_EQ(net.batch, 32);
  EXPECT_EQ(net.seed, 7u);
  EXPECT_EQ(net.place.size(), 2u);
  EXPECT_EQ(net.stored, DType::kBFloat16);
  input.synthetic = true;
  EXPECT_EQ(MakeNetOptions(input, "", TEST, DataMode::kAssume).data, DataMode::kSynthetic);
}

TEST(Options, OfComputationBecomeOptionsOfAPlan) {
  const std::unique_ptr<Device> cpu = MakeCpuDevice();
  ComputeOptions compute;
  compute.fusion = false;
  compute.winograd = "on";
  compute.recompute = "5";
  const PlanOptions plan = MakePlanOptions(compute, cpu.get());
  EXPECT_EQ(plan.device, cpu.get());
  EXPECT_FALSE(plan.fusion);
  EXPECT_EQ(plan.engine_options.at("winograd"), "on");
  EXPECT_EQ(plan.saving.segments, 5);
  compute.winograd = "maybe";
  EXPECT_EQ(Mistake<UsageError>([&] { MakePlanOptions(compute, cpu.get()); }),
            "--winograd needs auto, on or off; got 'maybe'");
}

TEST(Options, OfAStartBecomeOptionsOfATrainer) {
  const std::unique_ptr<Device> cpu = MakeCpuDevice();
  StartOptions start;
  start.weights = "a.caffemodel,b.caffemodel";
  start.on_bad_record = "skip:3";
  const PlanOptions plan = MakePlanOptions({}, cpu.get());
  const TrainerOptions trainer = MakeTrainerOptions(start, "", {}, plan);
  EXPECT_EQ(trainer.weights, (std::vector<std::string>{"a.caffemodel", "b.caffemodel"}));
  EXPECT_EQ(trainer.net.bad_records, 3);
  EXPECT_EQ(trainer.plan.device, cpu.get());
  EXPECT_TRUE(MakeTrainerOptions(start, "c.solverstate", {}, plan).weights.empty());
  start.resume = "c.solverstate";
  EXPECT_NE(Mistake<UsageError>([&] { CheckStart(start); }).find("exclude each other"),
            std::string::npos);
}

}  // namespace
}  // namespace doppio
