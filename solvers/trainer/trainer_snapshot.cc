// Saves the state of a training run in a snapshot and restores it.
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/net/store/weights.h"
#include "solvers/trainer/run_state.h"
#include "solvers/trainer/trainer.h"

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
  throw FileError("'" + weights + "' has no weights of " + layers +
                  " of the net, so this training cannot be resumed; resume with the net that the "
                  "snapshot was written with, or start a new training with --weights=" +
                  weights);
}

}  // namespace

RunState Trainer::MakeRunState() {
  // A resumed run repeats interrupted tests, so the state has the test data's positions from before
  // the tests.
  RunState state;
  if (testing_) {
    state = *testing_;
  } else {
    for (size_t i = 0; i < test_nets_.size(); ++i)
      SaveNetState(TestPrefix(i), *test_nets_[i], &state);
  }
  SaveNetState("", *train_net_, &state);
  state.set_seed(seed_);
  state.set_samples_seen(samples_seen_);
  state.set_iteration_samples(iter_ == schedule_.done.iterations ? schedule_.done.last_samples
                                                                 : SamplesPerIteration());
  state.set_rule(spec_.param.type());
  state.set_run_id(run_id_);
  for (float loss : smoothed_.recent()) state.add_recent_loss(loss);
  scaler_.Save(&state);
  if (monitor_ && !testing_) monitor_->Save(&state);
  return state;
}

void Trainer::Snapshot() {
  // StopAtNonFiniteWeights sees only the updates that the device has finished, so this waits for
  // the last one. The copy below would wait for it anyway.
  options_.plan.device->Synchronize();
  StopAtNonFiniteWeights();
  snapshot_iter_ = iter_;
  result_.snapshot_taken = true;
  RunState run = MakeRunState();
  if (options_.world != nullptr) GatherCarriedState(&options_.world->control(), &run);
  const bool hdf5 = spec_.param.snapshot_format() == SolverParameter::HDF5;
  const SnapshotNames names = NamesOfSnapshot(spec_.param.snapshot_prefix(), iter_, hdf5);
  last_state_ = names.state;
  const WholeHistory history =
      update_->GatherHistory(shards() ? &options_.world->bulk() : nullptr);  // collective
  if (rank() != 0) return;
  if (options_.before_snapshot) options_.before_snapshot();
  const char* kind = hdf5 ? "HDF5" : "binary proto";

  SnapshotContents contents;
  contents.names = names;
  contents.graph = &train_net_->graph();
  contents.weights =
      WeightsOf(train_net_->plan().param_index, params_, spec_.param.snapshot_diff());
  contents.history = history.blobs;
  contents.solver.iter = iter_;
  const LrState& rate = policy_->state();
  contents.solver.current_step = rate.step;
  contents.solver.minimum_loss = rate.minimum_loss;
  contents.solver.iter_last_event = rate.iter_last_event;
  contents.solver.run_state = std::move(run);
  WaitForSnapshot();
  LOG(INFO) << "Snapshotting to " << kind << " file " << names.model;
  LOG(INFO) << "Snapshotting solver state to " << kind << " file " << names.state;
  Trace(options_.trace, TraceOf::kHost, "snapshot", "copy for snapshot",
        [&] { writer_.Write(contents); });

  result_.model_file = names.model;
  result_.state_file = names.state;
  writing_ = TakenSnapshot{iter_, names};
}

void Trainer::WaitForSnapshot() { SnapshotWritten(true); }

// Returns true if no snapshot is being written, and calls on_snapshot once for the last one. With
// `wait`, blocks until the snapshot is written. Throws the error of a failed write.
bool Trainer::SnapshotWritten(bool wait) {
  const std::optional<TakenSnapshot> taken = writing_;
  try {
    if (wait) writer_.Wait();
    if (!writer_.Check()) return false;
  } catch (...) {
    writing_.reset();
    snapshot_iter_ = -1;  // the files of that iteration do not exist
    throw;
  }
  writing_.reset();
  if (taken && options_.on_snapshot) options_.on_snapshot(*taken);
  return true;
}

// Returns true if rank 0 can save the last complete iteration without the other ranks. Rank 0 does
// not know the states that other ranks' layers carry, so with several ranks no layer may carry one.
// It does not know their shares of the history either.
bool Trainer::CanSaveAfterFailure() const {
  if (rank() != 0 || stage_ == Stage::kUpdate || shards()) return false;
  if (iter_ == first_iter_ || !WritesSnapshots(spec_.param)) return false;
  RunState carried;
  for (const auto& [prefix, net] : AllNets()) SaveNetState(prefix, *net, &carried);
  return options_.world == nullptr || carried.layer_size() == 0;
}

// Saves the last complete iteration before the training ends with `failure`. If a snapshot has
// failed, writes the current state instead; the disk may have room again, because the temporary
// files of the failed snapshot are gone.
void Trainer::SaveAfterFailure(const Error& failure) {
  const ExitCode code = failure.code();
  if (code != ExitCode::kFile && code != ExitCode::kConfig && code != ExitCode::kPeer) return;
  if (!CanSaveAfterFailure()) return;
  try {
    try {
      WaitForSnapshot();
    } catch (const Error& e) {
      LOG(WARNING) << e.what();
    }
    if (stage_ == Stage::kPass) SetPosition(start_position_, train_net_.get());
    stage_ = Stage::kWhole;
    if (snapshot_iter_ != iter_) {
      LOG(WARNING)
          << "Training ends with an error; saving a snapshot of its last complete iteration, "
          << iter_;
      Snapshot();
      WaitForSnapshot();
    }
  } catch (const Error& e) {
    LOG(WARNING) << "The last complete iteration, " << iter_ << ", cannot be saved: " << e.what();
  }
}

// The states of other Caffes do not record the samples. Their batches are taken to be as large as
// the current ones.
TrainingDone Trainer::DoneBefore(const SolverSnapshot& snapshot) const {
  const RunState& run = snapshot.run_state;
  const int64_t now = SamplesPerIteration();
  return {snapshot.iter, run.has_samples_seen() ? run.samples_seen() : snapshot.iter * now,
          run.has_iteration_samples() ? run.iteration_samples() : now};
}

void Trainer::Resume(const SolverSnapshot& snapshot) {
  if (options_.state != nullptr) {
    LOG(INFO) << "Going on from the state in memory after iteration " << snapshot.iter;
    CheckComplete(LoadWeights({"memory", false, options_.state->weights, {}}), "memory");
  } else {
    LOG(INFO) << "Restoring previous solver status from " << options_.resume;
    CheckComplete(LoadWeights(ReadWeights(snapshot.learned_net)), snapshot.learned_net);
  }
  update_->ImportHistory(snapshot.history, options_.resume);
  policy_->Resume(
      {static_cast<int>(snapshot.current_step), snapshot.minimum_loss, snapshot.iter_last_event},
      snapshot.iter);
  iter_ = snapshot.iter;
  samples_seen_ = schedule_.done.samples;
  last_state_ = options_.state != nullptr ? options_.state->last_snapshot : options_.resume;
  if (options_.state != nullptr && options_.state->tested) tested_iter_ = iter_;

  const RunState& run = snapshot.run_state;
  for (float loss : run.recent_loss()) smoothed_.Add(loss);
  scaler_.Restore(run);
  if (monitor_) monitor_->Restore(run);
  if (run.has_iter()) {
    for (const auto& [prefix, net] : AllNets()) {
      WarnIfDataChanged(prefix, run, *net);
      RestorePositions(prefix, run, net);
    }
  } else {
    LOG(INFO) << options_.resume << " does not record the positions in the data; continuing after "
              << iter_ * schedule_.iter_size << " batches";
    SkipPasses(train_net_.get(), iter_ * schedule_.iter_size);
  }
  for (const auto& [prefix, net] : AllNets()) {
    RestoreCarriedState(prefix, run, *net);
    if (!options_.start_over || !SourcesStartOver(*net)) continue;
    SeekSources(net, 0);
    ResetCarriedState(*net);
  }
}

}  // namespace doppio
