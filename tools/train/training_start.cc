#include "tools/train/training_start.h"

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/text/whole_number.h"
#include "core/net/store/snapshot.h"
#include "parallel/meeting/texts.h"
#include "tools/cli/features.h"
#include "tools/cli/flags.h"
#include "tools/cli/signals.h"
#include "tools/nets/nets.h"
#include "tools/nets/placement.h"
#include "tools/train/prefix_lock.h"

namespace doppio {
namespace {

// Returns the snapshot to resume from, or "".
std::string SnapshotOf(const StartOptions& options, const SolverParameter& solver) {
  if (options.resume.empty()) return options.snapshot;
  if (options.resume != "auto") return options.resume;
  const LastRun last = LastRunOf(solver.snapshot_prefix());
  std::optional<std::string> newest = NewestCompleteSnapshot(solver.snapshot_prefix(), last.id);
  // The last run ended before its first snapshot, so resume from the snapshot it started from.
  if (!newest && FileExists(last.resumed)) newest = last.resumed;
  if (newest) {
    LOG(INFO) << "--resume=auto: resuming from " << *newest;
  } else {
    LOG(INFO) << "--resume=auto: no snapshot " << solver.snapshot_prefix()
              << "_iter_*, starting a new training";
  }
  return newest.value_or("");
}

// Returns the number of bad records that a data layer may skip, from --on_bad_record.
int64_t BadRecordsOf(const std::string& value) {
  constexpr char kSkip[] = "skip:";
  constexpr int64_t kMost = 1'000'000'000;
  if (value == "stop") return 0;
  std::optional<int64_t> count;
  if (value.rfind(kSkip, 0) == 0) count = ParseWholeNumber(value.substr(sizeof kSkip - 1));
  if (count && *count >= 1 && *count <= kMost) return *count;
  throw UsageError("--on_bad_record needs stop or skip:N, such as skip:10; got '" + value + "'");
}

// Returns the terminal for the progress line, or nothing if the progress is logged.
std::optional<Terminal> ProgressTerminal(const OutputOptions& options) {
  CheckValue("log_format", options.log_format, {"auto", "caffe"});
  CheckValue("progress", options.progress, {"auto", "on", "off"});
  if (options.log_format == "caffe" || options.progress == "off") return std::nullopt;
  const std::optional<Terminal> terminal = FindTerminal();
  return terminal || options.progress == "auto" ? terminal : Terminal();
}

}  // namespace

void CheckStart(const StartOptions& options) {
  if (!options.resume.empty() && !options.snapshot.empty()) {
    throw UsageError("--resume and --snapshot both name a snapshot; give one of them");
  }
  // With --resume=auto, the weights are for the first start, when there is no snapshot.
  const bool snapshot =
      !options.snapshot.empty() || (!options.resume.empty() && options.resume != "auto");
  if (snapshot && !options.weights.empty()) {
    throw UsageError(
        "--snapshot and --weights exclude each other, because a snapshot contains all weights; "
        "use --snapshot to resume a training, --weights to start a new one from trained weights");
  }
}

// Rank 0 chooses for all ranks, because another machine may see other files in the folder, or see
// them later.
std::string AgreedSnapshot(const StartOptions& options, ProcessWorld* world,
                           const SolverParameter& solver) {
  if (world == nullptr) return SnapshotOf(options, solver);
  const std::string own = world->rank() == 0 ? SnapshotOf(options, solver) : "";
  return BroadcastText(&world->control(), own, 0);
}

TrainerOptions MakeTrainerOptions(const StartOptions& options, const std::string& resume,
                                  const NetOptions& net, const PlanOptions& plan) {
  TrainerOptions trainer;
  trainer.net = net;
  trainer.net.bad_records = BadRecordsOf(options.on_bad_record);
  trainer.plan = plan;
  trainer.loss_scaling = ParseLossScaling("loss_scale", options.loss_scale);
  trainer.resume = resume;
  // With --snapshot, HDF5 data starts over as in Caffe; --resume continues where the run stopped.
  trainer.start_over = !options.snapshot.empty();
  if (resume.empty()) trainer.weights = SplitList(options.weights);
  return trainer;
}

TrainingRequest::TrainingRequest(const CommandLine& line) : line(line) {
  CheckStart(line.flags);
  effects = SignalEffects(line.flags);
  if (!line.quiet) terminal = ProgressTerminal(line.flags);
  traced = TraceRequestOf(line.flags);
  solver = LoadSolver(line.flags);
  const std::string& monitor = line.flags.monitor;
  Features asked = FeaturesOf(line);
  asked.AddIf(!monitor.empty(), Feature::kMonitor, "--monitor=" + monitor);
  placed = CheckTraining(asked, TrainNetOptions(), solver);
}

NetOptions TrainingRequest::TrainNetOptions() const {
  return MakeNetOptions(line.flags, line.flags.precision, TRAIN, DataMode::kOpen);
}

TrainerOptions TrainingRequest::TrainerOptionsOn(Device* device, const std::string& resume) const {
  TrainerOptions options = MakeTrainerOptions(line.flags, resume, TrainNetOptions(),
                                              MakePlanOptions(line.flags, device));
  if (line.flags.seed >= 0) options.seed = options.net.seed;
  return options;
}

}  // namespace doppio
