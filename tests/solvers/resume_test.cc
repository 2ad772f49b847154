// Tests that a run that stops and resumes ends with the same bytes as an uninterrupted run.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "tests/solvers/trainer_case.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

// A net with random data and dropout, whose results depend on all random counters.
std::string RandomNet() {
  return R"(name: "random"
    layer { name: "in" type: "DummyData" top: "x" top: "y"
            dummy_data_param { shape { dim: 5 dim: 7 } shape { dim: 5 dim: 3 }
                               data_filler { type: "gaussian" std: 1 } data_filler { type: "uniform" min: -1 max: 1 } } }
    layer { name: "ip1" type: "InnerProduct" bottom: "x" top: "h"
            inner_product_param { num_output: 9 weight_filler { type: "xavier" } } }
    layer { name: "drop" type: "Dropout" bottom: "h" top: "h" dropout_param { dropout_ratio: 0.4 } }
    layer { name: "ip2" type: "InnerProduct" bottom: "h" top: "out"
            inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "EuclideanLoss" bottom: "out" bottom: "y" top: "loss" })";
}

// Returns a net whose sequences never begin inside a batch. The results therefore depend on the
// carried states of the train net and the test net.
std::string RecurrentNet(const std::string& type) {
  return R"(name: "recurrent"
    layer { name: "in" type: "DummyData" top: "x" top: "y" top: "cont"
            dummy_data_param { shape { dim: 3 dim: 2 dim: 4 } shape { dim: 3 dim: 2 dim: 5 } shape { dim: 3 dim: 2 }
                               data_filler { type: "gaussian" std: 1 } data_filler { type: "uniform" min: -1 max: 1 }
                               data_filler { value: 1 } } }
    layer { name: "r" bottom: "x" bottom: "cont" top: "h" recurrent_param { num_output: 5
            weight_filler { type: "gaussian" std: 0.8 } } type: ")" +
         type + R"(" }
    layer { name: "loss" type: "EuclideanLoss" bottom: "h" bottom: "y" top: "loss" })";
}

// Stops the run at poll number `stop_poll`, resumes it, and compares with a whole run. Each test
// polls twice, and each iteration once.
void ExpectSameBytes(const std::string& rule, int stop_poll, int64_t stop_iteration,
                     const std::string& net = RandomNet()) {
  const std::string solver =
      rule +
      " base_lr: 0.05 lr_policy: 'multistep' gamma: 0.5 stepvalue: 2 stepvalue: 5 max_iter: 8"
      " iter_size: 2 weight_decay: 0.01 clip_gradients: 1 average_loss: 3 display: 1"
      " test_iter: 2 test_interval: 2";
  TrainerCase whole(net, solver), parts(net, solver);
  const TrainResult straight = whole.Make()->Solve();

  TrainerOptions first;
  first.poll = [stop_poll, polls = 0]() mutable {
    return ++polls == stop_poll ? Request::kStop : Request::kNone;
  };
  const TrainResult stopped = parts.Make(first)->Solve();
  ASSERT_TRUE(stopped.stopped);
  ASSERT_EQ(stopped.iteration, stop_iteration);
  TrainerOptions second;
  second.resume = stopped.state_file;
  const TrainResult resumed = parts.Make(second)->Solve();
  EXPECT_EQ(resumed.iteration, 8);
  EXPECT_EQ(resumed.tests.at(0).loss, straight.tests.at(0).loss) << rule;

  EXPECT_EQ(ReadFile(whole.Model(8)), ReadFile(parts.Model(8))) << rule;
}

TEST(Resume, EqualsTheUninterruptedRun) {
  ExpectSameBytes("type: 'SGD' momentum: 0.9", 8, 4);
  ExpectSameBytes("type: 'Adam' momentum: 0.9", 7, 3);
  ExpectSameBytes("type: 'AdaGrad'", 8, 4);
  ExpectSameBytes("type: 'AdamW' momentum: 0.9", 8, 4);
  ExpectSameBytes("type: 'LAMB' momentum: 0.9", 7, 3);
  ExpectSameBytes("type: 'Lion' momentum: 0.9 momentum2: 0.99", 8, 4);
  ExpectSameBytes("type: 'Muon' momentum: 0.9", 7, 3);
  ExpectSameBytes("type: 'SGD' momentum: 0.9 ema_decay: 0.9", 8, 4);
  ExpectSameBytes("type: 'Muon' momentum: 0.9 ema_decay: 0.9 layer_decay: 0.5", 7, 3);
  ExpectSameBytes("momentum: 0.9 larc: true warmup_iter: 4 momentum_policy: 'poly'", 8, 4);
}

TEST(Resume, RepeatsATestThatWasInterrupted) {
  ExpectSameBytes("type: 'SGD'", 6, 2);
  // The snapshot is written while the test runs on the averages.
  ExpectSameBytes("type: 'SGD' momentum: 0.9 ema_decay: 0.9", 6, 2);
}

TEST(Resume, GoesOnInTheMiddleOfSequences) {
  for (const char* type : {"LSTM", "RNN"}) {
    ExpectSameBytes("type: 'SGD'", 8, 4, RecurrentNet(type));
    // This poll is in the middle of a test.
    ExpectSameBytes("type: 'SGD'", 6, 2, RecurrentNet(type));
  }
}

TEST(Resume, KeepsTheCountsOfSegAccuracy) {
  const std::string net = RandomNet() + R"(
    layer { name: "label" type: "DummyData" top: "label"
            dummy_data_param { shape { dim: 5 } data_filler { type: "uniform" min: 0 max: 3 } } }
    layer { name: "seg" type: "SegAccuracy" bottom: "out" bottom: "label" top: "seg"
            seg_accuracy_param { reset: false } })";
  const std::string solver = "base_lr: 0.05 lr_policy: 'fixed' max_iter: 6 snapshot: 2 display: 1";
  const auto shown = [&](TrainerCase* c, const TrainerOptions& options) {
    const LogLines log;
    c->Make(options)->Solve();
    std::vector<std::string> scores;
    std::copy_if(log.lines.begin(), log.lines.end(), std::back_inserter(scores),
                 [](const std::string& line) { return line.find("seg = ") != std::string::npos; });
    return scores;
  };
  TrainerCase c(net, solver);
  const std::vector<std::string> whole = shown(&c, {});
  TrainerOptions options;
  options.resume = c.State(2);
  const std::vector<std::string> resumed = shown(&c, options);
  ASSERT_GT(resumed.size(), 0u);
  EXPECT_EQ(resumed, std::vector<std::string>(whole.end() - static_cast<int64_t>(resumed.size()),
                                              whole.end()));
}

TEST(Resume, SaysWhereASequenceIsLost) {
  TrainerCase c(RecurrentNet("LSTM"), "base_lr: 0.05 lr_policy: 'fixed' max_iter: 4 snapshot: 2");
  c.Make()->Solve();
  SolverState state;
  ASSERT_TRUE(state.ParseFromString(ReadFile(c.State(2))));
  TrainerOptions options;
  options.resume = c.State(2);
  {
    const LogLines log;
    c.Make(options);
    EXPECT_EQ(log.Count("starts with a zero state"), 0);
  }
  state.mutable_run_state()->mutable_layer(0)->mutable_blobs(0)->mutable_shape()->set_dim(1, 1);
  state.mutable_run_state()->clear_summed();
  state.clear_crc();
  WriteFileAtomically(c.State(2), state.SerializeAsString());
  const LogLines log;
  c.Make(options);
  EXPECT_EQ(log.Count("layer 'r' starts with a zero state: the snapshot has no state of rank 0"),
            1);
}

// Returns the rates of a plateau run, either in one piece or stopped after `stop` iterations.
std::vector<double> PlateauRates(int64_t stop, const char* format, std::string* weights) {
  TrainerCase c(RandomNet(),
                "base_lr: 0.05 lr_policy: 'plateau' gamma: 0.5 plateau_winsize: 2 "
                "plateau_winsize: 3 plateau_winsize: 2 average_loss: 3 max_iter: 16 "
                "momentum: 0.9 snapshot_format: " +
                    std::string(format));
  std::vector<double> rates;
  TrainerOptions options;
  options.on_iteration = [&](const Progress& p) { rates.push_back(p.rate); };
  options.poll = [&] {
    return static_cast<int64_t>(rates.size()) == stop ? Request::kStop : Request::kNone;
  };
  TrainResult result = c.Make(options)->Solve();
  if (result.stopped) {
    options.poll = nullptr;
    options.resume = result.state_file;
    result = c.Make(options)->Solve();
  }
  *weights = ReadFile(result.model_file);
  return rates;
}

TEST(Resume, KeepsWhatAPlateauRemembers) {
  for (const char* format : {"BINARYPROTO", "HDF5"}) {
    std::string whole, parts;
    const std::vector<double> rates = PlateauRates(-1, format, &whole);
    ASSERT_EQ(rates.size(), 16u);
    ASSERT_LT(rates.back(), rates.front()) << "no step, so nothing to remember";
    for (int64_t stop : {1, 4, 5, 9}) {
      EXPECT_EQ(PlateauRates(stop, format, &parts), rates) << "stopped at " << stop;
      EXPECT_EQ(parts, whole) << "stopped at " << stop;
    }
  }
}

// A run over two epochs of 50 shuffled and mirrored digits in batches of 8 has 13 iterations. Each
// test is a whole pass over 20 digits.
const char* DigitsNet() {
  return R"(name: "digits"
    layer { name: "data" type: "Data" top: "x" top: "label" include { phase: TRAIN }
            transform_param { mirror: true scale: 0.00390625 }
            data_param { backend: DIGITS size: 50 batch_size: 8 shuffle: true } }
    layer { name: "data" type: "Data" top: "x" top: "label" include { phase: TEST }
            transform_param { scale: 0.00390625 } data_param { backend: DIGITS size: 20 batch_size: 8 } }
    layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip"
            inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" })";
}

// Returns the loss of each iteration of one Solve.
std::vector<double> Losses(TrainerCase* c, TrainerOptions options, TrainResult* result) {
  std::vector<double> losses;
  options.on_iteration = [&](const Progress& p) { losses.push_back(p.loss); };
  *result = c->Make(options)->Solve();
  return losses;
}

constexpr const char* kEpochs =
    "base_lr: 0.1 lr_policy: 'fixed' momentum: 0.9 max_epoch: 2 test_epoch: 1 snapshot: 5";

TEST(Resume, GoesOnWhereTheDataStood) {
  TrainerCase c(DigitsNet(), kEpochs);
  TrainResult whole, resumed;
  const std::vector<double> all = Losses(&c, {}, &whole);
  const std::string model = ReadFile(whole.model_file);
  ASSERT_EQ(whole.iteration, 13);
  TrainerOptions options;
  options.resume = c.State(5);
  const std::vector<double> rest = Losses(&c, options, &resumed);
  EXPECT_EQ(rest, std::vector<double>(all.begin() + 5, all.end()));
  EXPECT_EQ(ReadFile(resumed.model_file), model);
  ASSERT_EQ(resumed.tests.size(), 1u);
  EXPECT_EQ(resumed.tests[0].batches, 3);
}

TEST(Resume, EndsAfterTheSameSamplesWithAnotherBatch) {
  TrainerCase c(DigitsNet(), "base_lr: 0.1 lr_policy: 'fixed' snapshot: 5");
  c.Make({}, "max_epoch: 2")->Solve();
  TrainerOptions options;
  options.resume = c.State(5);
  options.net.batch = 16;
  // The first 5 iterations have seen 40 of 100 samples, so 60 are left.
  EXPECT_EQ(c.Make(options, "max_epoch: 2")->parts().run.schedule.max_iter, 5 + 4);
  options.net.batch = 5;
  const TrainResult result = c.Make(options, "max_epoch: 2")->Solve();
  EXPECT_EQ(result.iteration, 5 + 12);
  // The samples of both batch sizes count.
  options.resume = result.state_file;
  options.net.batch = 8;
  EXPECT_EQ(c.Make(options, "max_epoch: 3")->parts().run.schedule.max_iter, 17 + 7);
}

TEST(Resume, ReportsDataThatHaveChanged) {
  std::string more = DigitsNet();
  TrainerCase c(more, kEpochs);
  c.Make()->Solve();
  TrainerOptions options;
  options.resume = c.State(5);
  {
    const LogLines log;
    c.Make(options);
    EXPECT_EQ(log.Count("when the snapshot was written"), 0);
  }
  more.replace(more.find("size: 50"), 8, "size: 60");
  c.SetNet(more);
  const LogLines log;
  c.Make(options);
  EXPECT_EQ(log.Count("the data of layer 'data' have 60 records, but had 50 when the snapshot was "
                      "written: the resumed run continues at sample 40 of other data"),
            1);
}

TEST(Resume, RefusesASnapshotWithoutTheWeightsOfALayer) {
  TrainerCase c(DigitsNet(), kEpochs);
  c.Make()->Solve();
  TrainerOptions options;
  options.resume = c.State(5);
  std::string renamed = DigitsNet();
  renamed.replace(renamed.find("name: \"ip\""), 10, "name: \"fc\"");
  c.SetNet(renamed);
  const std::string text = Mistake<FileError>([&] { c.Make(options); });
  EXPECT_NE(text.find("has no weights of layer 'fc' of the net"), std::string::npos) << text;
  options.resume.clear();
  options.weights = {c.Model(5)};
  EXPECT_EQ(c.Make(options)->Solve().iteration, 13);
}

// Removes Doppio's part of a state, so that it is as BVLC Caffe writes it.
void MakeCaffes(const std::string& path) {
  SolverState state;
  ASSERT_TRUE(state.ParseFromString(ReadFile(path)));
  state.clear_run_state();
  state.clear_crc();
  WriteFileAtomically(path, state.SerializeAsString());
}

TEST(Resume, CountsBatchesWhenTheStateIsCaffes) {
  TrainerCase c(DigitsNet(), kEpochs);
  TrainResult whole, resumed;
  const std::vector<double> all = Losses(&c, {}, &whole);
  MakeCaffes(c.State(5));
  TrainerOptions options;
  options.resume = c.State(5);
  EXPECT_EQ(Losses(&c, options, &resumed), std::vector<double>(all.begin() + 5, all.end()));
}

TEST(Resume, GoesOnInTheMiddleOfASequenceOfTheData) {
  // A batch of 8 digits is 8 steps of one sequence, because cont is always 1.
  const std::string net = R"(
    layer { name: "data" type: "Data" top: "x" top: "label" data_param { backend: DIGITS size: 50 batch_size: 8 } }
    layer { name: "cont" type: "DummyData" top: "cont"
            dummy_data_param { shape { dim: 8 dim: 1 } data_filler { value: 1 } } }
    layer { name: "r" type: "RNN" bottom: "x" bottom: "cont" top: "h"
            recurrent_param { num_output: 10 weight_filler { type: "gaussian" std: 0.01 } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "h" bottom: "label" top: "loss" softmax_param { axis: 2 } })";
  TrainerCase c(net, "base_lr: 0 lr_policy: 'fixed' max_iter: 4 snapshot: 2");
  TrainResult whole, resumed;
  const std::vector<double> all = Losses(&c, {}, &whole);
  TrainerOptions options;
  options.resume = c.State(2);
  EXPECT_EQ(Losses(&c, options, &resumed), std::vector<double>(all.begin() + 2, all.end()));
}

// Two sources of the same digits. The loss is 0 as long as their samples are the same.
std::string PairsNet(const std::string& second = "pair") {
  const std::string data = "type: 'Data' data_param { backend: DIGITS size: 50 batch_size: 8 ";
  return "layer { name: 'data' top: 'x' " + data + "shuffle: true } } layer { name: '" + second +
         "' top: 'y' " + data + R"(} }
    layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip" inner_product_param { num_output: 2 } }
    layer { name: "out" type: "Reduction" bottom: "ip" top: "out" loss_weight: 1 }
    layer { name: "apart" type: "EuclideanLoss" bottom: "x" bottom: "y" top: "apart" })";
}

// Changes what Doppio adds to the state, and removes its checksum.
void ChangeState(const std::string& path, const std::function<void(RunState*)>& change) {
  SolverState state;
  ASSERT_TRUE(state.ParseFromString(ReadFile(path)));
  change(state.mutable_run_state());
  state.mutable_run_state()->clear_summed();
  state.clear_crc();
  WriteFileAtomically(path, state.SerializeAsString());
}

// Trains on from the state of iteration 2. Returns how often the pairs were wrong.
int WrongPairs(TrainerCase* c, const LogLines& log) {
  TrainerOptions options;
  options.resume = c->State(2);
  c->Make(options)->Solve();
  return log.Count("apart = ") - log.Count("apart = 0 ");
}

TEST(Resume, KeepsTheSourcesOfAGroupTogether) {
  TrainerCase c(PairsNet(), "base_lr: 0 lr_policy: 'fixed' max_iter: 6 snapshot: 2 display: 1");
  c.Make()->Solve();
  const std::string state = ReadFile(c.State(2));
  {
    const LogLines log;
    EXPECT_EQ(WrongPairs(&c, log), 0);
    EXPECT_EQ(log.Count("both continue at sample"), 0);
    EXPECT_EQ(log.Count("draw their order and random changes together, but did not"), 0);
  }
  // A state of an earlier version, with a source that had started over.
  WriteFileAtomically(c.State(2), state);
  ChangeState(c.State(2), [](RunState* run) {
    for (auto& position : *run->mutable_data()) {
      position.clear_group();
      if (position.layer() == "pair") position.set_next_sample(0);
    }
  });
  {
    const LogLines log;
    EXPECT_EQ(WrongPairs(&c, log), 0);
    EXPECT_EQ(log.Count("layer 'pair' was at sample 0 when the snapshot was written, but layer "
                        "'data', which belongs to the same samples, at sample 16: both continue "
                        "at sample 16"),
              1);
    EXPECT_EQ(log.Count("the sources of the group of layer 'data' draw their order and random "
                        "changes together, but did not when the snapshot was written"),
              1);
  }
  // A source with another name than in the state.
  WriteFileAtomically(c.State(2), state);
  c.SetNet(PairsNet("renamed"));
  const LogLines log;
  EXPECT_EQ(WrongPairs(&c, log), 0);
}

TEST(Resume, KeepsTheSourcesOfAGroupTogetherWithCaffesState) {
  TrainerCase c(PairsNet(), "base_lr: 0 lr_policy: 'fixed' max_iter: 6 snapshot: 2 display: 1");
  c.Make()->Solve();
  MakeCaffes(c.State(2));
  const LogLines log;
  EXPECT_EQ(WrongPairs(&c, log), 0);
}

// HDF5Data starts over with it, as the results of BVLC Caffe demand (conformance_test).
TEST(Resume, ContinuesInDataThatDoesNotStartOver) {
  // With learning rate 0, each batch has its own loss.
  TrainerCase c(DigitsNet(), "base_lr: 0 lr_policy: 'fixed' max_iter: 4 snapshot: 2");
  TrainResult whole, resumed;
  const std::vector<double> all = Losses(&c, {}, &whole);
  TrainerOptions options;
  options.resume = c.State(2);
  options.start_over = true;
  EXPECT_EQ(Losses(&c, options, &resumed), std::vector<double>(all.begin() + 2, all.end()));
}

TEST(Resume, ShowsTheLossesOfTheUninterruptedRun) {
  const std::string solver =
      "base_lr: 0.5 lr_policy: 'fixed' max_iter: 4 average_loss: 3 display: 1";
  TrainerCase c(SquareNet(), solver);
  std::vector<double> whole, parts;
  TrainerOptions options;
  options.on_iteration = [&](const Progress& p) { whole.push_back(p.smoothed_loss); };
  c.Make(options)->Solve();
  options.on_iteration = [&](const Progress& p) { parts.push_back(p.smoothed_loss); };
  options.poll = [polls = 0]() mutable { return ++polls == 2 ? Request::kStop : Request::kNone; };
  const TrainResult stopped = c.Make(options)->Solve();
  options.poll = nullptr;
  options.resume = stopped.state_file;
  c.Make(options)->Solve();
  EXPECT_EQ(whole, parts);
}

TEST(Resume, KeepsADrawnSeed) {
  TrainerCase c(SquareNet(), "base_lr: 0.5 lr_policy: 'fixed' max_iter: 1");
  TrainerOptions options;
  options.seed = 123456789012ull;
  const std::string state = c.Make(options)->Solve().state_file;
  SolverParameter param;
  SolverSpec spec = LoadSolver(c.Prefix().substr(0, c.Prefix().size() - 1) + "solver.prototxt");
  spec.param.set_random_seed(-1);
  auto device = MakeCpuDevice();
  TrainerOptions resumed;
  resumed.plan.device = device.get();
  resumed.resume = state;
  EXPECT_EQ(Trainer(spec, resumed).parts().run.seed, 123456789012ull);
}

TEST(Resume, RefusesTheStateOfAnotherRule) {
  TrainerCase c(SquareNet(), "base_lr: 0.5 lr_policy: 'fixed'");
  TrainerOptions options;
  options.resume = c.Make({}, "max_iter: 1")->Solve().state_file;
  for (const std::string type : {"Nesterov", "RMSProp", "Adam"}) {
    const std::string text =
        Mistake<Error>([&] { c.Make(options, "max_iter: 2 type: '" + type + "'"); });
    EXPECT_NE(text.find("the solver's type is " + type + ", but '" + options.resume +
                        "' is the state of a training with SGD"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("--weights=" + c.Model(1)), std::string::npos) << text;
  }
  EXPECT_EQ(c.Make(options, "type: 'SGD' max_iter: 2")->Solve().iteration, 2);
  // A state of Caffe names no rule, but has a number of histories.
  MakeCaffes(options.resume);
  const std::string text = Mistake<FileError>([&] { c.Make(options, "max_iter: 2 type: 'Adam'"); });
  EXPECT_NE(text.find("history blobs, but Adam keeps 2"), std::string::npos) << text;
  EXPECT_NE(text.find("start a new training from its weights with --weights"), std::string::npos)
      << text;
}

// Such a state does not name its rule either.
TEST(Resume, RefusesNegativeSumsOfSquares) {
  // The weight goes from 1 to -2, so that the second history of SGD is negative.
  TrainerCase c(SquareNet(), "base_lr: 3 lr_policy: 'fixed'");
  TrainerOptions options;
  options.resume = c.Make({}, "max_iter: 2")->Solve().state_file;
  MakeCaffes(options.resume);
  for (const std::string type : {"AdaGrad", "RMSProp"}) {
    const std::string text =
        Mistake<FileError>([&] { c.Make(options, "max_iter: 3 type: '" + type + "'"); });
    EXPECT_NE(text.find("history blob 0 has negative values, but that of " + type +
                        " holds sums of squares, so this is the state of another solver type"),
              std::string::npos)
        << text;
  }
  EXPECT_EQ(c.Make(options, "max_iter: 3 type: 'Nesterov'")->Solve().iteration, 3);
}

TEST(Resume, CountsTheStepsOfOtherStepvalues) {
  const std::string rate = "base_lr: 1 lr_policy: 'multistep' gamma: 0.5 ";
  for (const bool caffes : {false, true}) {
    TrainerCase c(SquareNet(), rate);
    const std::string state = c.Make({}, "stepvalue: 1 max_iter: 2")->Solve().state_file;
    if (caffes) MakeCaffes(state);
    TrainerOptions options;
    options.resume = state;
    std::vector<double> rates;
    options.on_iteration = [&](const Progress& p) { rates.push_back(p.rate); };
    const LogLines log;
    c.Make(options, "stepvalue: 4 max_iter: 6")->Solve();
    EXPECT_EQ(rates, (std::vector<double>{1, 1, 0.5, 0.5}));
    EXPECT_EQ(log.Count("there are 0 steps before iteration 2, and these count"), 1);
    rates.clear();
    c.Make(options, "stepvalue: 1 max_iter: 4")->Solve();
    EXPECT_EQ(rates, (std::vector<double>{0.5, 0.5}));
    EXPECT_EQ(log.Count("and these count"), 1) << "the steps are those of the state";
  }
}

TEST(Resume, TestsAtTheEndsOfEpochsWithAnotherBatch) {
  // 50 digits are 7 batches of 8; the snapshot of the first epoch has seen 56 samples.
  TrainerCase c(DigitsNet(),
                "base_lr: 0.1 lr_policy: 'fixed' test_epoch: 1 snapshot_epoch: 1 "
                "test_initialization: false");
  c.Make({}, "max_epoch: 1")->Solve();
  TrainerOptions options;
  options.resume = c.State(7);
  options.net.batch = 2;
  std::vector<int64_t> tests;
  options.on_test = [&](const TestScores& scores) { tests.push_back(scores.iteration); };
  c.Make(options, "max_epoch: 3")->Solve();
  // The tests after the first epoch come again, because the state is that before them.
  EXPECT_EQ(tests, (std::vector<int64_t>{7, 7 + 22, 7 + 47}));
}

}  // namespace
}  // namespace doppio
