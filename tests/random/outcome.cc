#include "tests/random/outcome.h"

#include <algorithm>
#include <cmath>

#include "core/base/random.h"
#include "core/base/threads.h"
#include "core/net/contract/place_rule.h"
#include "core/net/contract/plain_blob.h"
#include "core/net/spec/solver_spec.h"
#include "parallel/world/thread_world.h"
#include "solvers/scores/outputs.h"
#include "solvers/trainer/features.h"
#include "tests/random/silent_log.h"

namespace doppio {
namespace {

// Multiplies each weight by a factor close to 1. Weights of 0, as in biases, get a small value, so
// that sums that are exactly 0 by them leave their kinks.
void ChangeWeights(double noise, int draw, Trainer* trainer) {
  for (const Param& param : trainer->params().params()) {
    if (!param.value) continue;
    const Random random(static_cast<uint64_t>(draw), Stream("noise", param.layer, param.index));
    const auto changed = [&](size_t i, double value) {
      const double part = noise * (2 * static_cast<double>(random.Uniform(0, i)) - 1);
      return value == 0 && param.trainable ? part : value * (1 + part);
    };
    const auto count = static_cast<size_t>(param.value.count());
    if (param.value.dtype == DType::kFloat64 && param.value.layout.plain()) {
      double* values = param.value.data<double>();
      for (size_t i = 0; i < count; ++i) values[i] = changed(i, values[i]);
      continue;
    }
    Device* device = param.device;
    std::vector<float> values = ReadTensor(param.value, device).data;
    for (size_t i = 0; i < count; ++i)
      values[i] = static_cast<float>(changed(i, static_cast<double>(values[i])));
    WriteTensor(values, param.value, device);
  }
}

using Weights = std::map<std::string, std::vector<double>>;

std::string NameOf(const Param& param) { return param.layer + " " + std::to_string(param.index); }

Weights ReadWeights(const ParamStore& params) {
  Weights weights;
  for (const Param& param : params.params()) {
    if (param.value) weights[NameOf(param)] = NumbersOf(param.value, param.device);
  }
  return weights;
}

// One rank of a run. Rank 0 fills `outcome`; it is null for the others.
class RankRun {
 public:
  RankRun(const std::string& solver, const Way& way, const World* world, Outcome* outcome)
      : way_(way), world_(world), outcome_(outcome), device_(way.device()) {
    MakePlaces();
    SetOptions();
    const SolverSpec spec = LoadSolver(solver);
    if (leads()) AskTable(spec);
    Trainer trainer(spec, options_);
    if (leads() && way.before) way.before(&trainer);
    if (way.noise > 0) ChangeWeights(way.noise, way.noise_draw, &trainer);
    const Weights before = ReadWeights(trainer.params());
    const TrainResult result = trainer.Solve();
    Collect(before, &trainer);
    if (!leads()) return;
    outcome->state = result.state_file;
    if (way.after) way.after(&trainer);
  }

 private:
  bool leads() const { return outcome_ != nullptr; }

  void MakePlaces() {
    if (way_.place.empty()) return;
    options_.net.place = ParsePlaceRules(way_.place);
    std::set<std::string> names;
    for (const PlaceRule& rule : options_.net.place) {
      for (const std::string& name : DevicesOfPlace(rule.place)) names.insert(name);
    }
    int part = 0;
    for (const std::string& name : names) {
      places_.push_back(MakeCpuPart({part++, static_cast<int>(names.size())}, name));
      options_.plan.places[name] = places_.back().get();
    }
  }

  void SetOptions() {
    options_.world = world_;
    options_.net.shares = way_.shares;
    options_.net.microbatches = way_.microbatches;
    options_.net.stored = way_.stored;
    PlanOptions& plan = options_.plan;
    plan.device = device_.get();
    plan.dtype = way_.dtype;
    plan.engine = way_.engine;
    plan.fusion = way_.fusion;
    plan.engine_options = way_.engine_options;
    plan.saving = way_.saving;
    plan.keep_all = way_.keep_all;
    plan.sync_statistics = way_.sync_statistics;
    options_.shard_update = way_.shard_update;
    options_.loss_scaling = way_.loss_scaling;
    options_.check_replicas = world_ == nullptr ? 0 : 1;
    options_.resume = way_.resume;
    if (!way_.weights.empty()) options_.weights = {way_.weights};
    options_.poll = [this] {
      return way_.stop > 0 && done_ >= way_.stop ? Request::kSnapshotStop : Request::kNone;
    };
    options_.on_iteration = [this](const Progress& progress) {
      done_ = progress.iteration;
      if (leads()) outcome_->numbers["loss " + std::to_string(done_)] = {progress.loss};
    };
    options_.on_test = [this](const TestScores& scores) {
      if (leads()) AddScores(scores);
    };
  }

  void AskTable(const SolverSpec& spec) {
    for (const Error& refusal : RefusalsOf(FeaturesOf(spec, options_)))
      outcome_->combination += std::string(refusal.what()) + "\n";
  }

  void AddScores(const TestScores& scores) {
    if (!scores.complete) return;
    const std::string net = " " + std::to_string(scores.net) + " ",
                      after = " " + std::to_string(scores.iteration);
    auto& numbers = outcome_->numbers;
    numbers["test" + net + "(loss)" + after] = {scores.loss};
    for (const OutputValue& score : scores.scores) {
      numbers[(score.score ? "test" : "mean") + net + score.blob + after].push_back(
          score.absent ? std::nan("") : score.value);
    }
  }

  // All ranks call it, because ranks that divide the history gather it.
  void Collect(const Weights& before, Trainer* trainer) {
    ParamStore& params = trainer->params();
    const bool divided = way_.shard_update && world_ != nullptr;
    const WholeHistory history =
        trainer->update().history().Gather(divided ? &world_->bulk() : nullptr);
    if (!leads()) return;
    auto& numbers = outcome_->numbers;
    for (const auto& [name, values] : ReadWeights(params)) {
      std::vector<double>& move = numbers["move " + name];
      for (size_t i = 0; i < values.size(); ++i) move.push_back(values[i] - before.at(name)[i]);
      numbers["weight " + name] = values;
    }
    const std::vector<int>& learnable = params.learnable();
    for (size_t i = 0; i < history.blobs.size(); ++i) {
      const Param& param = params.params()[static_cast<size_t>(learnable[i % learnable.size()])];
      numbers["history " + NameOf(param) + " " + std::to_string(i / learnable.size())] =
          NumbersOf(history.blobs[i], param.device);
    }
    for (const OutputValue& output : ReadOutputs(trainer->train_net()))
      numbers["output " + output.blob].push_back(output.value);
  }

  const Way& way_;
  const World* const world_;
  Outcome* const outcome_;
  const std::unique_ptr<Device> device_;
  std::vector<std::unique_ptr<Device>> places_;
  TrainerOptions options_;
  int64_t done_ = 0;
};

void RunRanks(const std::string& solver, const Way& way, Outcome* outcome) {
  if (way.ranks == 1) {
    const RankRun run(solver, way, nullptr, outcome);
    return;
  }
  ReducerOptions reducer;
  if (way.bucket_bytes >= 0) reducer.bucket_bytes = way.bucket_bytes;
  RunThreadWorld(way.ranks, reducer, [&](World& world) {
    const ThreadCount threads(std::max(1, way.threads / way.ranks));
    const RankRun run(solver, way, &world, world.rank() == 0 ? outcome : nullptr);
  });
}

// Returns true if the error is one of the user, who gets its message.
bool IsMistake(const Error& error) {
  return error.code() != ExitCode::kBug && error.code() != ExitCode::kPeer;
}

}  // namespace

Tally& ProcessTally() {
  static Tally* tally = new Tally;
  return *tally;
}

std::vector<double> NumbersOf(const Tensor& tensor, Device* device) {
  if (tensor.dtype == DType::kFloat64 && tensor.layout.plain()) return ReadValues(tensor, device);
  const PlainBlob blob = ReadTensor(tensor, device);
  return {blob.data.begin(), blob.data.end()};
}

Outcome Run(const RandomCase& random_case, const Way& way) {
  const SilentLog silent;
  const ThreadCount threads(way.threads);
  Tally& tally = ProcessTally();
  ++tally.runs;
  tally.threads.insert(way.threads);
  Outcome outcome;
  try {
    RunRanks(WriteCase(random_case, way), way, &outcome);
  } catch (const Error& e) {
    if (!IsMistake(e)) throw;
    const std::string combination = outcome.combination;
    outcome = Outcome();
    outcome.combination = combination;
    outcome.refused = e.what();
    outcome.code = static_cast<int>(e.code());
  }
  return outcome;
}

Outcome Without(Outcome outcome, const std::set<std::string>& kinds) {
  for (auto it = outcome.numbers.begin(); it != outcome.numbers.end();) {
    const bool drops = kinds.count(it->first.substr(0, it->first.find(' '))) > 0;
    it = drops ? outcome.numbers.erase(it) : std::next(it);
  }
  return outcome;
}

}  // namespace doppio
