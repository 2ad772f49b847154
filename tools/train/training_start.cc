#include "tools/train/training_start.h"

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/text/whole_number.h"
#include "core/net/store/snapshot.h"
#include "parallel/meeting/texts.h"
#include "tools/cli/flags.h"
#include "tools/nets/nets.h"
#include "tools/train/prefix_lock.h"

namespace doppio {
namespace {

// Returns the snapshot to resume from, or "".
std::string SnapshotFromFlags(const Flags& flags, const SolverParameter& solver) {
  if (flags.resume.empty()) return flags.snapshot;
  if (flags.resume != "auto") return flags.resume;
  const LastRun last = LastRunOf(solver.snapshot_prefix());
  std::optional<std::string> newest = NewestCompleteSnapshot(solver.snapshot_prefix(), last.id);
  // The last run ended before its first snapshot, so resume from the snapshot it started from.
  if (!newest && FileExists(last.resumed)) newest = last.resumed;
  if (newest) {
    LOG(INFO) << "--resume=auto: going on from " << *newest;
  } else {
    LOG(INFO) << "--resume=auto: no snapshot " << solver.snapshot_prefix()
              << "_iter_*, starting a new training";
  }
  return newest.value_or("");
}

// Returns the number of bad records that a data layer may skip.
int64_t BadRecordsFromFlag(const Flags& flags) {
  constexpr char kSkip[] = "skip:";
  constexpr int64_t kMost = 1'000'000'000;
  if (flags.on_bad_record == "stop") return 0;
  std::optional<int64_t> count;
  if (flags.on_bad_record.rfind(kSkip, 0) == 0)
    count = ParseWholeNumber(flags.on_bad_record.substr(sizeof kSkip - 1));
  if (count && *count >= 1 && *count <= kMost) return *count;
  throw UsageError("--on_bad_record needs stop or skip:N, such as skip:10; got '" +
                   flags.on_bad_record + "'");
}

}  // namespace

void CheckStartFlags(const Flags& flags) {
  if (!flags.resume.empty() && !flags.snapshot.empty()) {
    throw UsageError("--resume and --snapshot both name a snapshot; give one of them");
  }
  // With --resume=auto, the weights are for the first start, when there is no snapshot.
  const bool snapshot =
      !flags.snapshot.empty() || (!flags.resume.empty() && flags.resume != "auto");
  if (snapshot && !flags.weights.empty()) {
    throw UsageError(
        "--snapshot and --weights exclude each other, because a snapshot contains all weights; "
        "use --snapshot to resume a training, --weights to start a new one from trained weights");
  }
  InRange("stop_exit_code", flags.stop_exit_code, 0, 255);  // the range of an exit status
}

// Rank 0 chooses for all ranks, because another machine may see other files in the folder, or see
// them later.
std::string AgreedSnapshot(const Flags& flags, ProcessWorld* world, const SolverParameter& solver) {
  if (world == nullptr) return SnapshotFromFlags(flags, solver);
  const std::string own = world->rank() == 0 ? SnapshotFromFlags(flags, solver) : "";
  return BroadcastText(&world->control(), own, 0);
}

TrainerOptions TrainerOptionsFromFlags(const Flags& flags, const std::string& resume,
                                       Device* device) {
  TrainerOptions options;
  options.net =
      OptionsFromFlags(flags, TRAIN, flags.synthetic ? DataMode::kSynthetic : DataMode::kOpen);
  options.net.bad_records = BadRecordsFromFlag(flags);
  options.plan = PlanFromFlags(flags, device);
  if (flags.seed >= 0) options.seed = options.net.seed;
  options.loss_scaling = ParseLossScaling("loss_scale", flags.loss_scale);
  options.resume = resume;
  // With --snapshot, HDF5 data starts over as in Caffe; --resume continues where the run stopped.
  options.start_over = !flags.snapshot.empty();
  if (options.resume.empty()) options.weights = SplitList(flags.weights);
  return options;
}

}  // namespace doppio
