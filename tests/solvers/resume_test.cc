// Tests that a run that stops and resumes ends with the same bytes as an uninterrupted run.
#include <gtest/gtest.h>

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
  ExpectSameBytes("momentum: 0.9 larc: true warmup_iter: 4 momentum_policy: 'poly'", 8, 4);
}

TEST(Resume, RepeatsATestThatWasInterrupted) { ExpectSameBytes("type: 'SGD'", 6, 2); }

TEST(Resume, GoesOnInTheMiddleOfSequences) {
  for (const char* type : {"LSTM", "RNN"}) {
    ExpectSameBytes("type: 'SGD'", 8, 4, RecurrentNet(type));
    // This poll is in the middle of a test.
    ExpectSameBytes("type: 'SGD'", 6, 2, RecurrentNet(type));
  }
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
    EXPECT_EQ(log.Count("starts a new sequence"), 0);
  }
  state.mutable_run_state()->mutable_layer(0)->mutable_blobs(0)->mutable_shape()->set_dim(1, 1);
  state.mutable_run_state()->clear_summed();
  state.clear_crc();
  WriteFileAtomically(c.State(2), state.SerializeAsString());
  const LogLines log;
  c.Make(options);
  EXPECT_EQ(log.Count("layer 'r' starts a new sequence: the snapshot has no state of rank 0"), 1);
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
  EXPECT_EQ(c.Make(options, "max_epoch: 2")->schedule().max_iter, 5 + 4);
  options.net.batch = 5;
  const TrainResult result = c.Make(options, "max_epoch: 2")->Solve();
  EXPECT_EQ(result.iteration, 5 + 12);
  // The samples of both batch sizes count.
  options.resume = result.state_file;
  options.net.batch = 8;
  EXPECT_EQ(c.Make(options, "max_epoch: 3")->schedule().max_iter, 17 + 7);
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

TEST(Resume, CountsBatchesWhenTheStateIsCaffes) {
  TrainerCase c(DigitsNet(), kEpochs);
  TrainResult whole, resumed;
  const std::vector<double> all = Losses(&c, {}, &whole);
  SolverState state;
  ASSERT_TRUE(state.ParseFromString(ReadFile(c.State(5))));
  state.clear_run_state();
  state.clear_crc();
  WriteFileAtomically(c.State(5), state.SerializeAsString());
  TrainerOptions options;
  options.resume = c.State(5);
  EXPECT_EQ(Losses(&c, options, &resumed), std::vector<double>(all.begin() + 5, all.end()));
}

TEST(Resume, StartsTheDataOverWhenTold) {
  // With learning rate 0, each batch has its own loss.
  TrainerCase c(DigitsNet(), "base_lr: 0 lr_policy: 'fixed' max_iter: 4 snapshot: 2");
  TrainResult whole, resumed;
  const std::vector<double> all = Losses(&c, {}, &whole);
  TrainerOptions options;
  options.resume = c.State(2);
  options.restart_type = "Data";
  EXPECT_EQ(Losses(&c, options, &resumed), std::vector<double>(all.begin(), all.begin() + 2));
}

TEST(Resume, StartsNewSequencesWithTheData) {
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
  options.restart_type = "Data";
  EXPECT_EQ(Losses(&c, options, &resumed), std::vector<double>(all.begin(), all.begin() + 2));
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
  EXPECT_EQ(Trainer(spec, resumed).seed(), 123456789012ull);
}

TEST(Resume, RefusesTheStateOfAnotherRule) {
  TrainerCase c(SquareNet(), "base_lr: 0.5 lr_policy: 'fixed' max_iter: 1");
  TrainerOptions options;
  options.resume = c.Make()->Solve().state_file;
  const std::string text = Mistake<FileError>([&] { c.Make(options, "type: 'Adam'"); });
  EXPECT_NE(text.find("history blobs, but Adam keeps 2"), std::string::npos) << text;
}

}  // namespace
}  // namespace doppio
