// `train`: trains a solver from its start, from weights or from a snapshot, until it ends or a
// signal stops it.
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/whole_number.h"
#include "core/net/store/snapshot.h"
#include "core/net/spec/solver_spec.h"
#include "core/net/store/solver_state.h"
#include "parallel/reduce/texts.h"
#include "solvers/trainer/trainer.h"
#include "tools/cli/command.h"
#include "tools/train/describe.h"
#include "tools/cli/flags.h"
#include "tools/cluster/gpu_readings.h"
#include "tools/cluster/joined.h"
#include "tools/train/lint.h"
#include "tools/train/nets.h"
#include "tools/train/next_steps.h"
#include "tools/train/old_files.h"
#include "tools/train/prefix_lock.h"
#include "tools/cli/progress.h"
#include "tools/cluster/replicas.h"
#include "tools/train/reserved_device.h"
#include "tools/runs/run_folder.h"
#include "tools/runs/run_records.h"
#include "tools/cluster/same_training.h"
#include "tools/cli/signals.h"
#include "tools/train/solver_check.h"
#include "tools/cli/text_table.h"
#include "tools/train/trace.h"
#include "tools/train/training_end.h"

DECLARE_int32(stop_exit_code);
DEFINE_string(snapshot, "", "<FILE> snapshot to go on from (.solverstate)");
DEFINE_string(resume, "",
              "<auto|FILE> like --snapshot; auto (or no value) takes the newest whole one, if any");
DEFINE_bool(dry_run, false, "print nets, kernels and memory; train nothing and write nothing");
DEFINE_string(sigint_effect, "stop",
              "<EFFECT> of SIGINT (Ctrl-C): stop, snapshot, snapshot_stop, none; stop takes a "
              "snapshot unless "
              "snapshot_after_train is false; a second one quits at once");
DEFINE_string(sighup_effect, "snapshot", "<EFFECT> of SIGHUP");
DEFINE_string(sigterm_effect, "snapshot_stop", "<EFFECT> of SIGTERM");
DEFINE_string(sigusr1_effect, "snapshot_stop", "<EFFECT> of SIGUSR1");
DEFINE_string(sigusr2_effect, "snapshot_stop", "<EFFECT> of SIGUSR2");
DEFINE_string(loss_scale, "auto",
              "<auto|dynamic|N> factor on the loss, taken out of the gradients again: N, or one "
              "that is found; auto = "
              "what the net's file says, else dynamic where activations are stored as fp16");
DEFINE_string(
    on_bad_record, "stop",
    "<stop|skip:N> what an image or a record that cannot be read or decoded leads to: stop "
    "= the end with code 4, after a snapshot of the last whole iteration; skip:N = the "
    "record is named and the next one takes its place, for up to N different records of "
    "each data layer and replica");
DEFINE_string(log_format, "auto",
              "<auto|caffe> auto = for people on a terminal, Caffe's lines elsewhere");
DEFINE_string(progress, "auto", "<auto|on|off> the progress line; auto = on a terminal");

namespace doppio {
namespace {

// Returns the terminal for the progress line, or nothing if the progress is logged.
std::optional<Terminal> ProgressTerminal() {
  if (FLAGS_log_format != "auto" && FLAGS_log_format != "caffe") {
    throw UsageError("--log_format wants auto or caffe, got '" + FLAGS_log_format + "'");
  }
  if (FLAGS_progress != "auto" && FLAGS_progress != "on" && FLAGS_progress != "off") {
    throw UsageError("--progress wants auto, on or off, got '" + FLAGS_progress + "'");
  }
  if (FLAGS_log_format == "caffe" || FLAGS_progress == "off") return std::nullopt;
  const std::optional<Terminal> terminal = FindTerminal();
  return terminal || FLAGS_progress == "auto" ? terminal : Terminal();
}

std::map<int, Request> SignalEffects() {
  return {{SIGINT, ParseEffect("sigint_effect", FLAGS_sigint_effect)},
          {SIGHUP, ParseEffect("sighup_effect", FLAGS_sighup_effect)},
          {SIGTERM, ParseEffect("sigterm_effect", FLAGS_sigterm_effect)},
          {SIGUSR1, ParseEffect("sigusr1_effect", FLAGS_sigusr1_effect)},
          {SIGUSR2, ParseEffect("sigusr2_effect", FLAGS_sigusr2_effect)}};
}

// Returns the snapshot to resume from, or "".
std::string SnapshotFromFlags(const SolverParameter& solver) {
  if (FLAGS_resume.empty()) return FLAGS_snapshot;
  if (FLAGS_resume != "auto") return FLAGS_resume;
  const LastRun last = LastRunOf(solver.snapshot_prefix());
  std::optional<std::string> newest = NewestWholeSnapshot(solver.snapshot_prefix(), last.id);
  // The last run ended before its first snapshot, so resume from the snapshot it started from.
  if (!newest && FileExists(last.resumed)) newest = last.resumed;
  if (newest) {
    LOG(INFO) << "--resume=auto: going on from " << *newest;
  } else {
    LOG(INFO) << "--resume=auto: no snapshot " << solver.snapshot_prefix()
              << "_iter_*, starting anew";
  }
  return newest.value_or("");
}

// Rank 0 chooses for all ranks, because another machine may see other files in the folder, or see
// them later.
std::string AgreedSnapshot(ProcessWorld* world, const SolverParameter& solver) {
  if (world == nullptr) return SnapshotFromFlags(solver);
  const std::string own = world->rank() == 0 ? SnapshotFromFlags(solver) : "";
  return BroadcastText(&world->control(), own, 0);
}

// Returns the number of bad records that a data layer may skip.
int64_t BadRecordsFromFlag() {
  constexpr char kSkip[] = "skip:";
  constexpr int64_t kMost = 1'000'000'000;
  if (FLAGS_on_bad_record == "stop") return 0;
  std::optional<int64_t> count;
  if (FLAGS_on_bad_record.rfind(kSkip, 0) == 0)
    count = WholeNumber(FLAGS_on_bad_record.substr(sizeof kSkip - 1));
  if (count && *count >= 1 && *count <= kMost) return *count;
  throw UsageError("--on_bad_record wants stop or skip:N, such as skip:10, got '" +
                   FLAGS_on_bad_record + "'");
}

void CheckStart() {
  if (!FLAGS_resume.empty() && !FLAGS_snapshot.empty()) {
    throw UsageError(
        "--resume and --snapshot both name the snapshot to go on from; give one of them");
  }
  // With --resume=auto, the weights are for the first start, when there is no snapshot.
  const bool snapshot =
      !FLAGS_snapshot.empty() || (!FLAGS_resume.empty() && FLAGS_resume != "auto");
  if (snapshot && !FLAGS_weights.empty()) {
    throw UsageError(
        "a snapshot holds all weights, so --snapshot and --weights exclude each other: --snapshot "
        "to "
        "go on with a training, --weights to start a new one from trained weights");
  }
  InRange("stop_exit_code", FLAGS_stop_exit_code, 0, 255);  // the range of an exit status
}

void LogAllWarnings(const SolverSpec& solver) {
  LogWarnings(WarningsOf(solver));
  if (FLAGS_gpu.empty() && solver.param.has_solver_mode() &&
      solver.param.solver_mode() == SolverParameter::GPU) {
    LOG(WARNING) << "note: solver_mode: GPU, but no --gpu given: running on the CPU";
  }
}

// Returns true and logs a message if the snapshot to resume from is beyond max_iter. Must be called
// before anything is written.
bool NothingToDo(const CommandLine& line, const SolverParameter& solver, const std::string& resume,
                 bool quiet) {
  if (resume.empty() || !solver.has_max_iter()) return false;
  TrainingEnd end;
  end.result.iteration = ReadSolverState(resume).iter;
  end.result.smoothed_loss = std::nan("");
  if (end.result.iteration <= solver.max_iter()) return false;
  if (quiet) return true;
  LOG(INFO) << "nothing to do: already at iteration " << Thousands(end.result.iteration) << " of "
            << Thousands(solver.max_iter());
  if (FLAGS_json) Print(line, end, false);
  return true;
}

TrainerOptions OptionsOf(const std::string& resume, Device* device) {
  TrainerOptions options;
  options.net = OptionsFromFlags(TRAIN, FLAGS_synthetic ? DataMode::kSynthetic : DataMode::kOpen);
  options.net.bad_records = BadRecordsFromFlag();
  options.plan = PlanFromFlags(device);
  if (FLAGS_seed >= 0) options.seed = options.net.seed;
  options.loss_scaling = ParseLossScaling("loss_scale", FLAGS_loss_scale);
  options.resume = resume;
  // --snapshot restarts HDF5 data at the first row, as in Caffe; --resume continues where the run
  // stopped.
  if (!FLAGS_snapshot.empty()) options.restart_type = "HDF5Data";
  if (options.resume.empty()) options.weights = SplitList(FLAGS_weights);
  return options;
}

std::vector<std::string> OldFiles(const Trainer& trainer) {
  std::vector<std::string> files =
      OldSnapshots(trainer.param(), trainer.schedule(), trainer.iteration());
  const std::optional<TraceRequest> request = TraceFromFlags();
  if (request && FileExists(request->file)) files.push_back(request->file);
  CheckOldFiles(files);
  return files;
}

void PrintDryRun(Trainer* trainer, int ranks, int64_t free) {
  for (const std::string& line : DescribeTraining(trainer, ranks, free)) std::cout << line << '\n';
  const std::string old_files = OldFilesText(OldFiles(*trainer));
  if (!old_files.empty()) std::cout << old_files << '\n';
  std::cout << '\n';
  PrintKernels(trainer->train_net(), std::cout);
  for (const auto& net : trainer->test_nets()) {
    std::cout << "\ntest net:\n";
    PrintKernels(*net, std::cout);
  }
  std::cout << "\nNothing was run (--dry_run).\n";
}

// Throws MemoryError if the nets do not fit into `free` bytes. Takes the nets in the order in which
// a training allocates them; in a dry run their memory is only reserved.
void CheckFits(Trainer* trainer, int64_t free) {
  const Device& device = *trainer->params().device();
  int64_t left = free;
  auto take = [&](const MemoryNeed& need) {
    if (free < 0) return;
    need.CheckFits(std::max<int64_t>(0, left), device);
    left -= need.now();
  };
  take(trainer->train_net().plan().memory);
  for (size_t i = 0; i < trainer->test_nets().size(); ++i) {
    take(trainer->test_nets()[i]->plan().memory);
    if (trainer->last_test_nets()[i] != nullptr) take(trainer->last_test_nets()[i]->plan().memory);
  }
}

ExitCode DryRun(const SolverSpec& solver, const TrainerOptions& options, const Replicas& replicas,
                int64_t free) {
  std::unique_ptr<Trainer> trainer;
  try {
    trainer = std::make_unique<Trainer>(solver, options);
  } catch (const MemoryShortage& e) {
    for (const std::string& line :
         DescribeMemory(e.use(), 0, solver.param.type(), *options.plan.device, free)) {
      std::cout << line << '\n';
    }
    throw;
  }
  const std::string ranks = RanksText(*trainer, replicas, options);
  if (!ranks.empty()) std::cout << ranks << "; of each of them:\n";
  PrintDryRun(trainer.get(), replicas.count, free);
  CheckFits(trainer.get(), free);
  return ExitCode::kDone;
}

// Lets processes check that they have the same data. Ranks of one process read the same files.
void AddAgreement(const Replicas& replicas, const World* world, TrainerOptions* options) {
  if (replicas.world == nullptr) return;
  options->before_sharing = [world](Trainer* trainer) {
    CheckSameData(&world->control(), trainer);
  };
}

// Runs a rank other than the first one of its process. It trains as the first rank does, but has no
// output.
void Follow(const SolverSpec& solver, TrainerOptions options, const Replicas& replicas,
            const std::optional<TraceRequest>& request, World* world, Device* device) {
  options.plan.device = device;
  options.world = world;
  options.poll = nullptr;
  options.on_iteration = nullptr;
  options.on_test = nullptr;
  options.on_best = nullptr;
  options.before_snapshot = nullptr;
  options.on_snapshot = nullptr;
  AddAgreement(replicas, world, &options);
  TryLinks(replicas, world, device);
  std::optional<TrainingTrace> trace;
  if (request) trace.emplace(request, nullptr, world, device).AddTo(&options);
  Trainer trainer(solver, options);
  if (trace) trace->Plan(&trainer);
  trainer.Solve();
  if (trace) trace->End();
}

std::vector<std::string> GpuNames(const Replicas& replicas) {
  std::vector<std::string> names;
  for (const auto& device : replicas.devices) {
    if (device->kind() != DeviceKind::kCpu) names.push_back(device->name());
  }
  return names;
}

// Makes rank 0 record a failure of the run. If rank 0 itself is lost, the ranks that notice record
// it.
void RecordFailures(ProcessWorld* world, RunRecords* records, FailureRecord* failures) {
  const bool writes = world == nullptr || world->rank() == 0;
  std::string folder = records->run_dir();
  if (!folder.empty()) folder = std::filesystem::absolute(folder).string();
  if (world != nullptr) folder = BroadcastText(&world->control(), folder, 0);
  if (folder.empty()) return;
  failures->Use([=](const Error& failure) {
    if (writes) {
      records->Fail(failure);
    } else {
      RecordLostRun(folder, failure);
    }
  });
}

// Creates `*records_place` on the way, so that `failures` can record later failures.
ExitCode Train(const CommandLine& line, bool* began, ProcessWorld* world,
               std::unique_ptr<RunRecords>* records_place, FailureRecord* failures) {
  CheckStart();
  const std::map<int, Request> effects = SignalEffects();
  const std::optional<Terminal> terminal = ProgressTerminal();
  const std::optional<TraceRequest> request = TraceFromFlags();
  Replicas replicas = ReplicasFromFlags(world);
  std::optional<QuietLog> quiet;
  if (replicas.process_rank != 0) quiet.emplace();
  const int64_t free = replicas.devices[0]->free_bytes();
  if (FLAGS_dry_run && replicas.devices[0]->kind() == DeviceKind::kCpu)
    replicas.devices[0] = MakeReservedDevice();
  const SolverSpec solver =
      LoadSolver(FLAGS_solver, OverridesOf(line), FLAGS_level, SplitList(FLAGS_stage));
  const bool locks = !FLAGS_dry_run && !quiet && WritesSnapshots(solver.param);
  if (locks) CheckFree(solver.param.snapshot_prefix());
  const std::string resume = AgreedSnapshot(world, solver.param);
  if (world != nullptr) CheckSameTraining(&world->control(), solver, resume);
  if (NothingToDo(line, solver.param, resume, quiet.has_value())) return ExitCode::kDone;
  *records_place =
      std::make_unique<RunRecords>(line, solver, GpuNames(replicas), !FLAGS_dry_run && !quiet);
  RunRecords& records = **records_place;
  RecordFailures(world, &records, failures);
  LogAllWarnings(solver);
  TrainerOptions options = OptionsOf(resume, replicas.devices[0].get());
  AddReplicaFlags(replicas.count, &options);
  records.AddRules(&options);

  std::unique_ptr<ProgressLine> progress;
  std::unique_ptr<GpuWatch> watch;
  if (terminal && !FLAGS_dry_run && !quiet) {
    ShowOnlyWarnings();
    progress = std::make_unique<ProgressLine>(*terminal);
    options.on_iteration = [&](const Progress& p) {
      progress->Iteration(p, watch == nullptr ? GpuReading() : watch->Latest());
    };
    options.on_test = [&](const TestScores& scores) { progress->Test(scores); };
  }
  if (FLAGS_dry_run) {
    // The output would be the same on all ranks.
    return quiet ? ExitCode::kDone
                 : DryRun(solver, options, replicas, free < 0 ? free : free / replicas.Sharing());
  }
  records.AddCallbacks(&options);
  std::unique_ptr<SignalHandler> signals;
  options.poll = [&] { return signals == nullptr ? Request::kNone : signals->Poll(); };
  TrainResult result;
  std::string summed, exchanged, traced;
  nlohmann::json timeline;
  std::optional<PrefixLock> lock;
  options.before_snapshot = [&] {
    if (lock) lock->CheckHeld();
  };
  const auto lead = [&](World* ranks, Device* device) {
    TrainerOptions own = options;
    own.world = ranks;
    AddAgreement(replicas, ranks, &own);
    const std::vector<std::string> links = TryLinks(replicas, ranks, device);
    std::optional<TrainingTrace> trace;
    const auto keep_layers = records.LayersKeeper();
    if (request || keep_layers) trace.emplace(request, keep_layers, ranks, device).AddTo(&own);
    Trainer trainer(solver, own);
    if (trace) trace->Plan(&trainer);
    const std::string batches = RanksText(trainer, replicas, options);
    if (!batches.empty()) Tell(progress != nullptr, batches);
    if (!summed.empty()) Tell(progress != nullptr, summed);
    for (const std::string& text : links) Tell(progress != nullptr, text);
    for (const std::string& text : DescribeTraining(&trainer, replicas.count, free))
      Tell(progress != nullptr, text);
    const std::string old_files = OldFilesText(OldFiles(trainer));
    if (!old_files.empty()) LOG(WARNING) << old_files;
    if (locks) lock.emplace(solver.param.snapshot_prefix(), trainer.run_id(), resume);
    records.Begin(&trainer, own);
    *began = true;
    // Installed only now: while files are read and nets are built, a signal ends the process at
    // once.
    signals = std::make_unique<SignalHandler>(effects, AnnouncingLauncher());
    watch = WatchGpu(*device);
    const int64_t first = trainer.iteration();
    result = trainer.Solve();
    // Recorded before the ranks disconnect, because a launcher that was told to end kills them
    // within one or two seconds.
    records.End(result, CodeOf(line, result));
    exchanged = ExchangeText(trainer, result.iteration - first);
    if (!trace) return;
    trace->End();
    if (!request) return;
    traced = trace->Text();
    timeline = trace->Json();
  };
  RunReplicas(
      replicas,
      [&](World* ranks, Device* device) {
        if (ranks == nullptr || ranks->rank() == replicas.first_rank) {
          lead(ranks, device);
        } else {
          Follow(solver, options, replicas, request, ranks, device);
        }
      },
      &summed);
  if (progress != nullptr) progress->Clear();
  for (const std::string& text : {exchanged, traced}) {
    if (!text.empty()) Tell(progress != nullptr, text);
  }
  std::optional<GpuSummary> gpu;
  if (watch != nullptr) gpu = watch->Summary();
  const TrainingEnd end{result,
                        gpu,
                        timeline,
                        records.ResumeCommandText(),
                        records.metric(),
                        records.run_dir(),
                        FLAGS_log_format == "caffe"
                            ? std::vector<std::string>()
                            : NextSteps(line, solver, result, records.run_dir())};
  if (!quiet) Print(line, end, progress != nullptr);
  return CodeOf(line, result);
}

ExitCode RunTrain(const CommandLine& line, bool* began) {
  std::unique_ptr<RunRecords> records;
  FailureRecord failures;
  try {
    return RunJoined(!FLAGS_dry_run, began, [&](ProcessWorld* world) {
      return Train(line, began, world, &records, &failures);
    });
  } catch (const std::exception& e) {
    if (records != nullptr) records->Fail(e);
    throw;
  }
}

DOPPIO_REGISTER(Commands, "train",
                {"trains a net as a solver says",
                 {"solver",
                  "snapshot",
                  "resume",
                  "weights",
                  "gpu",
                  "cpu_replicas",
                  "comm",
                  "hierarchical",
                  "mpi_library",
                  "stall_timeout",
                  "silence_timeout",
                  "bucket_mb",
                  "reduce_precision",
                  "batch_mode",
                  "scale_lr",
                  "lr_warmup",
                  "check_replicas",
                  "sync_bn",
                  "precision",
                  "loss_scale",
                  "workspace_mb",
                  "deterministic",
                  "cuda_graph",
                  "set",
                  "unset",
                  "dry_run",
                  "synthetic",
                  "batch",
                  "level",
                  "stage",
                  "seed",
                  "data_threads",
                  "max_pixels",
                  "engine",
                  "fusion",
                  "recompute",
                  "offload",
                  "sigint_effect",
                  "sighup_effect",
                  "sigterm_effect",
                  "sigusr1_effect",
                  "sigusr2_effect",
                  "stop_exit_code",
                  "run_dir",
                  "no_overwrite",
                  "take_over",
                  "monitor",
                  "keep_best",
                  "keep_last",
                  "early_stop",
                  "on_nan",
                  "on_bad_record",
                  "log_format",
                  "progress",
                  "trace",
                  "trace_iterations",
                  "json"},
                 {"solver"},
                 "",
                 "doppio train --solver=models/lenet/solver.prototxt --set base_lr=0.02",
                 &RunTrain});

}  // namespace
}  // namespace doppio
