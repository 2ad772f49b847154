// Starts a training run: seed, nets, schedule, history and weights.
#include <algorithm>
#include <random>
#include <utility>

#include "core/base/log.h"
#include "core/base/split_at.h"
#include "core/net/graph/place_layers.h"
#include "core/net/graph/row_losses.h"
#include "core/net/graph/sample_groups.h"
#include "core/net/graph/storage.h"
#include "core/net/spec/preprocessing.h"
#include "core/net/store/weights.h"
#include "solvers/trainer/empty_statistics.h"
#include "solvers/trainer/nothing_learned.h"
#include "solvers/trainer/run_id.h"
#include "solvers/trainer/trainer.h"

namespace doppio {
namespace {

std::optional<SolverSnapshot> ReadResumed(const TrainerOptions& options) {
  if (options.state != nullptr) return options.state->solver;
  return options.resume.empty() ? std::nullopt : std::optional(ReadSnapshot(options.resume));
}

uint64_t ChooseSeed(const SolverParameter& param, const TrainerOptions& options,
                    const std::optional<SolverSnapshot>& resumed) {
  if (options.seed) return *options.seed;
  if (param.random_seed() >= 0) return static_cast<uint64_t>(param.random_seed());
  if (resumed && resumed->run_state.has_seed()) return resumed->run_state.seed();
  return std::random_device()();
}

// The flag takes precedence over the net's file, and the file over the default for the storage
// type.
LossScaling ChooseLossScaling(const SolverSpec& spec, const TrainerOptions& options) {
  if (options.loss_scaling) return *options.loss_scaling;
  const std::optional<LossScaling> file = LossScalingOf(spec.train.net, spec.train.places);
  return file ? *file : DefaultLossScaling(RequestedStorage(spec.train.net, options.net.stored));
}

std::vector<std::string> OutputsOf(const std::vector<std::unique_ptr<Net>>& nets) {
  std::vector<std::string> outputs;
  for (const auto& net : nets) {
    for (const NetOutput& output : net->outputs()) outputs.push_back(output.blob);
  }
  return outputs;
}

// The states of other Caffes do not name their rule.
void CheckSameRule(const SolverSpec& spec, const std::string& state,
                   const std::optional<SolverSnapshot>& resumed) {
  if (!resumed || !resumed->run_state.has_rule()) return;
  const std::string& rule = resumed->run_state.rule();
  if (rule == spec.param.type()) return;
  throw FileError(spec.places.At("type"),
                  "the solver's type is " + spec.param.type() + ", but '" + state +
                      "' is the state of a training with " + rule +
                      ", whose history means something else; set type: \"" + rule +
                      "\" to resume it, or start a new training from its weights with --weights=" +
                      resumed->learned_net);
}

// Returns rank 0's seed on every rank.
uint64_t Agreed(uint64_t seed, const World* world) {
  if (world != nullptr) world->control().Broadcast(&seed, sizeof seed, 0);
  return seed;
}

}  // namespace

std::vector<std::string> WeightFilesOf(const SolverParameter& solver) {
  std::vector<std::string> files;
  for (const std::string& entry : solver.weights()) {
    for (std::string& file : SplitAt(entry, ',')) files.push_back(std::move(file));
  }
  return files;
}

Trainer::Trainer(SolverSpec spec, const TrainerOptions& options)
    : Trainer(std::move(spec), options, ReadResumed(options)) {}

Trainer::Trainer(SolverSpec spec, TrainerOptions options,
                 const std::optional<SolverSnapshot>& resumed)
    : spec_(std::move(spec)),
      options_(std::move(options)),
      seed_(Agreed(ChooseSeed(spec_.param, options_, resumed), options_.world)),
      params_(options_.plan.device, options_.plan.dtype, seed_),
      smoothed_(spec_.param.average_loss()) {
  // Checks the solver's fields and the snapshot folder first, because opening the data may take
  // long.
  ErrorCollector mistakes;
  mistakes.Try([&] { LrPolicy(spec_.param, spec_.places, spec_.param.max_iter()); });
  mistakes.Try([&] { CheckRule(spec_.param, spec_.places); });
  mistakes.Try([&] { precision_ = ReadPrecisionRule(spec_.param, spec_.places); });
  mistakes.Try([&] { CheckShards(); });
  mistakes.Try([&] { CheckSameRule(spec_, options_.resume, resumed); });
  mistakes.Try([&] { scaler_ = LossScaler(ChooseLossScaling(spec_, options_)); });
  mistakes.ThrowIfAny();
  per_parameter_ = UpdatesPerParameter();
  if (rank() == 0 && WritesSnapshots(spec_.param)) {
    CheckWritable(spec_.param.snapshot_prefix());
    RemoveLeftovers(spec_.param.snapshot_prefix());
  }

  train_net_ = MakeNet(spec_.train, true, options_.net.batch);
  for (const TestNetSource& test : spec_.tests) {
    test_nets_.push_back(MakeNet(test, false, options_.net.batch));
    if (precision_) DetectionOutputs(*test_nets_.back(), spec_.places.At("eval_type"));
  }
  RecordPreprocessing();

  const SourceSize source = FindSource(*train_net_);
  batch_ = source.batch * microbatches();
  std::vector<SourceSize> test_sources;
  for (const auto& net : test_nets_) test_sources.push_back(FindSource(*net));
  run_id_ = resumed && resumed->run_state.has_run_id()
                ? resumed->run_state.run_id()
                : RunIdOf(spec_, InitialWeights(), seed_, SamplesPerIteration());
  const TrainingDone done = resumed ? DoneBefore(*resumed) : TrainingDone();
  schedule_ = MakeSchedule(spec_, {source.samples, batch_ * ranks()}, test_sources, done);
  for (size_t i = 0; i < test_nets_.size(); ++i) last_test_nets_.push_back(MakeLastTestNet(i));
  policy_.emplace(spec_.param, spec_.places, schedule_.max_iter);
  if (options_.monitor) {
    monitor_.emplace(*options_.monitor);
    std::string absent;
    for (const auto& net : test_nets_) {
      if (absent.empty()) absent = WhyAbsent(net->graph().spec, options_.monitor->metric.metric);
    }
    monitor_->CheckKnown(OutputsOf(test_nets_), absent);
  }
  MakeUpdate();
  update_->set_trace(options_.trace);
  if (exchange_ != nullptr && update_->decides())
    train_net_->pass().sums = exchange_->sums_in_stream();
  train_net_->set_trace(options_.trace);
  if (exchange_ != nullptr) exchange_->SetTrace(options_.trace);

  if (resumed) {
    Resume(*resumed);
  } else {
    for (const std::string& file : InitialWeights()) LoadWeights(ReadWeights(file));
  }
  if (options_.world == nullptr) return;
  if (options_.before_sharing) options_.before_sharing(this);
  BroadcastStart();
}

// Makes the exchange with other ranks first, because it decides how they divide the update.
void Trainer::MakeUpdate() {
  SharedUpdate shared;
  if (options_.world != nullptr) {
    const Sharding sharding = {shards(), NeedsNorms(spec_.param) ? kUpdateChunk : Sharding().unit};
    exchange_ = options_.world->MakeExchange(&params_, sharding);
    shared = {exchange_->shares(), &options_.world->control()};
  }
  update_.emplace(spec_.param, spec_.places, &params_, schedule_.max_iter, shared);
}

void Trainer::CheckShards() const {
  if (!shards() || !spec_.param.snapshot_diff()) return;
  throw UserError(spec_.places.At("snapshot_diff"),
                  "snapshot_diff does not work with --shard_update, with which each replica knows "
                  "only the changes of its own share of the weights; remove one of them");
}

std::vector<std::pair<std::string, Net*>> Trainer::AllNets() const {
  std::vector<std::pair<std::string, Net*>> nets = {{"", train_net_.get()}};
  for (size_t i = 0; i < test_nets_.size(); ++i)
    nets.emplace_back(TestPrefix(i), test_nets_[i].get());
  return nets;
}

std::vector<std::string> Trainer::InitialWeights() const {
  return options_.weights.empty() ? WeightFilesOf(spec_.param) : options_.weights;
}

Trainer::~Trainer() = default;

// `batch` takes precedence over options_.net.batch; see NetOptions.
std::unique_ptr<Net> Trainer::MakeNet(const NetSource& source, bool train, int64_t batch) {
  NetOptions net = options_.net;
  net.phase = train ? TRAIN : TEST;
  net.batch = batch;
  net.seed = seed_;
  // On the host, tests run on one device, with all compute threads.
  const bool one_device = !train && options_.plan.device->host_memory();
  if (!train) net.shares = net.microbatches = 1;
  if (one_device) net.place.clear();
  NetSpec spec = MakeNetSpec(source.net, source.places, source.state, net);
  if (!train) DropUnusedRules(&spec);
  spec.debug_info = spec.debug_info || (train && spec_.param.debug_info());

  PlanOptions plan = options_.plan;
  plan.backward = train;
  plan.accumulate = spec_.param.iter_size() > 1 || plan.keep_all;
  plan.keep_all |= spec.debug_info;
  plan.gradients_consumed = train && options_.world == nullptr && per_parameter_;
  if (NeedsNorms(spec_.param)) plan.gradient_slice_bytes = 0;
  if (!train) plan.saving = {};
  if (one_device) plan.places.clear();
  plan.history_slots = HistorySlots(spec_.param);
  if (shards()) plan.history_ranks = ranks();
  plan.sync_statistics &= train && options_.world != nullptr;
  Graph graph = MakeGraph(std::move(spec));
  // Replicas log only errors, a test's net is made again for its last batch, and most of its layers
  // are the training's, too.
  if (batch == options_.net.batch) {
    std::vector<Warning> warnings = LayerWarnings(graph);
    for (const Warning& w : train ? NothingLearned(graph) : StatisticsOfBatches(graph))
      warnings.push_back(w);
    for (const Warning& w : warnings) {
      if (warned_.insert(w.message).second)
        LOG(WARNING) << (w.at.known() ? w.at.ToString() + ": " : "") << w.message;
    }
    for (const std::string& note : SampleNotes(graph)) LOG(INFO) << note;
  }
  if (train) WeighRowLosses(ranks() * microbatches(), &graph);
  auto made = std::make_unique<Net>(std::move(graph), plan, &params_);
  made->pass().rank = rank();
  made->pass().ranks = train ? ranks() * microbatches() : ranks();
  // A test runs each batch on one rank, so its batches are not part of a larger one.
  if (train && options_.world != nullptr) made->pass().group = &options_.world->control();
  return made;
}

// Snapshots describe how phase TEST prepares images, because that is how the net will be used.
void Trainer::RecordPreprocessing() {
  if (options_.net.data != DataMode::kOpen) return;
  std::optional<Preprocessing> test;
  for (const auto& net : test_nets_) {
    if (!test) test = net->graph().preprocessing;
  }
  if (!test) test = DescribeTestImages(spec_.train);
  train_net_->set_preprocessing(ForUse(test, train_net_->graph().preprocessing));
}

// Builds the net for a partial last batch of a test. Every rank builds it, so that all ranks need
// the same memory and find the same mistakes. Only the rank whose turn it is runs the batch.
std::unique_ptr<Net> Trainer::MakeLastTestNet(size_t test) {
  const int64_t rows = schedule_.last_rows[test];
  if (rows == 0) return nullptr;
  std::unique_ptr<Net> net = WithLastRowsContext(rows, spec_.places.At("test_interval"), [&] {
    return MakeNet(spec_.tests[test], false, rows);
  });
  net->pass().rank = 0;
  net->pass().ranks = 1;
  return net;
}

// Copies rank 0's weights and history to all ranks. If they divide the history, each rank has read
// its own share from the snapshot. Collective.
void Trainer::BroadcastStart() {
  // Other ranks may still allocate memory for their nets, and no device should wait for them in a
  // broadcast.
  options_.world->control().Barrier();
  Communicator& bulk = options_.world->bulk();
  bulk.ExchangeAfterCompute(-1);
  for (const Tensor& tensor : SharedState()) bulk.Broadcast(tensor.raw, tensor.bytes(), 0);
}

// Returns the tensors that must be bitwise identical on all ranks.
std::vector<Tensor> Trainer::SharedState() const {
  std::vector<Tensor> state;
  if (!shards()) state = update_->history_arenas();
  state.push_back(params_.values());
  // A net without parameters has neither.
  state.erase(std::remove_if(state.begin(), state.end(), [](const Tensor& t) { return !t; }),
              state.end());
  return state;
}

WeightsReport Trainer::LoadWeights(const WeightsFile& file) {
  auto copy = [&](const Net& net) {
    return CopyWeights(file, net.graph(), net.plan().param_index, &params_);
  };
  WeightsReport report = copy(*train_net_);
  if (options_.state == nullptr) LogReport(report, file.path);
  // Loads the weights of layers that only a test net has.
  for (const auto& net : test_nets_) copy(*net);
  return report;
}

}  // namespace doppio
