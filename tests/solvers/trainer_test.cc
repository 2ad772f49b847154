#include "solvers/trainer/trainer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "solvers/update/rule_check.h"
#include "tests/solvers/trainer_case.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

constexpr const char* kFixed = "base_lr: 0.5 lr_policy: 'fixed' max_iter: 3";

TEST(Trainer, HalvesTheWeightOfASquareEachIteration) {
  TrainerCase c(SquareNet(), kFixed);
  auto trainer = c.Make();
  const TrainResult result = trainer->Solve();
  EXPECT_FLOAT_EQ(FirstWeight(trainer.get()), 0.125f);
  EXPECT_EQ(result.iteration, 3);
  EXPECT_FALSE(result.stopped);
  EXPECT_EQ(result.state_file, c.State(3));
  EXPECT_TRUE(FileExists(c.Model(3)));
}

TEST(Trainer, AdvancesPastMaxIterWithTheSnapshotsOnTheWay) {
  TrainerCase c(SquareNet(), std::string(kFixed) + " snapshot: 2");
  auto trainer = c.Make();
  trainer->Advance(1);
  EXPECT_EQ(trainer->iteration(), 1);
  trainer->Advance(4);
  EXPECT_EQ(trainer->iteration(), 5);
  EXPECT_FLOAT_EQ(FirstWeight(trainer.get()), 1.0f / 32);
  EXPECT_TRUE(FileExists(c.State(4)));
  EXPECT_FALSE(FileExists(c.State(5)));
}

TEST(Trainer, KeepsBlobsAndGradientsOnDemand) {
  TrainerCase c(SquareNet(), kFixed);
  TrainerOptions options;
  options.plan.keep_all = true;
  auto trainer = c.Make(options);
  EXPECT_FALSE(trainer->params().arenas().gradients_share_memory());
  for (const Edge& edge : trainer->train_net().graph().edges) {
    EXPECT_TRUE(trainer->train_net().Blob(edge.name)) << edge.name;
  }
  // Backward can be asked to add to the gradient. Both passes start at the same weight.
  Net& net = trainer->train_net();
  const Param& weight = trainer->params().params()[0];
  net.Forward();
  net.Backward(false);
  const float once = weight.grad.data<float>()[0];
  net.Backward(true);
  EXPECT_FLOAT_EQ(weight.grad.data<float>()[0], 2 * once);
  EXPECT_NE(once, 0);
}

TEST(Trainer, WritesTheLinesThatParsersOfCaffeLogsKnow) {
  TrainerCase c(
      SquareNet(),
      "base_lr: 0.5 lr_policy: 'fixed' max_iter: 2 display: 1 test_iter: 2 test_interval: 2");
  auto trainer = c.Make();
  LogLines log;
  trainer->Solve();
  std::vector<std::string> lines = log.lines;
  // Removes times, which differ from run to run.
  for (std::string& line : lines) {
    const size_t open = line.find(" ("), close = line.find("iters)");
    if (close != std::string::npos) line.replace(open, close + 6 - open, " (TIME)");
  }
  const std::vector<std::string> expected = {
      "Solving square",
      "Learning Rate Policy: fixed",
      "Iteration 0, Testing net (#0)",
      "    Test net output #0: loss = 0.5 (* 1 = 0.5 loss)",
      "Iteration 0 (TIME), loss = 0.5",
      "    Train net output #0: loss = 0.5 (* 1 = 0.5 loss)",
      "Iteration 0, lr = 0.5",
      "Iteration 1 (TIME), loss = 0.125",
      "    Train net output #0: loss = 0.125 (* 1 = 0.125 loss)",
      "Iteration 1, lr = 0.5",
      "Snapshotting to binary proto file " + c.Model(2),
      "Snapshotting solver state to binary proto file " + c.State(2),
      "Iteration 2, loss = 0.03125",
      "Iteration 2, Testing net (#0)",
      "    Test net output #0: loss = 0.03125 (* 1 = 0.03125 loss)",
      "Optimization Done.",
  };
  EXPECT_EQ(lines, expected);
}

TEST(Trainer, ShowsTheMeanOfTheLastLosses) {
  // The losses are 1/2, 1/8 and 1/32, and the mean covers two of them.
  TrainerCase c(SquareNet(), std::string(kFixed) + " display: 1 average_loss: 2");
  LogLines log;
  c.Make()->Solve();
  EXPECT_EQ(log.Count("iters), loss = 0.5"), 1);
  EXPECT_EQ(log.Count("iters), loss = 0.3125"), 1);
  EXPECT_EQ(log.Count("iters), loss = 0.078125"), 1);
}

TEST(Trainer, SumsGradientsOverIterSizeAndDividesByIt) {
  TrainerCase c(SquareNet(), std::string(kFixed) + " iter_size: 4");
  auto trainer = c.Make();
  const TrainResult result = trainer->Solve();
  EXPECT_FLOAT_EQ(FirstWeight(trainer.get()), 0.125f);
  EXPECT_FLOAT_EQ(static_cast<float>(result.smoothed_loss), 0.03125f);
}

TEST(Trainer, SkipsTheFirstTestAndTheLastSnapshotWhenTold) {
  TrainerCase c(
      SquareNet(),
      std::string(kFixed) +
          " test_iter: 1 test_interval: 2 test_initialization: false test_compute_loss: true"
          " test_last: false snapshot_after_train: false snapshot: 2");
  LogLines log;
  const TrainResult result = c.Make()->Solve();
  EXPECT_EQ(log.Count("Testing net"), 1);
  EXPECT_EQ(log.Count("Iteration 2, Testing net (#0)"), 1);
  EXPECT_EQ(log.Count("Test loss: 0.03125"), 1);
  EXPECT_TRUE(FileExists(c.State(2)));
  EXPECT_FALSE(FileExists(c.State(3)));
  EXPECT_EQ(result.state_file, c.State(2));
}

// Returns the iterations of the tests in the log of a training of three iterations.
std::vector<int> TestsOf(const std::string& more, TrainerOptions options = {}) {
  TrainerCase c(SquareNet(), std::string(kFixed) + " test_iter: 1 " + more);
  std::vector<int> tests;
  options.on_test = [&](const TestScores& scores) {
    tests.push_back(static_cast<int>(scores.iteration));
  };
  c.Make(options)->Solve();
  return tests;
}

TEST(Trainer, TestsTheWeightsThatItEndsWith) {
  const std::string late = " test_initialization: false";
  EXPECT_EQ(TestsOf("test_interval: 2"), (std::vector<int>{0, 2, 3}));
  EXPECT_EQ(TestsOf("test_interval: 3"), (std::vector<int>{0, 3})) << "not twice";
  EXPECT_EQ(TestsOf("test_interval: 9"), (std::vector<int>{0, 3}));
  EXPECT_EQ(TestsOf("test_interval: 2" + late), (std::vector<int>{2, 3}));
  EXPECT_EQ(TestsOf("test_interval: 2 test_last: false"), (std::vector<int>{0, 2}));
  EXPECT_EQ(TestsOf("test_interval: 3 test_last: false"), (std::vector<int>{0, 3}));
  EXPECT_EQ(TestsOf("test_interval: 9" + late), std::vector<int>()) << "it tests nothing at all";
  TrainerOptions monitored;
  monitored.monitor = MonitorRule{{false, "loss"}};
  EXPECT_EQ(TestsOf("test_interval: 9" + late, monitored), std::vector<int>{3});
}

TEST(Trainer, SaysWhyItTestsAfterTheLastIteration) {
  const std::string said = "Testing the weights after the last iteration, too";
  LogLines log;
  TestsOf("test_interval: 3");
  EXPECT_EQ(log.Count(said), 0);
  TestsOf("test_interval: 2");
  EXPECT_EQ(log.Count(said), 1);
}

// The pass that shows the last loss changes the statistics of BatchNorm once more.
TEST(Trainer, TestsTheStatisticsThatItSaves) {
  const std::string net = R"(
    layer { name: "in" type: "DummyData" top: "x" top: "zero"
            dummy_data_param { shape { dim: 4 dim: 2 } shape { dim: 4 dim: 2 }
                               data_filler { type: "gaussian" std: 3 } data_filler { value: 0 } } }
    layer { name: "bn" type: "BatchNorm" bottom: "x" top: "n" }
    layer { name: "ip" type: "InnerProduct" bottom: "n" top: "w"
            inner_product_param { num_output: 2 weight_filler { type: "constant" value: 1 } } }
    layer { name: "loss" type: "EuclideanLoss" bottom: "w" bottom: "zero" top: "loss" })";
  std::vector<double> losses;
  for (const char* display : {"0", "1"}) {
    TrainerCase c(net, std::string(kFixed) + " test_iter: 1 test_interval: 3 display: " + display);
    TrainerOptions options;
    options.on_test = [&](const TestScores& scores) { losses.push_back(scores.loss); };
    c.Make(options)->Solve();
  }
  ASSERT_EQ(losses.size(), 4u);
  EXPECT_EQ(losses[1], losses[3]);
}

TEST(Trainer, FindsTheBestStateInTheLastTest) {
  // The loss falls in each iteration.
  TrainerCase c(SquareNet(), std::string(kFixed) + " test_iter: 1 test_interval: 2");
  TrainerOptions options;
  options.monitor = MonitorRule{{false, "loss"}};
  options.snapshot_best = true;
  const TrainResult result = c.Make(options, "snapshot_after_train: false")->Solve();
  ASSERT_TRUE(result.best);
  EXPECT_EQ(result.best->iteration, 3);
  EXPECT_TRUE(FileExists(c.State(3)));
}

TEST(Trainer, DoesNotTestAfterARequestToStop) {
  TrainerOptions options;
  options.poll = [polls = 0]() mutable {
    return ++polls == 2 ? Request::kStop : Request::kNone;  // the first one is in the first test
  };
  EXPECT_EQ(TestsOf("test_interval: 2", options), std::vector<int>{0});
}

TEST(Trainer, DoesNotWriteTheLastSnapshotTwice) {
  TrainerCase c(SquareNet(), std::string(kFixed) + " snapshot: 3");
  LogLines log;
  c.Make()->Solve();
  EXPECT_EQ(log.Count("Snapshotting to"), 1);
}

TEST(Trainer, ReportsProgressAfterEachUpdate) {
  TrainerCase c(SquareNet(), kFixed);
  std::vector<Progress> seen;
  TrainerOptions options;
  options.on_iteration = [&](const Progress& p) { seen.push_back(p); };
  c.Make(options)->Solve();
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[1].iteration, 2);
  EXPECT_EQ(seen[1].max_iter, 3);
  EXPECT_FLOAT_EQ(static_cast<float>(seen[1].loss), 0.125f);
  EXPECT_FLOAT_EQ(static_cast<float>(seen[1].rate), 0.5f);
  EXPECT_GT(seen[1].images_per_second, 0);
}

// Returns options that answer poll number n, counted from 1, with a request.
TrainerOptions AskAt(int n, Request request) {
  TrainerOptions options;
  options.poll = [n, request, polls = 0]() mutable {
    return ++polls == n ? request : Request::kNone;
  };
  return options;
}

TEST(Trainer, StopsWithASnapshotAfterTheIterationItIsAskedIn) {
  TrainerCase c(SquareNet(), kFixed);
  LogLines log;
  const TrainResult result = c.Make(AskAt(2, Request::kStop))->Solve();
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(result.iteration, 2);
  EXPECT_EQ(result.state_file, c.State(2));
  EXPECT_EQ(log.Count("Optimization stopped early."), 1);
  EXPECT_EQ(log.Count("Optimization Done."), 0);
}

TEST(Trainer, StopsWithoutASnapshotWhenNoneIsWantedAfterTraining) {
  TrainerCase c(SquareNet(), std::string(kFixed) + " snapshot_after_train: false");
  EXPECT_EQ(c.Make(AskAt(1, Request::kStop))->Solve().state_file, "");
  EXPECT_EQ(c.Make(AskAt(1, Request::kSnapshotStop))->Solve().state_file, c.State(1));
}

// The schedule has a snapshot at iteration 0, but none was taken there.
TEST(Trainer, StopsWithASnapshotInItsFirstTest) {
  TrainerCase c(SquareNet(), std::string(kFixed) + " test_iter: 5 test_interval: 2 snapshot: 2");
  const TrainResult result = c.Make(AskAt(1, Request::kStop))->Solve();
  EXPECT_EQ(result.iteration, 0);
  EXPECT_EQ(result.state_file, c.State(0));
  EXPECT_TRUE(result.snapshot_taken);
}

TEST(Trainer, SnapshotsOnRequestAndGoesOn) {
  TrainerCase c(SquareNet(), kFixed);
  const TrainResult result = c.Make(AskAt(1, Request::kSnapshot))->Solve();
  EXPECT_FALSE(result.stopped);
  EXPECT_TRUE(FileExists(c.State(1)));
  EXPECT_TRUE(FileExists(c.State(3)));
}

TEST(Trainer, StopsWithinATest) {
  TrainerCase c(SquareNet(), std::string(kFixed) + " test_iter: 5 test_interval: 2");
  LogLines log;
  // There are five polls in the test at iteration 0 and two after iterations. The eighth and ninth
  // are in the test at iteration 2.
  const TrainResult result = c.Make(AskAt(9, Request::kStop))->Solve();
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(result.iteration, 2);
  EXPECT_EQ(log.Count("Test interrupted."), 1);
  EXPECT_EQ(result.state_file, c.State(2));
}

TEST(Trainer, StopsWithASnapshotInATestThatNoIterationOfThisRunCameBefore) {
  // The schedule has snapshots at iterations 0 and 2, but this run made no update that would have
  // written them.
  TrainerCase c(SquareNet(), std::string(kFixed) + " test_iter: 5 test_interval: 2 snapshot: 2");
  EXPECT_EQ(c.Make(AskAt(1, Request::kStop))->Solve().state_file, c.State(0));
  c.Make()->Solve();
  TrainerOptions resumed = AskAt(1, Request::kStop);
  resumed.resume = c.State(2);
  const TrainResult stopped = c.Make(resumed)->Solve();
  EXPECT_TRUE(stopped.snapshot_taken);
  EXPECT_EQ(stopped.state_file, c.State(2));
}

TEST(Trainer, WarnsOnceWhenTheLossIsNoNumber) {
  TrainerCase c(SquareNet(), "base_lr: 1e30 lr_policy: 'fixed' max_iter: 5");
  LogLines log;
  c.Make()->Solve();
  EXPECT_EQ(log.Count("Iteration 1: the loss is inf"), 1);
  EXPECT_EQ(log.Count("the loss is"), 1);
}

TEST(Trainer, EndsAtALossAfterTheLastUpdateThatIsNoNumber) {
  // The only update makes the weight so large that its square is infinite.
  const std::string solver = "base_lr: 1e30 lr_policy: 'fixed' max_iter: 1 display: 1";
  TrainerCase c(SquareNet(), solver);
  TrainerOptions options;
  options.stop_at_nonfinite = true;
  const LogLines log;
  const std::string text = Mistake<Error>([&] { c.Make(options)->Solve(); });
  EXPECT_NE(text.find("iteration 1: the loss is not finite; layer 'loss'"), std::string::npos)
      << text;
  EXPECT_EQ(log.Count("Optimization Done."), 0);
  options.stop_at_nonfinite = false;
  c.Make(options)->Solve();
  EXPECT_EQ(log.Count("Iteration 1: the loss is inf"), 1);
}

TEST(Trainer, WarnsOnceIfTheLossIsAlwaysZero) {
  std::string net = SquareNet();
  net.replace(net.find("data_filler { value: 1 }"), 24, "data_filler { value: 0 }");
  for (const std::string iterations : {"max_iter: 3", "max_iter: 50"}) {
    TrainerCase zeros(net, "base_lr: 0.5 lr_policy: 'fixed' " + iterations);
    const LogLines log;
    zeros.Make()->Solve();
    EXPECT_EQ(log.Count("the loss has been exactly 0 in all iterations"), 1) << iterations;
  }
  TrainerCase c(SquareNet(), kFixed);
  const LogLines log;
  c.Make()->Solve();
  EXPECT_EQ(log.Count("exactly 0"), 0);
}

// Returns a net without parameters and with a loss.
std::string NetWithoutParameters() {
  return R"(
    layer { name: "in" type: "DummyData" top: "x" top: "y"
            dummy_data_param { shape { dim: 2 dim: 3 } data_filler { type: "gaussian" } } }
    layer { name: "loss" type: "EuclideanLoss" bottom: "x" bottom: "y" top: "loss" })";
}

TEST(Trainer, RunsANetWithoutParameters) {
  const std::string data = R"(layer { name: "in" type: "DummyData" top: "x"
      dummy_data_param { shape { dim: 2 } data_filler { type: "gaussian" } } })";
  for (const std::string& net : {NetWithoutParameters(), data}) {
    TrainerCase c(net, "base_lr: 0.5 lr_policy: 'fixed' display: 1 test_iter: 1 test_interval: 2");
    for (const std::string& rule : RuleNames()) {
      for (const std::string more : {"iter_size: 2", "clip_gradients: 1", "snapshot_diff: true"}) {
        const std::string type = "type: '" + rule + "' ";
        const TrainResult result = c.Make({}, "max_iter: 3 " + type + more)->Solve();
        EXPECT_EQ(result.iteration, 3) << rule << ", " << more;
        TrainerOptions resumed;
        resumed.resume = result.state_file;
        EXPECT_EQ(c.Make(resumed, type + "max_iter: 4")->Solve().iteration, 4) << rule;
      }
    }
    TrainerOptions reference;
    reference.plan.engine = "reference";
    reference.loss_scaling = DynamicLossScaling();
    EXPECT_EQ(c.Make(reference, "max_iter: 3")->Solve().iteration, 3);
    auto stepped = c.Make({}, "max_iter: 3");
    stepped->Advance(2);
    EXPECT_EQ(stepped->iteration(), 2);
    EXPECT_EQ(c.Make({}, "max_iter: 3 snapshot_format: HDF5")->Solve().iteration, 3);
  }
}

TEST(Trainer, ReportsMistakesOfPolicyAndRuleTogether) {
  TrainerCase c(SquareNet(), "base_lr: 1 lr_policy: 'fixd' max_iter: 1 type: 'Adamm'");
  const std::string text = Mistake([&] { c.Make(); });
  EXPECT_NE(text.find("did you mean 'fixed'?"), std::string::npos) << text;
  EXPECT_NE(text.find("did you mean 'Adam'?"), std::string::npos) << text;
}

TEST(Trainer, RefusesAFolderThatIsNotThereBeforeItOpensData) {
  SolverSpec spec;  // with an empty net
  spec.param.set_base_lr(1);
  spec.param.set_lr_policy("fixed");
  spec.param.set_max_iter(1);
  spec.param.set_snapshot_prefix("/no/such/folder/s");
  const auto device = MakeCpuDevice();
  TrainerOptions options;
  options.plan.device = device.get();
  const std::string text = Mistake<FileError>([&] { Trainer(spec, options); });
  EXPECT_NE(text.find("/no/such/folder"), std::string::npos) << text;
}

TEST(Trainer, CountsTheHistoryAmongWhatItsNetsNeed) {
  for (const char* type : {"SGD", "Adam"}) {
    TrainerCase c(SquareNet(),
                  std::string("base_lr: 0.1 lr_policy: 'fixed' max_iter: 1 type: '") + type + "'");
    const std::unique_ptr<Trainer> trainer = c.Make();
    int64_t bytes = 0;
    for (const Tensor& arena : trainer->update().history().arenas()) bytes += arena.bytes();
    EXPECT_GT(bytes, 0);
    EXPECT_EQ(trainer->train_net().plan().memory.history, bytes) << type;
  }
}

TEST(Trainer, StartsFromWeightsAndTheFlagsWinOverTheSolvers) {
  TrainerCase trained(SquareNet(), kFixed);
  trained.Make()->Solve();
  TrainerCase c(SquareNet(), std::string(kFixed) + " weights: '/no/such.caffemodel'");
  EXPECT_NE(Mistake([&] { c.Make(); }).find("/no/such.caffemodel"), std::string::npos);
  TrainerOptions options;
  options.weights = {trained.Model(3)};
  EXPECT_FLOAT_EQ(FirstWeight(c.Make(options).get()), 0.125f);
}

TEST(Trainer, AsksAPlateauForTheRateOfTheLossThatItHasJustSeen) {
  // At rate 2, w is 1, -1, 1, whose losses are no new minima. A step in iteration 2 leads to w = 0,
  // a minimum in iteration 3. No new minimum follows for 2 iterations, so the next step is in
  // iteration 5.
  TrainerCase c(SquareNet(),
                "base_lr: 2 lr_policy: 'plateau' gamma: 0.5 plateau_winsize: 2 "
                "plateau_winsize: 2 max_iter: 6");
  std::vector<double> rates;
  TrainerOptions options;
  options.on_iteration = [&](const Progress& p) { rates.push_back(p.rate); };
  const auto trainer = c.Make(options);
  trainer->Solve();
  EXPECT_EQ(rates, (std::vector<double>{2, 2, 1, 1, 1, 0.5}));
  EXPECT_EQ(FirstWeight(trainer.get()), 0);
}

// Returns a net with `layers` BatchNorms. Each one multiplies by 1 / sqrt(eps) in the first test,
// because its statistics are empty.
std::string BatchNormNet(int layers) {
  std::string net = R"(
    layer { name: "in" type: "DummyData" top: "x" top: "y"
            dummy_data_param { shape { dim: 4 dim: 3 } shape { dim: 4 dim: 2 }
                               data_filler { type: "gaussian" } data_filler { value: 1 } } })";
  for (int i = 1; i <= layers; ++i)
    net += " layer { name: 'bn" + std::to_string(i) + "' type: 'BatchNorm' bottom: 'x' top: 'x' }";
  return net + R"(
    layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip"
            inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "y" top: "loss" })";
}

TEST(Trainer, HintsAtEmptyStatisticsWhereTheFirstTestIsNotFinite) {
  const std::string solver =
      "base_lr: 0.01 lr_policy: 'fixed' max_iter: 30 test_iter: 1 test_interval: 30";
  TrainerOptions options;
  options.stop_at_nonfinite = true;  // must not apply to the scores of a test
  LogLines log;
  TrainerCase deep(BatchNormNet(20), solver);
  const TrainResult result = deep.Make(options)->Solve();
  EXPECT_EQ(result.iteration, 30);
  EXPECT_TRUE(std::isfinite(result.tests.at(0).scores.at(0).value));
  EXPECT_EQ(
      log.Count(
          "Iteration 0: scores of test net #0 are not finite. The likely reason: before "
          "the first training iteration, the running statistics of BatchNorm are empty "
          "(layers 'bn1', 'bn2', 'bn3' and 17 more). test_initialization: false skips this test"),
      1);
  EXPECT_EQ(log.Count("use their running statistics"), 0);
  // A net with finite scores gets no hint, and neither does a run without this test.
  TrainerCase shallow(BatchNormNet(2), solver);
  shallow.Make(options)->Solve();
  deep.Make(options, "test_initialization: false")->Solve();
  EXPECT_EQ(log.Count("the running statistics of BatchNorm are empty"), 1);
}

TEST(Trainer, WarnsOfEmptyStatisticsThatTheTrainNetUses) {
  const auto frozen = [](std::string net) {
    const std::string type = "type: 'BatchNorm'";
    for (size_t at = net.find(type); at != std::string::npos; at = net.find(type, at + 1))
      net.insert(at + type.size(), " batch_norm_param { use_global_stats: true }");
    return net;
  };
  const std::string solver = "base_lr: 1e-9 lr_policy: 'fixed' max_iter: 2";
  const std::string said = "BatchNorm layers 'bn1', 'bn2' of the train net use their running";
  LogLines log;
  TrainerCase trained(BatchNormNet(2), solver);
  trained.Make()->Solve();
  EXPECT_EQ(log.Count("running statistics"), 0);
  TrainerCase c(frozen(BatchNormNet(2)), solver);
  c.Make()->Advance(1);
  EXPECT_EQ(log.Count(said), 1);
  TrainerOptions options;
  options.weights = {trained.Model(2)};
  c.Make(options)->Solve();
  EXPECT_EQ(log.Count(said), 1) << "these weights have the statistics";
}

}  // namespace
}  // namespace doppio
