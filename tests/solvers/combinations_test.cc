// Tests the table of combinations against trainings: each pair of features that a small training on
// the CPU can have either works, with the numbers of the features that change numbers, or is
// refused with the reason of the table.
#include "core/net/contract/combinations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/threads.h"
#include "core/net/contract/changing_tops.h"
#include "core/net/contract/place_rule.h"
#include "core/net/run/find_memory_source.h"
#include "parallel/world/thread_world.h"
#include "solvers/trainer/features.h"
#include "solvers/trainer/trainer.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

// A layer whose top could change its shape, but does not.
LayerShape InferMayGrow(const LayerSpec&, const std::vector<Shape>& bottoms) {
  LayerShape shape;
  shape.tops = {bottoms[0]};
  shape.features = {Feature::kChangingTops};
  return shape;
}

template <class T>
class MayGrow : public Kernel, public ChangesTops, public SharesForm {
 public:
  explicit MayGrow(const KernelArgs& args) : count_(args.bottoms[0].shape.count()) {}
  void Forward(const Pass&) override { std::copy_n(BottomValues<T>(0), count_, TopValues<T>(0)); }
  void Backward(const Pass&, const std::vector<bool>&) override {
    if (BottomGradient<T>(0) != nullptr)
      std::copy_n(TopGradient<T>(0), count_, BottomGradient<T>(0));
  }
  bool changed() const override { return false; }
  std::any NextForm(bool) override { return {}; }

 private:
  const int64_t count_;
};

DOPPIO_REGISTER_LAYER("TestMayGrow", LayerType(&InferMayGrow).Bottoms(1).Tops(1));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<MayGrow>("TestMayGrow"));

// All data is constant, so parts of a batch have the mean of the whole batch.
constexpr char kNet[] = R"(
  layer { name: "in" type: "DummyData" top: "x" top: "y"
          dummy_data_param { shape { dim: 4 dim: 3 } shape { dim: 4 dim: 2 }
                             data_filler { value: 1 } data_filler { value: 0.5 } } }
  layer { name: "a" type: "InnerProduct" bottom: "x" top: "a"
          inner_product_param { num_output: 8 weight_filler { type: "xavier" } } }
  layer { name: "relu" type: "ReLU" bottom: "a" top: "r" }
  layer { name: "b" type: "InnerProduct" bottom: "r" top: "b"
          inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "EuclideanLoss" bottom: "b" bottom: "y" top: "loss" })";

constexpr char kMayGrow[] = R"(
  layer { name: "grows" type: "TestMayGrow" bottom: "b" top: "g" }
  layer { name: "sum of g" type: "Reduction" bottom: "g" top: "g sum" loss_weight: 1e-3
          reduction_param { operation: MEAN } })";
constexpr char kState[] = R"(
  layer { name: "steps" type: "DummyData" top: "q" top: "cont"
          dummy_data_param { shape { dim: 2 dim: 2 dim: 3 } shape { dim: 2 dim: 2 }
                             data_filler { value: 1 } data_filler { value: 0 } } }
  layer { name: "lstm" type: "LSTM" bottom: "q" bottom: "cont" top: "h"
          recurrent_param { num_output: 2 weight_filler { type: "xavier" } } }
  layer { name: "sum of h" type: "Reduction" bottom: "h" top: "h sum" loss_weight: 1e-3
          reduction_param { operation: MEAN } })";
constexpr char kSamples[] = R"(
  layer { name: "samples" type: "MemoryData" top: "m" top: "m label"
          memory_data_param { batch_size: 4 channels: 1 height: 1 width: 2 } }
  layer { name: "of m" type: "InnerProduct" bottom: "m" top: "n"
          inner_product_param { num_output: 1 weight_filler { type: "xavier" } } }
  layer { name: "sum of n" type: "Reduction" bottom: "n" top: "n sum" loss_weight: 1e-3
          reduction_param { operation: MEAN } })";

struct Case {
  std::set<Feature> features;
  std::string net = kNet, policy = "lr_policy: 'fixed' ", solver;
  TrainerOptions options;
  int ranks = 1;
  std::vector<std::unique_ptr<Device>> places;
};

// A way to give a training a feature.
struct Way {
  Feature feature;
  std::function<void(Case*)> use;
  bool changes_numbers = false;
};

void Place(Case* c) {
  c->options.net.place = ParsePlaceRules("a=cpu:0,b=cpu:1");
  for (int i = 0; i < 2; ++i) {
    const std::string name = "cpu:" + std::to_string(i);
    c->places.push_back(MakeCpuPart({i, 2}, name));
    c->options.plan.places[name] = c->places.back().get();
  }
}

Way Field(Feature feature, const std::string& fields, bool changes_numbers = false) {
  return {feature, [fields](Case* c) { c->solver += fields + " "; }, changes_numbers};
}

Way Layers(Feature feature, const std::string& layers) {
  return {feature, [layers](Case* c) { c->net += layers; }, true};
}

const std::vector<Way>& Ways() {
  using F = Feature;
  static const std::vector<Way> ways = {
      {F::kPlace, &Place},
      {F::kMicrobatches, [](Case* c) { c->options.net.microbatches = 2; }},
      {F::kReplicas, [](Case* c) { c->ranks = 2; }},
      {F::kShardUpdate, [](Case* c) { c->options.shard_update = true; }},
      {F::kSyncBn, [](Case* c) { c->options.plan.sync_statistics = true; }},
      {F::kRecompute, [](Case* c) { c->options.plan.saving.segments = 2; }},
      {F::kOffload,
       [](Case* c) {
         c->options.plan.saving.activation_bytes = 0;
         c->options.plan.saving.min_offloaded_bytes = 1;
       }},
      {F::kDynamicScale,
       [](Case* c) { c->options.loss_scaling = ParseLossScaling("loss_scale", "dynamic"); }},
      Field(F::kIterSize, "iter_size: 2", true),
      Field(F::kClipping, "clip_gradients: 0.01", true),
      Field(F::kNormRates, "larc: true", true),
      {F::kLossRate,
       [](Case* c) { c->policy = "lr_policy: 'plateau' gamma: 0.5 plateau_winsize: 1 "; }, true},
      Field(F::kSnapshotDiff, "snapshot_diff: true"),
      Field(F::kDebugInfo, "debug_info: true"),
      Field(F::kTestNet, "test_iter: 1 test_interval: 1"),
      {F::kMonitor,
       [](Case* c) {
         c->options.monitor = MonitorRule{{false, "loss"}, 0, 0};
       }},
      {F::kScript, [](Case* c) { c->options.plan.keep_all = true; }},
      Layers(F::kChangingTops, kMayGrow),
      Layers(F::kState, kState),
      Layers(F::kProgramSamples, kSamples),
  };
  return ways;
}

// Returns a training with these features, except that those that do not change numbers are left out
// with `plain`.
Case Make(const std::set<Feature>& features, bool plain = false) {
  Case c;
  for (const Way& way : Ways()) {
    if (features.count(way.feature) == 0 || (plain && !way.changes_numbers)) continue;
    way.use(&c);
    c.features.insert(way.feature);
  }
  return c;
}

std::string Folder() {
  static const std::string folder = [] {
    std::string path = testing::TempDir() + "/combinationsXXXXXX";
    EXPECT_NE(mkdtemp(&path[0]), nullptr);
    return path + "/";
  }();
  return folder;
}

SolverSpec Load(const Case& c) {
  WriteFileAtomically(Folder() + "net.prototxt", c.net);
  WriteFileAtomically(Folder() + "solver.prototxt",
                      "net: '" + Folder() + "net.prototxt' snapshot_prefix: '" + Folder() +
                          "s' random_seed: 7 max_iter: 2 snapshot_after_train: false base_lr: 0.1 "
                          "momentum: 0.9 type: 'SGD' " +
                          c.policy + c.solver);
  return LoadSolver(Folder() + "solver.prototxt");
}

void GiveSamples(const Case& c, Trainer* trainer) {
  static const std::vector<float> data(8, 1.0f), labels(4, 0.0f);
  if (c.features.count(Feature::kProgramSamples) == 0) return;
  FindMemorySource(trainer->train_net(), "samples").SetSamples(data.data(), labels.data(), 4);
  for (const auto& test : trainer->test_nets())
    FindMemorySource(*test, "samples").SetSamples(data.data(), labels.data(), 4);
}

using Weights = std::vector<float>;

Weights TrainRank(const Case& c, const SolverSpec& solver, const World* world) {
  const std::unique_ptr<Device> device = MakeCpuDevice();
  TrainerOptions options = c.options;
  options.plan.device = device.get();
  options.world = world;
  Trainer trainer(solver, options);
  GiveSamples(c, &trainer);
  trainer.Solve();
  Weights weights;
  for (const Param& param : trainer.params().params()) {
    const std::vector<float> values = ReadTensor(param.value, device.get()).data;
    weights.insert(weights.end(), values.begin(), values.end());
  }
  return weights;
}

Weights Train(const Case& c) {
  const SolverSpec solver = Load(c);
  if (c.ranks == 1) return TrainRank(c, solver, nullptr);
  Weights weights;
  RunThreadWorld(c.ranks, {}, [&](World& world) {
    const ThreadCount threads(1);
    const Weights own = TrainRank(c, solver, &world);
    if (world.rank() == 0) weights = own;
  });
  return weights;
}

// Returns the refusals of the table for a set of features, by its rows alone.
std::vector<const Combination*> RefusingRows(const std::set<Feature>& features) {
  std::vector<const Combination*> rows;
  for (const Combination& row : Combinations()) {
    const bool first = features.count(row.first) > 0, second = features.count(row.second) > 0;
    const bool with = row.with == Feature::kCount || features.count(row.with) > 0;
    const bool refuses =
        (row.rule == PairRule::kRefused && second) || (row.rule == PairRule::kNeeds && !second);
    if (first && with && refuses) rows.push_back(&row);
  }
  return rows;
}

std::string Names(const std::set<Feature>& features) {
  std::string names;
  for (const Feature feature : features) names += std::string(" | ") + TextOf(feature).name;
  return names;
}

void ExpectAsTheTableSays(const std::set<Feature>& features) {
  const std::vector<const Combination*> rows = RefusingRows(features);
  const Case c = Make(features);
  if (!rows.empty()) {
    // A trainer refuses what its options ask for before it knows the layers.
    const std::string mistake = MistakeIfAny([&] { Train(c); });
    EXPECT_TRUE(std::any_of(
        rows.begin(), rows.end(),
        [&](const Combination* row) { return mistake.find(row->reason) != std::string::npos; }))
        << Names(features) << ": " << mistake;
    return;
  }
  Weights weights;
  const std::string mistake = MistakeIfAny<std::exception>([&] { weights = Train(c); });
  ASSERT_EQ(mistake, "") << Names(features);
  const Weights plain = Train(Make(features, true));
  ASSERT_EQ(weights.size(), plain.size()) << Names(features);
  for (size_t i = 0; i < plain.size(); ++i)
    ASSERT_NEAR(weights[i], plain[i], 1e-5) << Names(features) << ", weight " << i;
}

TEST(Combinations, PairsWorkOrAreRefusedAsTheTableSays) {
  const QuietLog quiet;
  for (const Way& first : Ways()) {
    for (const Way& second : Ways()) {
      if (first.feature <= second.feature) ExpectAsTheTableSays({first.feature, second.feature});
    }
  }
}

// Micro-batches need placement, and replicas give other features an effect.
TEST(Combinations, PairsBesidePlacementAndReplicasAreAsTheTableSays) {
  const QuietLog quiet;
  for (const Way& way : Ways()) {
    ExpectAsTheTableSays({Feature::kPlace, Feature::kMicrobatches, way.feature});
    ExpectAsTheTableSays({Feature::kReplicas, Feature::kShardUpdate, way.feature});
    ExpectAsTheTableSays({Feature::kReplicas, Feature::kSyncBn, way.feature});
  }
}

// Returns what a training does of early updates, chains and recomputing, as its plan shows it.
std::set<Feature> Done(const std::set<Feature>& features) {
  Case c = Make(features);
  c.net += R"(
    layer { name: "norm" type: "BatchNorm" bottom: "b" top: "norm" }
    layer { name: "scale" type: "Scale" bottom: "norm" top: "scale" }
    layer { name: "act" type: "ReLU" bottom: "scale" top: "act" }
    layer { name: "sum of act" type: "Reduction" bottom: "act" top: "act sum" loss_weight: 1e-3 })";
  const std::unique_ptr<Device> device = MakeCpuDevice();
  c.options.plan.device = device.get();
  const Trainer trainer(Load(c), c.options);
  std::set<Feature> done;
  if (trainer.params().arenas().gradients_share_memory()) done.insert(Feature::kEarlyUpdate);
  const Plan& plan = trainer.train_net().plan();
  for (int n = 0; n < static_cast<int>(plan.computed_with.size()); ++n)
    if (plan.computed_with[n] != n) done.insert(Feature::kChains);
  if (plan.saved.segments > 1) done.insert(Feature::kRecompute);
  return done;
}

TEST(Combinations, SwitchesOffWhatTheTableSays) {
  const QuietLog quiet;
  const std::set<Feature> seen = {Feature::kRecompute, Feature::kEarlyUpdate, Feature::kChains};
  EXPECT_EQ(Done({Feature::kRecompute}), seen);
  int compared = 0;
  for (const Way& way : Ways()) {
    const std::set<Feature> features = {Feature::kRecompute, way.feature};
    if (!RefusingRows(features).empty() || way.feature == Feature::kReplicas) continue;
    Features uses;
    uses.Add({way.feature});
    const std::set<Feature> done = Done(features);
    for (const Feature feature : seen) {
      EXPECT_EQ(done.count(feature) == 0, IsOff(feature, uses))
          << TextOf(feature).name << Names(features);
      compared += IsOff(feature, uses);
    }
  }
  EXPECT_GT(compared, 8);
}

TEST(Combinations, GivesAllRefusalsAtOnceAtTheirPlaces) {
  Features features;
  features.Add({Feature::kPlace});
  features.Add({Feature::kRecompute, "--recompute=4"});
  features.Add({Feature::kChangingTops,
                "layer 'p': a layer whose tops change their shape",
                {"net.prototxt", 3, 5}});
  const Error e = Thrown<ErrorList>([&] { CheckCombinations(features); });
  const std::string text = e.what();
  EXPECT_NE(text.find("--place does not work with --recompute=4, because the stages run"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("net.prototxt:3:5: layer 'p': a layer whose tops change their shape does "
                      "not work with --place, because the shapes"),
            std::string::npos)
      << text;
  const std::vector<Error> errors = RefusalsOf(features);
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].code(), ExitCode::kUsage);
  EXPECT_EQ(errors[1].code(), ExitCode::kConfig);
}

TEST(Combinations, ARowCountsOnlyWithItsThirdFeature) {
  Features features;
  features.Add({Feature::kShardUpdate});
  features.Add({Feature::kSnapshotDiff});
  EXPECT_TRUE(RefusalsOf(features).empty());
  features.Add({Feature::kReplicas});
  EXPECT_EQ(RefusalsOf(features).size(), 1u);
}

TEST(Combinations, HasOneRowForAPair) {
  std::set<std::set<Feature>> pairs;
  for (const Combination& row : Combinations()) {
    EXPECT_NE(row.first, row.second);
    EXPECT_TRUE(pairs.insert({row.first, row.second}).second)
        << TextOf(row.first).name << ", " << TextOf(row.second).name;
    EXPECT_NE(row.reason[std::string(row.reason).size() - 1], '.') << row.reason;
  }
}

}  // namespace
}  // namespace doppio
