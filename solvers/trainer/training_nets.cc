#include "solvers/trainer/training_nets.h"

#include "core/base/log.h"
#include "core/net/graph/place_layers.h"
#include "core/net/graph/row_losses.h"
#include "core/net/graph/sample_groups.h"
#include "core/net/spec/preprocessing.h"
#include "solvers/scores/average_precision.h"
#include "solvers/trainer/empty_statistics.h"
#include "solvers/trainer/features.h"
#include "solvers/trainer/nothing_learned.h"
#include "solvers/state/run_state.h"
#include "solvers/scores/test_pass.h"
#include "solvers/trainer/test_sharing.h"
#include "solvers/trainer/update_step.h"
#include "solvers/update/matrix_update.h"
#include "solvers/update/rule_check.h"

namespace doppio {
namespace {

// The states of other Caffes do not record the samples. Their batches are taken to be as large as
// the current ones, which have `now` samples per iteration.
TrainingDone DoneBefore(const std::optional<SolverSnapshot>& resumed, int64_t now) {
  if (!resumed) return {};
  const RunState& run = resumed->run_state;
  return {resumed->iter, run.has_samples_seen() ? run.samples_seen() : resumed->iter * now,
          run.has_iteration_samples() ? run.iteration_samples() : now};
}

}  // namespace

TrainingNets::TrainingNets(TrainingRun* run, const std::optional<SolverSnapshot>& resumed)
    : run_(run), params_(run->options.plan.device, run->options.plan.dtype, run->seed) {
  const SolverSpec& spec = run->spec;
  const bool detects = ReadPrecisionRule(spec.param, spec.places).has_value();
  train_ = MakeNet(spec.train, true, run->options.net.batch);
  train_->passes().steps().set_trace(run->options.trace);
  for (const TestNetSource& test : spec.tests) {
    tests_.push_back(MakeNet(test, false, run->options.net.batch));
    if (run->ranks() > 1 && tests_.back()->pass().ranks == 1) {
      LOG(INFO) << "Test net #" << tests_.size() - 1
                << ": each replica runs all batches of a test, because "
                << WhyRanksRepeatTest(*tests_.back());
    }
    if (detects) DetectionOutputs(*tests_.back(), spec.places.At("eval_type"));
  }
  RecordPreprocessing();

  const SourceSize source = FindSource(*train_);
  std::vector<SourceSize> test_sources;
  for (const auto& net : tests_) test_sources.push_back(FindSource(*net));
  run->batch = source.batch * run->microbatches();
  run->schedule = MakeSchedule(spec, {source.samples, run->batch * run->ranks()}, test_sources,
                               DoneBefore(resumed, run->SamplesPerIteration()));
  for (size_t i = 0; i < tests_.size(); ++i) last_tests_.push_back(MakeLastTest(i));
}

// `batch` takes precedence over the batch of the options; see NetOptions.
std::unique_ptr<Net> TrainingNets::MakeNet(const NetSource& source, bool train, int64_t batch) {
  const TrainerOptions& options = run_->options;
  const SolverParameter& solver = run_->spec.param;
  NetOptions net = options.net;
  net.phase = train ? TRAIN : TEST;
  net.batch = batch;
  net.seed = run_->seed;
  // On the host, tests run on one device, with all compute threads.
  const bool one_device = !train && options.plan.device->properties.host_memory;
  if (!train) net.shares = net.microbatches = 1;
  if (one_device) net.place.clear();
  NetSpec spec = MakeNetSpec(source.net, source.places, source.state, net);
  if (!train) DropUnusedRules(&spec);
  spec.debug_info = spec.debug_info || (train && solver.debug_info());

  PlanOptions plan = options.plan;
  plan.backward = train;
  plan.accumulate = solver.iter_size() > 1 || plan.keep_all;
  plan.keep_all |= spec.debug_info;
  plan.gradients_consumed = train && options.world == nullptr && UpdatesPerParameter(*run_);
  if (IsOff(Feature::kSlices, FeaturesOf(run_->spec, options))) plan.gradient_slice_bytes = 0;
  if (!train) plan.saving = {};
  if (one_device) plan.places.clear();
  plan.history_slots = HistorySlots(solver);
  if (UpdatesMatrices(solver)) plan.update_scratch = &MatrixUpdateBytes;
  if (run_->shards()) plan.history_ranks = run_->ranks();
  plan.sync_statistics &= train && options.world != nullptr;
  Graph graph = MakeGraph(std::move(spec));
  Features features = LayerFeaturesOf(graph);
  features.AddIf(!plan.places.empty(), Feature::kPlace);
  if (train) features.Add(FeaturesOf(run_->spec, options));
  CheckCombinations(features);
  // Replicas log only errors, a test's net is made again for its last batch, and most of its layers
  // are the training's, too.
  if (batch == options.net.batch) {
    std::vector<Warning> warnings = LayerWarnings(graph);
    for (const Warning& w : train ? NothingLearned(graph) : StatisticsOfBatches(graph))
      warnings.push_back(w);
    for (const Warning& w : warnings) {
      if (warned_.insert(w.message).second)
        LOG(WARNING) << (w.at.known() ? w.at.ToString() + ": " : "") << w.message;
    }
    for (const std::string& note : SampleNotes(graph)) LOG(INFO) << note;
  }
  if (!train && options.named_errors >= 0) ShowHead(graph, &plan);
  const int parts = run_->ranks() * (train ? run_->microbatches() : 1);
  if (train) WeighRowLosses(parts, &graph);
  auto made = std::make_unique<Net>(std::move(graph), plan, &params_);
  made->pass().writer = run_->rank();
  if (train || WhyRanksRepeatTest(*made).empty()) {
    made->pass().rank = run_->rank();
    made->pass().ranks = parts;
  }
  // A test runs each batch on one rank, so its batches are not part of a larger one.
  if (train && options.world != nullptr) made->pass().group = &options.world->control();
  return made;
}

// Snapshots describe how phase TEST prepares images, because that is how the net will be used.
void TrainingNets::RecordPreprocessing() {
  if (run_->options.net.data != DataMode::kOpen) return;
  std::optional<Preprocessing> test;
  for (const auto& net : tests_) {
    if (!test) test = net->graph().preprocessing;
  }
  if (!test) test = DescribeTestImages(run_->spec.train);
  train_->set_preprocessing(ForUse(test, train_->graph().preprocessing));
}

// Builds the net for a partial last batch of a test. Every rank builds it, so that all ranks need
// the same memory and find the same mistakes. Only the rank whose turn it is runs the batch.
std::unique_ptr<Net> TrainingNets::MakeLastTest(size_t test) {
  const int64_t rows = run_->schedule.last_rows[test];
  if (rows == 0) return nullptr;
  std::unique_ptr<Net> net = WithLastRowsContext(rows, run_->spec.places.At("test_interval"), [&] {
    return MakeNet(run_->spec.tests[test], false, rows);
  });
  net->pass().rank = 0;
  net->pass().ranks = 1;
  return net;
}

std::vector<std::pair<std::string, Net*>> TrainingNets::All() const {
  std::vector<std::pair<std::string, Net*>> nets = {{"", train_.get()}};
  for (size_t i = 0; i < tests_.size(); ++i) nets.emplace_back(TestPrefix(i), tests_[i].get());
  return nets;
}

WeightsReport TrainingNets::Load(const WeightsFile& file) {
  auto copy = [&](const Net& net) {
    return CopyWeights(file, net.graph(), net.plan().param_index, &params_);
  };
  WeightsReport report = copy(*train_);
  if (run_->options.state == nullptr) LogReport(report, file.path);
  // Loads the weights of layers that only a test net has.
  for (const auto& net : tests_) copy(*net);
  return report;
}

}  // namespace doppio
