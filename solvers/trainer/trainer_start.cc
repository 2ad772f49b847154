// Starts a training run: the seed, the checks of the solver, the parts, and the start weights.
#include <algorithm>
#include <random>
#include <utility>

#include "core/base/log.h"
#include "core/base/random.h"
#include "core/base/text/split_at.h"
#include "solvers/trainer/empty_statistics.h"
#include "solvers/trainer/features.h"
#include "solvers/trainer/trainer.h"
#include "solvers/update/rule_check.h"

namespace doppio {
namespace {

uint64_t ChooseSeed(const SolverParameter& param, const TrainerOptions& options,
                    const std::optional<SolverSnapshot>& resumed) {
  if (options.seed) return *options.seed;
  if (param.random_seed() >= 0) return static_cast<uint64_t>(param.random_seed());
  if (resumed && resumed->run_state.has_seed()) return resumed->run_state.seed();
  return std::random_device()();
}

// The states of other Caffes do not name their rule.
void CheckSameRule(const TrainingRun& run, const std::optional<SolverSnapshot>& resumed) {
  if (!resumed || !resumed->run_state.has_rule()) return;
  const std::string& rule = resumed->run_state.rule();
  const std::string& own = run.spec.param.type();
  if (rule == own) return;
  throw FileError(run.spec.places.At("type"), "the solver's type is ", own, ", but '",
                  run.options.resume, "' is the state of a training with ", rule,
                  ", whose history means something else; set type: \"", rule,
                  "\" to resume it, or start a new training from its weights with --weights=",
                  resumed->learned_net);
}

// Returns a run with rank 0's seed. Checks the solver's fields and the snapshot folder, because
// opening the data may take long.
TrainingRun MakeRun(SolverSpec spec, const TrainerOptions& options,
                    const std::optional<SolverSnapshot>& resumed) {
  TrainingRun run;
  run.spec = std::move(spec);
  run.options = options;
  if (resumed) {
    const auto& choices = resumed->run_state.measured_choice();
    run.options.plan.replay.assign(choices.begin(), choices.end());
  }
  const SolverParameter& param = run.spec.param;
  const FieldPlaces& places = run.spec.places;
  run.seed = ChooseSeed(param, options, resumed);
  if (options.world != nullptr) options.world->control().Broadcast(&run.seed, sizeof run.seed, 0);
  ErrorCollector mistakes;
  mistakes.Try([&] { LrPolicy(param, places, param.max_iter()); });
  mistakes.Try([&] { CheckRule(param, places); });
  mistakes.Try([&] { ReadPrecisionRule(param, places); });
  mistakes.Try([&] { CheckSameRule(run, resumed); });
  mistakes.Try([&] { CheckCombinations(FeaturesOf(run.spec, options)); });
  mistakes.ThrowIfAny();
  if (run.rank() == 0 && WritesSnapshots(param)) {
    CheckWritable(param.snapshot_prefix());
    RemoveLeftovers(param.snapshot_prefix());
  }
  return run;
}

// Returns a hash of everything that determines the numbers of a run: train net, update rule,
// learning rates, start weights, seed and batch size. The hash leaves out when the run ends, tests
// and writes snapshots, because these settings may change on resume. Two runs with the same id are
// identical to the bit. A randomly drawn seed therefore gives each run its own id.
uint64_t RunIdOf(const TrainingRun& run, const std::vector<std::string>& weights) {
  SolverParameter rule = run.spec.param;
  for (const std::string& field :
       SplitAt("max_iter,max_epoch,display,average_loss,test_iter,test_interval,test_epoch,"
               "test_initialization,test_compute_loss,test_net,test_net_param,test_state,snapshot,"
               "snapshot_epoch,snapshot_prefix,snapshot_format,snapshot_diff,snapshot_after_train,"
               "debug_info,random_seed,net,net_param,train_net,train_net_param,weights,test_last,"
               "ema_test",
               ',')) {
    const auto* const known = SolverParameter::descriptor()->FindFieldByName(field);
    DOPPIO_CHECK(known != nullptr, field);
    SolverParameter::GetReflection()->ClearField(&rule, known);
  }
  std::string text = rule.SerializeAsString() + run.spec.train.net.SerializePartialAsString();
  for (const std::string& file : weights) text += file + '\n';
  return Stream(text, std::to_string(run.seed) + " " + std::to_string(run.SamplesPerIteration()));
}

}  // namespace

std::vector<std::string> WeightFilesOf(const SolverParameter& solver) {
  std::vector<std::string> files;
  for (const std::string& entry : solver.weights()) {
    for (std::string& file : SplitAt(entry, ',')) files.push_back(std::move(file));
  }
  return files;
}

TrainerParts::TrainerParts(SolverSpec spec, const TrainerOptions& options,
                           const std::optional<SolverSnapshot>& resumed)
    : run(MakeRun(std::move(spec), options, resumed)),
      nets(&run, resumed),
      tests(&run, &nets),
      passes(&run, &nets.train()),
      update(&run, &nets.train()),
      guard(&run, &nets.train(), &update.update(), update.scaler().dynamic(),
            [this] {
              snapshots.Wait();
              return snapshots.last_state();
            }),
      log(&run, &nets.train()),
      snapshots(&run, &nets, &tests, &passes, &update, &guard) {
  const std::vector<std::string> weights =
      options.weights.empty() ? WeightFilesOf(run.spec.param) : options.weights;
  run.run_id = resumed && resumed->run_state.has_run_id() ? resumed->run_state.run_id()
                                                          : RunIdOf(run, weights);
  if (resumed) {
    snapshots.Resume(*resumed);
  } else {
    for (const std::string& file : weights) nets.Load(ReadWeights(file));
  }
}

void TrainerParts::Begin() {
  run.result = TrainResult();
  run.stop = false;
  run.first_iteration = run.iteration;
  log.Begin();
  update.BeginAverage();
  const std::string warning = run.iteration == 0 ? EmptyStatisticsWarning(nets.train()) : "";
  if (!warning.empty()) LOG(WARNING) << warning;
}

void TrainerParts::BroadcastStart() const {
  // Other ranks may still allocate memory for their nets, and no device should wait for them in a
  // broadcast.
  run.options.world->control().Barrier();
  Communicator& bulk = run.options.world->bulk();
  bulk.ExchangeAfterCompute(-1);
  for (const Tensor& tensor : SharedState()) bulk.Broadcast(tensor.raw, tensor.bytes(), 0);
}

std::vector<Tensor> TrainerParts::SharedState() const {
  std::vector<Tensor> state;
  if (!run.shards()) state = update.update().history().arenas();
  state.push_back(nets.train().params().arenas().values());
  // A net without parameters has neither.
  state.erase(std::remove_if(state.begin(), state.end(), [](const Tensor& t) { return !t; }),
              state.end());
  return state;
}

}  // namespace doppio
