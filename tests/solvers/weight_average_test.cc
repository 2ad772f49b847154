// Tests averages of the weights (ema_decay) against the formula, and their places: tests, files of
// weights, states.
#include "solvers/update/weight_average.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/net/store/snapshot.h"
#include "tests/solvers/param_store_case.h"
#include "tests/solvers/trainer_case.h"
#include "tests/solvers/update_variants.h"
#include "tests/testing/mistake.h"
#include "tests/testing/test_gpu.h"

namespace doppio {
namespace {

constexpr const char* kSolver =
    " base_lr: 0.002 lr_policy: 'fixed' momentum: 0.9 weight_decay: 0.01 max_iter: 6 snapshot: 3 ";

using Values = std::vector<std::vector<float>>;

Values ValuesOf(const ParamStore& store) {
  Values values;
  for (const int i : store.learnable())
    values.push_back(ReadTensor(store.params()[i].value, store.device()).data);
  return values;
}

// The decay of update t = 1, 2, ...
double DecayOf(double decay, int64_t t) {
  return std::min(decay, static_cast<double>(1 + t) / static_cast<double>(10 + t));
}

// Returns the blobs of a file of weights, in its order, each once.
Values BlobsOf(const std::string& path) {
  Values values;
  for (const LayerBlobs& layer : ReadWeights(path).layers) {
    if (layer.name == "ip3") continue;  // shares the blobs of ip2
    for (const PlainBlob& blob : layer.blobs) values.push_back(blob.data);
  }
  return values;
}

void ExpectNear(const Values& expected, const Values& values, const std::string& what) {
  ASSERT_EQ(expected.size(), values.size()) << what;
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(expected[i].size(), values[i].size()) << what;
    for (size_t k = 0; k < expected[i].size(); ++k) {
      const float allowed = 1e-5f * (1 + std::fabs(expected[i][k]));
      ASSERT_NEAR(expected[i][k], values[i][k], allowed) << what << ", blob " << i;
    }
  }
}

// The net has blocked and padded weights, statistics of BatchNorm, a frozen layer, and a layer
// without a gradient. The averages are those of the weights after each iteration.
TEST_ON_DEVICES(WeightAverage, FollowsTheFormulaInEveryWayToUpdate) {
  for (const std::string more : {"", "snapshot_diff: true", "iter_size: 2", "clip_gradients: 0.1",
                                 "type: 'AdamW'", "iter_size: 2 type: 'LAMB'"}) {
    TrainerCase c(MixedNet(), kSolver + std::string("ema_decay: 0.4 "), TestDevice());
    Trainer* watched = nullptr;
    Values average;
    TrainerOptions options;
    options.on_iteration = [&](const Progress& p) {
      const Values now = ValuesOf(watched->params());
      const double decay = DecayOf(0.4f, p.iteration);
      for (size_t i = 0; i < now.size(); ++i) {
        for (size_t k = 0; k < now[i].size(); ++k) {
          average[i][k] = static_cast<float>(decay * static_cast<double>(average[i][k]) +
                                             (1 - decay) * static_cast<double>(now[i][k]));
        }
      }
    };
    const auto trainer = c.Make(options, more);
    watched = trainer.get();
    average = ValuesOf(trainer->params());
    trainer->Solve();
    const Values weights = ValuesOf(trainer->params());
    ExpectNear(average, BlobsOf(c.Model(6)), more);
    const SolverSnapshot state = ReadSnapshot(c.State(6));
    EXPECT_TRUE(state.run_state.averaged());
    ASSERT_GE(state.history.size(), weights.size());
    for (size_t i = 0; i < weights.size(); ++i) {
      EXPECT_EQ(state.history[state.history.size() - weights.size() + i].data, weights[i])
          << more << ", blob " << i;
    }
  }
}

TEST(WeightAverage, WarmsUpAsInTensorFlow) {
  // The gradient of w is w, so w = 0.5^t; the decays are 2/11, 3/12, and then 0.25.
  TrainerCase c(SquareNet(), "base_lr: 0.5 lr_policy: 'fixed' ema_decay: 0.25 max_iter: 3");
  c.Make()->Solve();
  const double first = 2. / 11 + 9. / 11 * 0.5, second = first / 4 + 0.75 * 0.25,
               third = second / 4 + 0.75 * 0.125;
  EXPECT_NEAR(BlobsOf(c.Model(3))[0][0], third, 1e-6);
}

TEST(WeightAverage, ChangesNoWeightOfTheTraining) {
  for (const std::string more : {"", "test_iter: 2 test_interval: 1 ema_test: true"}) {
    TrainerCase with(MixedNet(), kSolver + more), without(MixedNet(), kSolver + more);
    const auto a = with.Make({}, "ema_decay: 0.9"), b = without.Make();
    a->Solve();
    b->Solve();
    EXPECT_EQ(ValuesOf(a->params()), ValuesOf(b->params())) << more;
    EXPECT_NE(ReadFile(with.Model(6)), ReadFile(without.Model(6)));
  }
}

TEST(WeightAverage, IsWhatTestsScore) {
  const std::string solver =
      "base_lr: 0.5 lr_policy: 'fixed' ema_decay: 0.9 max_iter: 2 test_iter: 1 test_interval: 2 "
      "test_initialization: false ";
  TrainerCase c(SquareNet(), solver);
  const double first = 2. / 11 + 9. / 11 * 0.5, average = first / 4 + 0.75 * 0.25;
  {
    const LogLines log;
    const TrainResult result = c.Make()->Solve();
    EXPECT_NEAR(result.tests.at(0).loss, average * average / 2, 1e-6);
    EXPECT_TRUE(result.tests.at(0).averaged);
    EXPECT_EQ(log.Count("Iteration 2, Testing the averaged weights (ema_decay)"), 1);
  }
  const LogLines log;
  const TrainResult result = c.Make({}, "ema_test: false")->Solve();
  EXPECT_NEAR(result.tests.at(0).loss, 0.25 * 0.25 / 2, 1e-6);
  EXPECT_FALSE(result.tests.at(0).averaged);
  EXPECT_EQ(log.Count("averaged weights"), 0);
  EXPECT_NEAR(BlobsOf(c.Model(2))[0][0], average, 1e-6);  // whatever the tests score
}

// A test that fails leaves the weights of the training, which a caller may go on with.
TEST(WeightAverage, LeavesTheWeightsAfterATestThatFails) {
  TrainerCase c(SquareNet(),
                "base_lr: 0.5 lr_policy: 'fixed' ema_decay: 0.9 max_iter: 4 test_iter: 1 "
                "test_interval: 1 test_initialization: false");
  TrainerOptions options;
  options.on_test = [](const TestScores&) { throw FileError("a test that fails"); };
  const auto trainer = c.Make(options);
  EXPECT_THROW(trainer->Solve(), FileError);
  EXPECT_FALSE(trainer->update().average().swapped());
  EXPECT_FLOAT_EQ(FirstWeight(trainer.get()), 0.5f);
}

TEST(WeightAverage, BeginsWithWeightsThatAScriptHasSet) {
  TrainerCase c(SquareNet(), "base_lr: 0.5 lr_policy: 'fixed' ema_decay: 0.9 max_iter: 1");
  const auto trainer = c.Make();
  WriteTensor({8}, trainer->params().params()[0].value, trainer->params().device());
  trainer->Solve();
  EXPECT_NEAR(BlobsOf(c.Model(1))[0][0], 2. / 11 * 8 + 9. / 11 * 4, 1e-5);
}

TEST(WeightAverage, LeavesOutUpdatesThatAreSkipped) {
  TrainerCase c(SquareNet(), "base_lr: 0.5 lr_policy: 'fixed' ema_decay: 0.9 max_iter: 3");
  TrainerOptions options;
  options.loss_scaling = DynamicLossScaling();
  Trainer* trained = nullptr;
  options.before_update = [&] {
    if (trained->iteration() == 1) trained->params().params()[0].grad.data<float>()[0] = INFINITY;
  };
  const auto trainer = c.Make(options);
  trained = trainer.get();
  EXPECT_EQ(trainer->Solve().updates_skipped, 1);
  // Iteration 2 is update t = 3, after which w is 0.25.
  const double first = 2. / 11 + 9. / 11 * 0.5, second = first * 4. / 13 + 9. / 13 * 0.25;
  EXPECT_NEAR(BlobsOf(c.Model(3))[0][0], second, 1e-6);
}

// resume_test.cc has a resume in the middle of a test.
TEST(WeightAverage, ResumesToTheBit) {
  for (const char* format : {"BINARYPROTO", "HDF5"}) {
    for (const DType stored : {DType::kFloat32, DType::kBFloat16}) {
      const std::string solver = kSolver +
                                 std::string(
                                     "ema_decay: 0.9 type: 'Adam' test_iter: 1 "
                                     "test_interval: 2 snapshot_format: ") +
                                 format;
      const std::string end = std::string(format) == "HDF5" ? ".h5" : "";
      TrainerCase c(MixedNet(), solver);
      TrainerOptions options;
      options.net.stored = stored;
      c.Make(options)->Solve();
      const Values whole = BlobsOf(c.Model(6) + end);
      const std::vector<PlainBlob> history = ReadSnapshot(c.State(6) + end).history;
      options.resume = c.State(3) + end;
      const auto resumed = c.Make(options);
      resumed->Solve();
      EXPECT_EQ(BlobsOf(c.Model(6) + end), whole) << format << ", " << Name(stored);
      const std::vector<PlainBlob> again = ReadSnapshot(c.State(6) + end).history;
      ASSERT_EQ(again.size(), history.size());
      for (size_t i = 0; i < again.size(); ++i) EXPECT_EQ(again[i].data, history[i].data) << i;
    }
  }
}

TEST(WeightAverage, BeginsOrEndsAtAResume) {
  TrainerCase plain(MixedNet(), kSolver), averaged(MixedNet(), kSolver);
  const auto whole = plain.Make();
  whole->Solve();
  averaged.Make({}, "ema_decay: 0.9")->Solve();
  {
    // From a state without averages, they begin with its weights.
    const LogLines log;
    TrainerOptions options;
    options.resume = plain.State(6);
    const auto trainer = plain.Make(options, "ema_decay: 0.9");
    EXPECT_EQ(log.Count("has no averaged weights; the averages (ema_decay) start from its weights"),
              1);
    trainer->Snapshot();
    trainer->WaitForSnapshot();
    EXPECT_EQ(BlobsOf(plain.Model(6)), ValuesOf(whole->params()));
  }
  // A solver without averages goes on with the weights of the training.
  const LogLines log;
  TrainerOptions options;
  options.resume = averaged.State(3);
  const auto trainer = averaged.Make(options);
  EXPECT_EQ(log.Count("has averaged weights, which are dropped"), 1);
  trainer->Solve();
  EXPECT_EQ(ValuesOf(trainer->params()), ValuesOf(whole->params()));
  EXPECT_FALSE(ReadSnapshot(averaged.State(6)).run_state.averaged());
}

TEST(WeightAverage, RefusesAStateWithTooFewBlobs) {
  TrainerCase c(SquareNet(), "base_lr: 0.5 lr_policy: 'fixed' ema_decay: 0.9 max_iter: 1");
  c.Make()->Solve();
  SolverState state;
  ASSERT_TRUE(state.ParseFromString(ReadFile(c.State(1))));
  state.mutable_history()->RemoveLast();
  state.mutable_run_state()->clear_summed();
  state.clear_crc();
  WriteFileAtomically(c.State(1), state.SerializeAsString());
  TrainerOptions options;
  options.resume = c.State(1);
  EXPECT_NE(Mistake<FileError>([&] { c.Make(options); }).find("holds 1 history blobs, but SGD"),
            std::string::npos);
}

TEST(WeightAverage, HasItsBytesInThePlan) {
  TrainerCase c(MixedNet(), kSolver);
  const auto plain = c.Make(), averaged = c.Make({}, "ema_decay: 0.9");
  const int64_t slot = plain->train_net().plan().memory.history;
  EXPECT_EQ(averaged->train_net().plan().memory.history, 2 * slot);
  EXPECT_EQ(averaged->update().history().largest_bytes(), 2 * slot);
}

TEST(WeightAverage, NamesADecayThatIsNoShare) {
  for (const char* decay : {"1", "-0.1"}) {
    TrainerCase c(SquareNet(), std::string("base_lr: 1 lr_policy: 'fixed' max_iter: 1 ") +
                                   "ema_decay: " + decay);
    const std::string text = Mistake([&] { c.Make(); });
    EXPECT_NE(
        text.find(std::string("ema_decay is ") + decay + "; it must be at least 0 and below 1"),
        std::string::npos)
        << text;
  }
}

// The host has no decisions of a device.
TEST_ON_GPU(WeightAverage, LeavesOutUpdatesThatTheDeviceSkips) {
  ParamStoreCase c({{Shape{100}, 1}}, DType::kFloat32, TestGpu());
  Update update = MakeUpdate("ema_decay: 0.5", &c.store());
  update.average().Begin();
  const auto average = [&] { return ReadHistory(update, c.store().device()).back().data[41]; };
  c.SetGradient(0, INFINITY);
  update.RunDecided(0.5, 0, 1, {true, true, false});
  EXPECT_FALSE(update.ReadDecision());
  EXPECT_EQ(average(), 1);
  c.SetGradient(0, 1);
  update.RunDecided(0.5, 0, 1, {true, true, false});
  EXPECT_TRUE(update.ReadDecision());
  EXPECT_NEAR(average(), 2. / 11 + 9. / 11 * 0.5, 1e-6);
  update.average().Swap();
  EXPECT_NEAR(c.Value(0, 41), 2. / 11 + 9. / 11 * 0.5, 1e-6);
  EXPECT_EQ(average(), 0.5f);
}

}  // namespace
}  // namespace doppio
