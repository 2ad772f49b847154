// Trainings whose layers are placed on several devices, compared with those on one device.
#include <gtest/gtest.h>

#include "tests/backends/stub/stub_device.h"
#include "tests/solvers/placed_case.h"
#include "tests/testing/mistake.h"
#include "tests/testing/test_gpu.h"

namespace doppio {
namespace {

TEST(PlacedTraining, GivesTheSameBitsAsOneDevice) {
  for (const char* norm : {"LRN", "BatchNorm"}) {
    const std::string net = PlacedNet("8", norm);
    EXPECT_EQ(OnHalves(net, kConvFc, 1), OnOneDevice(net)) << norm;
    EXPECT_EQ(OnHalves(net, "conv2=cpu:1,relu2=cpu:1,*=cpu:0", 1), OnOneDevice(net))
        << norm << ", with a return to the first device";
  }
}

TEST(PlacedTraining, GivesTheSameBitsWithMicrobatchesAsWithIterSize) {
  for (const char* norm : {"LRN", "BatchNorm"}) {
    EXPECT_EQ(OnHalves(PlacedNet("8", norm), kConvFc, 2),
              OnOneDevice(PlacedNet("4", norm), "iter_size: 2"))
        << norm;
    EXPECT_EQ(OnHalves(PlacedNet("8", norm), kConvFc, 4),
              OnOneDevice(PlacedNet("2", norm), "iter_size: 4"))
        << norm;
  }
}

TEST(PlacedTraining, EqualsOneBatchUpToRounding) {
  const std::string net = PlacedNet();
  const std::vector<float> whole = OnOneDevice(net),
                           clipped = OnOneDevice(net, "clip_gradients: 0.1");
  for (int microbatches : {2, 4}) {
    EXPECT_LT(LargestDifference(OnHalves(net, kConvFc, microbatches), whole), 1e-5);
    EXPECT_LT(
        LargestDifference(OnHalves(net, kConvFc, microbatches, "clip_gradients: 0.1"), clipped),
        1e-5);
  }
}

TEST(PlacedTraining, ResumesWithoutPlacementAndBack) {
  const ThreadCount one(1);
  const Halves halves(kConvFc);
  TrainerCase whole(PlacedNet(), kPlacedSolver), parts(PlacedNet(), kPlacedSolver);
  whole.Make({}, "max_iter: 6")->Solve();
  parts.Make(halves.options, "max_iter: 2")->Solve();
  TrainerOptions options;
  options.resume = parts.State(2);
  parts.Make(options, "max_iter: 4")->Solve();
  options = halves.options;
  options.resume = parts.State(4);
  parts.Make(options, "max_iter: 6")->Solve();
  EXPECT_EQ(ReadFile(parts.Model(6)), ReadFile(whole.Model(6)));
}

TEST(PlacedTraining, ReportsTheMeanLossOfTheMicrobatches) {
  const auto first_loss = [](TrainerOptions options) {
    double loss = 0;
    options.on_iteration = [&](const Progress& p) {
      if (p.iteration == 1) loss = p.loss;
      EXPECT_EQ(p.images, 8);
    };
    TrainerCase c(PlacedNet(), kPlacedSolver);
    c.Make(options, "max_iter: 1")->Solve();
    return loss;
  };
  const Halves halves(kConvFc, 4);
  EXPECT_NEAR(first_loss(halves.options), first_loss({}), 1e-6);
}

// Two devices that share no memory, neither with each other nor with the host.
TEST(PlacedTraining, GivesTheSameBitsOnDevicesOfAnyKind) {
  const std::string test = R"(
    layer { name: "accuracy" type: "Accuracy" bottom: "fc7" bottom: "label" top: "accuracy" include { phase: TEST } })";
  const std::string solver = std::string(kPlacedSolver) +
                             "max_iter: 4 test_iter: 1 test_interval: 2 "
                             "snapshot: 2 ";
  TrainerOptions options;
  options.plan.engine = "reference";
  options.plan.fusion = false;
  TrainerCase alone(PlacedNet() + test, solver);
  const std::vector<float> expected = WeightsAfter(alone.Make(options).get());
  StubDevice second;
  auto first = std::make_unique<StubDevice>();
  options.net.place = ParsePlaceRules("conv*=gpu:0,fc*=gpu:1");
  options.plan.places = {{"gpu:0", first.get()}, {"gpu:1", &second}};
  TrainerCase c(PlacedNet() + test, solver, std::move(first));
  const auto trainer = c.Make(options);
  EXPECT_EQ(trainer->params().arenas().all().size(), 2u);
  EXPECT_EQ(WeightsAfter(trainer.get()), expected);
  options.resume = c.State(2);
  EXPECT_EQ(WeightsAfter(c.Make(options).get()), expected);
  options.resume = "";
  options.net.microbatches = 4;
  EXPECT_LT(LargestDifference(WeightsAfter(c.Make(options).get()), expected), 1e-5);
}

// Two devices that do not share memory: the same GPU, opened twice.
TEST_ON_GPU(PlacedTraining, GivesTheSameNumbersOnGpus) {
  const std::string test = R"(
    layer { name: "accuracy" type: "Accuracy" bottom: "fc7" bottom: "label" top: "accuracy" include { phase: TEST } })";
  const std::string solver =
      std::string(kPlacedSolver) + "max_iter: 4 test_iter: 1 test_interval: 2 clip_gradients: 1 ";
  TrainerCase alone(PlacedNet() + test, solver, TestGpu());
  const std::vector<float> expected = WeightsAfter(alone.Make().get());
  for (int microbatches : {1, 2}) {
    TrainerOptions options;
    options.net.place = ParsePlaceRules("conv*=gpu:0,fc*=gpu:1");
    options.net.microbatches = microbatches;
    const std::unique_ptr<Device> second = TestGpu();
    std::unique_ptr<Device> first = TestGpu();
    options.plan.places = {{"gpu:0", first.get()}, {"gpu:1", second.get()}};
    TrainerCase c(PlacedNet() + test, solver, std::move(first));
    const auto trainer = c.Make(options);
    EXPECT_EQ(trainer->params().arenas().all().size(), 2u);
    EXPECT_LT(LargestDifference(WeightsAfter(trainer.get()), expected), 1e-5) << microbatches;
    options.resume = c.State(4);
    const auto resumed = c.Make(options, "average_loss: 2");
    EXPECT_EQ(resumed->iteration(), 4);
  }
}

TEST(PlacedTraining, NamesTheFirstLayerThatIsNotFinite) {
  Halves halves("ip=cpu:0,loss=cpu:1", 2);
  halves.options.stop_at_nonfinite = true;
  const std::string net = R"(
    layer { name: "in" type: "DummyData" top: "x" top: "y"
            dummy_data_param { shape { dim: 2 dim: 1 } shape { dim: 2 dim: 1 }
                               data_filler { value: 1 } data_filler { value: 1 } } }
    layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip"
            inner_product_param { num_output: 1 weight_filler { value: 1 } } }
    layer { name: "power" type: "Exp" bottom: "ip" top: "power" exp_param { scale: 1000 } }
    layer { name: "loss" type: "EuclideanLoss" bottom: "power" bottom: "y" top: "loss" })";
  TrainerCase c(net, kPlacedSolver);
  const Error e = Thrown([&] { c.Make(halves.options, "max_iter: 1")->Solve(); });
  EXPECT_EQ(e.code(), ExitCode::kNonFinite);
  EXPECT_NE(std::string(e.what()).find("layer 'power' (Exp"), std::string::npos) << e.what();
}

TEST(PlacedTraining, ExplainsMistakes) {
  const auto expect = [](const std::string& net, const Halves& halves, const std::string& text) {
    TrainerCase c(net, kPlacedSolver);
    const std::string mistake = Mistake([&] { c.Make(halves.options, "max_iter: 1"); });
    EXPECT_NE(mistake.find(text), std::string::npos) << text << "\nis not in: " << mistake;
  };
  expect(PlacedNet("6"), Halves(kConvFc, 4),
         "a batch of 6 cannot be shared equally by 4 micro-batches; the nearest that can is 8");
  expect(PlacedNet(), Halves("conv*=cpu:0,fx*=cpu:1"),
         "--place: the pattern 'fx*' matches no layer of the net");
  const std::string recurrent = R"(
    layer { name: "in" type: "DummyData" top: "x" top: "cont"
            dummy_data_param { shape { dim: 2 dim: 2 dim: 3 } shape { dim: 2 dim: 2 } data_filler { value: 1 } } }
    layer { name: "r" type: "LSTM" bottom: "x" bottom: "cont" top: "r"
            recurrent_param { num_output: 2 weight_filler { type: "xavier" } } }
    layer { name: "sum" type: "Reduction" bottom: "r" top: "sum" loss_weight: 1 })";
  expect(recurrent, Halves("r=cpu:0,sum=cpu:1", 2),
         "layer 'r': a state from pass to pass does not work with --microbatches, because the "
         "parts of");
}

}  // namespace
}  // namespace doppio
