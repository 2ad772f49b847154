// Tests that ranks that divide the update train to the bits of ranks that all update everything.
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/parallel/replicas_case.h"
#include "tests/parallel/replicas_nets.h"
#include "tests/solvers/update_variants.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

TrainerOptions Sharded(TrainerOptions options = {}) {
  options.shard_update = true;
  options.check_replicas = 1;
  return options;
}

// Compares a training by `ranks` ranks with and without shares: weights, loss, snapshot. Returns
// the results with shares.
Trained ExpectSameBits(const ReplicasCase& c, int ranks, int64_t snapshot,
                       const ReducerOptions& reducer = {}, const TrainerOptions& options = {}) {
  const Trained whole = c.Together(ranks, 4, reducer, options);
  const std::string state = ReadFile(c.State(snapshot)), model = ReadFile(c.Model(snapshot));
  Trained shared = c.Together(ranks, 4, reducer, Sharded(options));
  EXPECT_EQ(whole.loss, shared.loss);
  for (const auto& [name, values] : whole.weights)
    EXPECT_EQ(values, shared.weights.at(name)) << name;
  EXPECT_TRUE(state == ReadFile(c.State(snapshot))) << "the solver states differ";
  EXPECT_TRUE(model == ReadFile(c.Model(snapshot))) << "the weight files differ";
  return shared;
}

constexpr const char* kSnapshot = "snapshot: 3 ";

TEST(ShardedUpdate, GivesTheSameBitsWithEachRule) {
  for (const std::string& rule : RulesAndVariants()) {
    if (rule.find("Muon") != std::string::npos) continue;  // refused
    for (const std::string& net : {MixedNet(), LeNet()}) {
      const ReplicasCase c(net, rule + " base_lr: 0.01 lr_policy: 'inv' gamma: 0.1 power: 0.5 " +
                                    "weight_decay: 0.01 max_iter: 4 snapshot_after_train: false " +
                                    kSnapshot);
      for (int ranks : {2, 4}) {
        SCOPED_TRACE(rule + ", " + std::to_string(ranks) + " ranks");
        ExpectSameBits(c, ranks, 3);
      }
    }
  }
}

TEST(ShardedUpdate, GivesTheSameBitsWithWhatElseDependsOnGradients) {
  for (const std::string more : {"iter_size: 2", "clip_gradients: 0.5",
                                 "clip_gradients: 0.5 iter_size: 2", "debug_info: true"}) {
    SCOPED_TRACE(more);
    const ReplicasCase c(LeNet(), SolverText(4, kSnapshot + more));
    ExpectSameBits(c, 3, 3);
  }
  const ReplicasCase plateau(LeNet(),
                             "base_lr: 0.01 lr_policy: 'plateau' gamma: 0.5 plateau_winsize: 2 "
                             "max_iter: 4 snapshot: 3 snapshot_after_train: false");
  ExpectSameBits(plateau, 3, 3);
}

TEST(ShardedUpdate, GivesTheSameBitsWithAveragedWeights) {
  for (const std::string more : {"", "type: 'AdamW' iter_size: 2 ", "clip_gradients: 0.5 ",
                                 "test_iter: 1 test_interval: 2 snapshot_format: BINARYPROTO "}) {
    SCOPED_TRACE(more);
    const ReplicasCase c(Norm(), SolverText(4, kSnapshot + more + "ema_decay: 0.5"));
    ExpectSameBits(c, 2, 3);
    ExpectSameBits(c, 3, 3);
  }
}

TEST(ShardedUpdate, GivesTheSameBitsWithBatchNormAndSharedWeights) {
  for (const std::string& net : {Norm(), SharedWeights()}) {
    const ReplicasCase c(net, SolverText(4, kSnapshot));
    ExpectSameBits(c, 2, 3);
  }
  TrainerOptions sync;
  sync.plan.sync_statistics = true;
  ExpectSameBits(ReplicasCase(NormChains(), SolverText(4, kSnapshot)), 3, 3, {}, sync);
}

TEST(ShardedUpdate, GivesTheSameBitsWithBucketsOfAnySizeAndRoundedGradients) {
  for (const std::string more : {"", "clip_gradients: 0.5"}) {
    const ReplicasCase c(LeNet(), SolverText(4, kSnapshot + more));
    for (const int64_t bytes : {int64_t{0}, int64_t{100'000}, int64_t{1} << 40}) {
      for (const DType type : {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
        SCOPED_TRACE(std::to_string(bytes) + " " + Name(type));
        ReducerOptions reducer;
        reducer.bucket_bytes = bytes;
        reducer.type = type;
        ExpectSameBits(c, 3, 3, reducer);
      }
    }
  }
}

TEST(ShardedUpdate, GivesTheSameBitsWithADynamicLossScale) {
  const ReplicasCase c(LeNet(), SolverText(4, kSnapshot));
  TrainerOptions options;
  options.loss_scaling = DynamicLossScaling();
  ExpectSameBits(c, 3, 3, {}, options);
  // Gradients overflow, so updates are skipped.
  options.loss_scaling->max_scale = options.loss_scaling->scale = 3e38f;
  ExpectSameBits(c, 3, 3, {}, options);
}

TEST(ShardedUpdate, NeedsAShareOfTheHistory) {
  const ReplicasCase c(LeNet(), SolverText(3, std::string(kSnapshot) + "type: 'Adam' delta: 1e-3"));
  const Trained whole = c.Together(4, 4), shared = ExpectSameBits(c, 4, 3);
  EXPECT_GE(whole.history_bytes, 2 * 4 * 431'080);  // LeNet's weights, and padding
  EXPECT_NEAR(static_cast<double>(shared.history_bytes) / static_cast<double>(whole.history_bytes),
              0.25, 0.001);
  EXPECT_EQ(shared.exchanged.bytes, whole.exchanged.bytes);
  EXPECT_EQ(shared.exchanged.gathered_bytes, whole.exchanged.bytes);
  EXPECT_EQ(whole.exchanged.gathered_bytes, 0);
}

TEST(ShardedUpdate, ResumesFromAndToAnyNumberOfRanks) {
  for (const char* more : {"snapshot: 4", "snapshot: 4 type: 'Adam' delta: 1e-3"}) {
    const ReplicasCase c(SmoothLeNet(), SolverText(8, more));
    const Trained straight = c.Together(2, 8);
    TrainerOptions resume;
    resume.resume = c.State(4);
    EXPECT_EQ(c.Together(2, 8, {}, Sharded(resume)).weights, straight.weights);
    EXPECT_LE(LargestDifference(c.Together(4, 4, {}, Sharded(resume)), straight), kTolerance);
    EXPECT_LE(LargestDifference(c.Alone(16, Sharded(resume)), straight), kTolerance);

    c.Together(4, 4, {}, Sharded());  // writes the snapshot again
    EXPECT_LE(LargestDifference(c.Together(2, 8, {}, resume), straight), kTolerance);
    EXPECT_LE(LargestDifference(c.Alone(16, resume), straight), kTolerance);
  }
}

// The first update makes the rates of biases infinite, so weights of several ranks become NaN.
TEST(ShardedUpdate, StopsAllRanksAtNonFiniteWeights) {
  const ReplicasCase c(LeNet(), "base_lr: 3e38 lr_policy: 'fixed' max_iter: 4");
  std::vector<std::string> messages;
  for (const bool shard : {false, true}) {
    TrainerOptions options;
    options.stop_at_nonfinite = true;
    options.shard_update = shard;
    const Error e = Thrown([&] { c.Together(3, 4, {}, options); });
    EXPECT_EQ(e.code(), ExitCode::kNonFinite);
    messages.push_back(e.what());
  }
  EXPECT_EQ(messages[0], messages[1]);
  EXPECT_NE(messages[0].find("weights are not finite"), std::string::npos) << messages[0];
}

// Rank 0 saves the last complete iteration if it can do so alone.
TEST(ShardedUpdate, SavesNothingAfterAFailure) {
  const ReplicasCase c(LeNet(), SolverText(4, kSnapshot));
  TrainerOptions options;
  options.before_iteration = [](int64_t iteration) {
    if (iteration == 2) throw FileError("record 7 is damaged");
  };
  EXPECT_THROW(c.Together(3, 4, {}, Sharded(options)), FileError);
  EXPECT_FALSE(FileExists(c.State(2)));
  EXPECT_THROW(c.Together(3, 4, {}, options), FileError);
  EXPECT_TRUE(FileExists(c.State(2)));
}

TEST(ShardedUpdate, RefusesDifferencesInSnapshots) {
  const ReplicasCase c(LeNet(), SolverText(2, "snapshot_diff: true"));
  const Error e = Thrown([&] { c.Together(2, 4, {}, Sharded()); });
  EXPECT_EQ(e.code(), ExitCode::kConfig);
  EXPECT_NE(e.message().find(
                "snapshot_diff does not work with --shard_update, because each replica knows"),
            std::string::npos)
      << e.what();
  c.Alone(4, Sharded());  // one rank has all shares
}

}  // namespace
}  // namespace doppio
