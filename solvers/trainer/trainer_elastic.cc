// A trainer whose ranks may change: the state that outlives it, and what the ranks decide.
#include <chrono>
#include <cstring>
#include <thread>

#include "core/base/log.h"
#include "core/net/store/plain_blob.h"
#include "solvers/trainer/run_state.h"
#include "solvers/trainer/trainer.h"

namespace doppio {
namespace {

// A launcher's signal reaches all its processes within this time.
constexpr std::chrono::milliseconds kSignalSpread(500);

}  // namespace

// Forward changes the statistics of BatchNorm, and an iteration that is dropped must not.
void Trainer::BackUpStatistics() {
  const Tensor statistics = params_.statistics();
  const auto* const from = static_cast<const char*>(statistics.raw);
  statistics_before_.assign(from, from + statistics.bytes());
}

// Sums the gradients before anything of this rank changes. The sum of the losses that follows
// succeeds only if all ranks have got this far, so that a rank lost before that sum leaves all
// others before the update.
void Trainer::ExchangeBeforeUpdate() {
  Trace(options_.trace, TraceOf::kHost, "ranks", "end of exchange",
        [&] { exchange_->Finish(nullptr); });
  exchanged_ = true;
}

// Ends with the state after the last complete iteration in options_.elastic->keep.
void Trainer::KeepState() {
  if (stage_ == Stage::kUpdate) return;
  if (stage_ == Stage::kPass) {
    SetPosition(start_position_, train_net_.get());
    std::memcpy(params_.statistics().raw, statistics_before_.data(), statistics_before_.size());
  }
  stage_ = Stage::kWhole;
  try {
    WaitForSnapshot();
  } catch (const Error& e) {
    LOG(WARNING) << e.what();
  }
  options_.elastic->keep(TakeState());
}

TrainerState Trainer::TakeState() {
  TrainerState state;
  SolverSnapshot& solver = state.solver;
  solver.iter = iter_;
  const LrState& rate = policy_->state();
  solver.current_step = rate.step;
  solver.minimum_loss = rate.minimum_loss;
  solver.iter_last_event = rate.iter_last_event;
  solver.run_state = MakeRunState();
  solver.run_state.clear_layer();
  solver.run_state.set_iter(iter_);
  Device* const device = options_.plan.device;
  for (const Tensor& tensor : update_->History())
    solver.history.push_back(ReadTensor(tensor, device));
  const Graph& graph = train_net_->graph();
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const LayerParameter& layer = graph.layer(static_cast<int>(i)).param;
    LayerBlobs blobs{layer.name(), layer.type(), {}};
    for (const int index : graph.nodes[i].params) {
      const Param& param = params_.param(train_net_->plan().param_index[index]);
      blobs.blobs.push_back(ReadTensor(param.value, device));
    }
    if (!blobs.blobs.empty()) state.weights.push_back(std::move(blobs));
  }
  state.last_snapshot = last_state_;
  state.tested = tested_iter_ == iter_ && !testing_;
  return state;
}

// Returns what all ranks do next. A request to stop concerns only the ranks that have it, as long
// as enough others remain.
Request Trainer::AgreedElasticRequest() {
  bool snapshot = false, stops = false;
  double votes[3];
  const auto vote = [&] {
    const Request own = options_.poll ? options_.poll() : Request::kNone;
    snapshot = snapshot || own == Request::kSnapshot || own == Request::kSnapshotStop;
    stops = stops || own == Request::kStop || own == Request::kSnapshotStop;
    const auto& newcomers = options_.elastic->newcomers;
    votes[0] = snapshot ? 1 : 0;
    votes[1] = stops ? 1 : 0;
    votes[2] = !testing_ && newcomers && newcomers() ? 1 : 0;
    options_.world->control().AllReduce(votes, 3, DType::kFloat64);
  };
  vote();
  if (votes[1] > 0 && votes[1] < ranks()) {
    std::this_thread::sleep_for(kSignalSpread);
    vote();
  }
  const int stopping = static_cast<int>(votes[1]);
  if (stopping > 0 && ranks() - stopping < options_.elastic->least)
    return votes[0] > 0 ? Request::kSnapshotStop : Request::kStop;
  const bool snapshots = votes[0] > stopping;
  if (stopping == 0 && votes[2] == 0) return snapshots ? Request::kSnapshot : Request::kNone;
  result_.world_changes = true;
  result_.leaves = stops;
  return snapshots ? Request::kSnapshotStop : Request::kStop;
}

}  // namespace doppio
