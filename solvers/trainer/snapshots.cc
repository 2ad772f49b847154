#include "solvers/trainer/snapshots.h"

#include <map>
#include <set>
#include <utility>

#include "core/base/log.h"

namespace doppio {
namespace {

// Throws FileError if a layer has no weights in the file. Such a layer would restart from its
// filler's values, inside a net that has already converged.
void CheckComplete(const WeightsReport& report, const std::string& weights) {
  if (report.missing.empty()) return;
  std::string layers;
  for (const std::string& name : report.missing) {
    layers += (layers.empty() ? "layer '" : ", '") + name + "'";
  }
  throw FileError("'", weights, "' has no weights of ", layers,
                  " of the net, so this training cannot be resumed; resume with the net that the "
                  "snapshot was written with, or start a new training with --weights=",
                  weights);
}

// Exchanges the values of a net's parameters, in the order of its graph, and the last slot of the
// history, which has their averages.
void ExchangeAverages(const Net& net, std::vector<Tensor>* values, std::vector<Tensor>* history) {
  const std::vector<int>& learnable = net.params().learnable();
  std::map<int, Tensor*> averages;  // by parameter of the store
  for (size_t i = 0; i < learnable.size(); ++i)
    averages[learnable[i]] = &(*history)[history->size() - learnable.size() + i];
  for (size_t i = 0; i < values->size(); ++i)
    std::swap((*values)[i], *averages.at(net.plan().param_index[i]));
}

}  // namespace

// Returns the state without weights and history.
SolverSnapshot Snapshots::SolverState() const {
  const TrainingDone& done = run_->schedule.done;
  SolverSnapshot solver;
  solver.iter = run_->iteration;
  RunState& state = solver.run_state;
  tests_->Save(&state);
  SaveNetState("", nets_->train(), &state);
  state.set_seed(run_->seed);
  state.set_samples_seen(run_->samples_seen);
  state.set_iteration_samples(run_->iteration == done.iterations ? done.last_samples
                                                                 : run_->SamplesPerIteration());
  state.set_rule(run_->spec.param.type());
  state.set_run_id(run_->run_id);
  if (update_->update().average().on()) state.set_averaged(true);
  for (float loss : passes_->smoothed().recent()) state.add_recent_loss(loss);
  std::set<std::string> choices;
  for (const auto& [prefix, net] : nets_->All()) {
    for (Device* device : net->plan().devices) {
      for (std::string& line : device->measured_choices().lines()) choices.insert(std::move(line));
    }
  }
  for (const std::string& line : choices) state.add_measured_choice(line);
  update_->Save(&solver);
  return solver;
}

void Snapshots::Take() {
  const TrainerOptions& options = run_->options;
  const SolverParameter& param = run_->spec.param;
  // The guard sees only the updates that the device has finished, so this waits for the last one.
  // The copy below would wait for it anyway.
  options.plan.device->Synchronize();
  guard_->CheckWeights();
  update_->BeginAverage();
  taken_at_ = run_->iteration;
  run_->result.snapshot_taken = true;
  SnapshotContents contents;
  contents.solver = SolverState();
  if (options.world != nullptr)
    GatherCarriedState(&options.world->control(), &contents.solver.run_state);
  const bool hdf5 = param.snapshot_format() == SolverParameter::HDF5;
  contents.names = NamesOfSnapshot(param.snapshot_prefix(), run_->iteration, hdf5);
  last_state_ = contents.names.state;
  WholeHistory history = update_->update().history().Gather(
      run_->shards() ? &options.world->bulk() : nullptr);  // collective
  if (run_->rank() != 0) return;
  if (options.before_snapshot) options.before_snapshot();

  const Net& net = nets_->train();
  contents.graph = &net.graph();
  contents.weights = WeightsOf(net.plan().param_index, net.params(), param.snapshot_diff());
  if (SavesAverages()) ExchangeAverages(net, &contents.weights.values, &history.blobs);
  contents.history = history.blobs;
  Wait();
  const char* kind = hdf5 ? "HDF5" : "binary proto";
  LOG(INFO) << "Snapshotting to " << kind << " file " << contents.names.model;
  LOG(INFO) << "Snapshotting solver state to " << kind << " file " << contents.names.state;
  Trace(options.trace, TraceOf::kHost, "snapshot", "copy for snapshot",
        [&] { writer_.Write(contents); });

  run_->result.model_file = contents.names.model;
  run_->result.state_file = contents.names.state;
  writing_ = TakenSnapshot{run_->iteration, contents.names};
}

// A file of weights has the averages, and its state the weights of the training. During tests of
// the averages, the two are exchanged already.
bool Snapshots::SavesAverages() const {
  const WeightAverage& average = update_->update().average();
  return average.on() && !average.swapped();
}

void Snapshots::Report(bool wait) {
  const std::optional<TakenSnapshot> taken = writing_;
  try {
    if (wait) writer_.Wait();
    if (!writer_.Check()) return;
  } catch (...) {
    writing_.reset();
    taken_at_ = -1;  // the files of that iteration do not exist
    throw;
  }
  writing_.reset();
  if (taken && run_->options.on_snapshot) run_->options.on_snapshot(*taken);
}

void Snapshots::EndWriting() {
  try {
    Wait();
  } catch (const Error& e) {
    LOG(WARNING) << e.what();
  }
}

// Rank 0 does not know the states that other ranks' layers carry, so with several ranks no layer
// may carry one. It does not know their shares of the history either.
bool Snapshots::CanSave() const {
  if (run_->rank() != 0 || run_->stage == TrainingRun::Stage::kUpdate || run_->shards())
    return false;
  if (run_->iteration == run_->first_iteration || !WritesSnapshots(run_->spec.param)) return false;
  RunState carried;
  for (const auto& [prefix, net] : nets_->All()) SaveNetState(prefix, *net, &carried);
  return run_->options.world == nullptr || carried.layer_size() == 0;
}

void Snapshots::SaveAfterFailure(const Error& failure) {
  const ExitCode code = failure.code();
  if (code != ExitCode::kFile && code != ExitCode::kConfig && code != ExitCode::kPeer) return;
  if (!CanSave()) return;
  const int64_t iteration = run_->iteration;
  try {
    EndWriting();
    passes_->GoBack();
    if (taken()) return;
    LOG(WARNING)
        << "Training ends with an error; saving a snapshot of its last complete iteration, "
        << iteration;
    Take();
    Wait();
  } catch (const Error& e) {
    LOG(WARNING) << "The last complete iteration, " << iteration
                 << ", cannot be saved: " << e.what();
  }
}

void Snapshots::Keep() {
  if (run_->stage == TrainingRun::Stage::kUpdate) return;
  passes_->GoBack();
  EndWriting();
  run_->options.elastic->keep(StateInMemory());
}

// Carried states belong to ranks, so the state has none.
TrainerState Snapshots::StateInMemory() const {
  Device* const device = run_->options.plan.device;
  TrainerState state;
  state.solver = SolverState();
  state.solver.run_state.clear_layer();
  state.solver.run_state.set_iter(run_->iteration);
  const Net& net = nets_->train();
  const Graph& graph = net.graph();
  WholeHistory history = update_->update().history().Gather(nullptr);
  std::vector<Tensor> values = WeightsOf(net.plan().param_index, net.params(), false).values;
  if (SavesAverages()) ExchangeAverages(net, &values, &history.blobs);
  for (const Tensor& tensor : history.blobs)
    state.solver.history.push_back(ReadTensor(tensor, device));
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const LayerParameter& layer = graph.layer(static_cast<int>(i)).param;
    LayerBlobs blobs{layer.name(), layer.type(), {}};
    for (const int index : graph.nodes[i].params)
      blobs.blobs.push_back(ReadTensor(values[index], device));
    if (!blobs.blobs.empty()) state.weights.push_back(std::move(blobs));
  }
  state.last_snapshot = last_state_;
  state.tested = tests_->done();
  return state;
}

void Snapshots::Resume(const SolverSnapshot& snapshot) {
  const std::string& file = run_->options.resume;
  const TrainerState* const memory = run_->options.state.get();
  if (memory != nullptr) {
    LOG(INFO) << "Continuing from the state in memory after iteration " << snapshot.iter;
    CheckComplete(nets_->Load({"memory", false, memory->weights, {}}), "memory");
  } else {
    LOG(INFO) << "Restoring previous solver status from " << file;
    CheckComplete(nets_->Load(ReadWeights(snapshot.learned_net)), snapshot.learned_net);
  }
  update_->Restore(snapshot);
  run_->iteration = snapshot.iter;
  run_->samples_seen = run_->schedule.done.samples;
  last_state_ = memory != nullptr ? memory->last_snapshot : file;
  for (float loss : snapshot.run_state.recent_loss()) passes_->smoothed().Add(loss);
  tests_->Restore(snapshot.run_state, memory != nullptr && memory->tested);
  RestoreNets(snapshot.run_state);
}

void Snapshots::RestoreNets(const RunState& state) {
  if (state.has_iter()) {
    for (const auto& [prefix, net] : nets_->All()) {
      WarnIfDataChanged(prefix, state, *net);
      RestorePositions(prefix, state, net);
    }
  } else {
    const int64_t passes = run_->iteration * run_->schedule.iter_size;
    LOG(INFO) << run_->options.resume
              << " does not record the positions in the data; continuing after " << passes
              << " batches";
    SkipPasses(&nets_->train(), passes);
  }
  for (const auto& [prefix, net] : nets_->All()) {
    RestoreCarriedState(prefix, state, *net);
    if (!run_->options.start_over || !SourcesStartOver(*net)) continue;
    SeekSources(net, 0);
    ResetCarriedState(*net);
  }
}

}  // namespace doppio
