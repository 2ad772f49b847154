// `train`: trains a solver from its start, from weights or from a snapshot, until it ends or a
// signal stops it.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/base/log.h"
#include "core/net/spec/solver_spec.h"
#include "core/net/store/solver_state.h"
#include "solvers/trainer/trainer.h"
#include "tools/cli/command.h"
#include "tools/cli/features.h"
#include "tools/cli/flags.h"
#include "tools/cli/signals.h"
#include "tools/cli/terminal.h"
#include "tools/cli/text_table.h"
#include "tools/cli/word_list.h"
#include "tools/cluster/elastic.h"
#include "tools/cluster/joined.h"
#include "tools/cluster/replicas.h"
#include "tools/cluster/same_training.h"
#include "tools/gpus/gpu_readings.h"
#include "tools/nets/describe.h"
#include "tools/nets/lint.h"
#include "tools/nets/nets.h"
#include "tools/nets/placement.h"
#include "tools/nets/reserved_device.h"
#include "tools/nets/solver_check.h"
#include "tools/runs/record_failures.h"
#include "tools/runs/run_records.h"
#include "tools/timing/trace.h"
#include "tools/train/dry_run.h"
#include "tools/train/next_steps.h"
#include "tools/train/old_files.h"
#include "tools/train/prefix_lock.h"
#include "tools/train/progress.h"
#include "tools/train/save_state.h"
#include "tools/train/training_end.h"
#include "tools/train/training_start.h"

namespace doppio {
namespace {

// Returns the terminal for the progress line, or nothing if the progress is logged.
std::optional<Terminal> ProgressTerminal(const OutputOptions& options) {
  CheckValue("log_format", options.log_format, {"auto", "caffe"});
  CheckValue("progress", options.progress, {"auto", "on", "off"});
  if (options.log_format == "caffe" || options.progress == "off") return std::nullopt;
  const std::optional<Terminal> terminal = FindTerminal();
  return terminal || options.progress == "auto" ? terminal : Terminal();
}

NetOptions TrainNetOptions(const CommandLine& line) {
  return MakeNetOptions(line.flags, line.flags.precision, TRAIN, DataMode::kOpen);
}

// Returns the options of a training on `device` that resumes from the snapshot `resume`, if any.
TrainerOptions OptionsOf(const CommandLine& line, const std::string& resume, Device* device) {
  TrainerOptions options = MakeTrainerOptions(line.flags, resume, TrainNetOptions(line),
                                              MakePlanOptions(line.flags, device));
  if (line.flags.seed >= 0) options.seed = options.net.seed;
  return options;
}

// CheckTraining with all that the command line asks for.
std::optional<Graph> CheckTraining(const CommandLine& line, const SolverSpec& solver) {
  const std::string& monitor = line.flags.monitor;
  Features asked = FeaturesOf(line);
  asked.AddIf(!monitor.empty(), Feature::kMonitor, "--monitor=" + monitor);
  return CheckTraining(asked, TrainNetOptions(line), solver);
}

void LogAllWarnings(const std::string& gpu, const SolverSpec& solver) {
  LogWarnings(WarningsOf(solver));
  if (gpu.empty() && solver.param.has_solver_mode() &&
      solver.param.solver_mode() == SolverParameter::GPU) {
    LOG(WARNING) << "the solver sets solver_mode: GPU, but --gpu is not given: training on the CPU";
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
  if (line.flags.json) Print(line, end, false);
  return true;
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
    if (device->listed()) names.push_back(device->name());
  }
  return names;
}

// A run of `train` in one process, or in an elastic training the part of it in one world.
class Training {
 public:
  // `world` is null if the process is alone. `session` is null unless the training is elastic. All
  // arguments must outlive this object.
  Training(const CommandLine& line, ProcessWorld* world, bool* began, CommonEnd* end,
           ElasticSession* session = nullptr)
      : line_(line),
        flags_(line.flags),
        world_(world),
        began_(began),
        end_(end),
        session_(session) {}

  // Creates `*records` on the way, with which `end` records later failures, and `*signals` when the
  // training begins. The caller keeps `*signals` until the ranks have separated: a launcher may
  // send a signal to one rank after another, and the first one stops all ranks.
  ExitCode Run(std::unique_ptr<RunRecords>* records, std::unique_ptr<SignalHandler>* signals) {
    signals_ = signals;
    CheckStart(flags_);
    effects_ = SignalEffects(flags_);
    terminal_ = ProgressTerminal(flags_);
    request_ = TraceRequestOf(flags_);
    solver_ = LoadSolver(flags_);
    const std::optional<Graph> placed = CheckTraining(line_, solver_);
    OpenRanks();
    if (Locks() && !Continues()) CheckFree(solver_.param.snapshot_prefix(), flags_.take_over);
    if (!Continues()) {
      resume_ = AgreedSnapshot(flags_, world_, solver_.param);
      if (world_ != nullptr)
        CheckSameTraining(SettingsOfTraining(line_, solver_), &world_->control(), resume_);
      if (NothingToDo(line_, solver_.param, resume_, quiet_.has_value())) return ExitCode::kDone;
    }
    if (placed) placed_ = OpenPlaces(flags_, FeaturesOf(line_), *placed, flags_.dry_run);
    if (TakeGpu(&placed_, &replicas_.devices[0])) free_ = replicas_.devices[0]->free_bytes();
    MakeRecords(records);
    const std::string folder = AgreedFolder(world_, *records_);
    if (session_ != nullptr) session_->run_dir = folder;
    const std::shared_ptr<LogFile> log = RecordFailures(world_, folder, records_, end_);
    LogAllWarnings(flags_.gpu, solver_);
    SetOptions();
    if (!flags_.dry_run) return TrainAndLog(log.get());
    // The output would be the same on all ranks.
    if (!quiet_) {
      DryRun(solver_, options_, replicas_,
             {free_ < 0 ? free_ : free_ / replicas_.Sharing(), flags_.trace, flags_.no_overwrite,
              flags_.log_placement});
    }
    return ExitCode::kDone;
  }

  // Returns true if the training continues in another world, with this process.
  bool world_changes() const { return result_.world_changes && !result_.leaves; }

 private:
  // Returns true if an earlier world has begun this training.
  bool Continues() const { return session_ != nullptr && session_->state != nullptr; }

  // The records of an earlier world must be closed before.
  void MakeRecords(std::unique_ptr<RunRecords>* records) {
    CommandLine line = line_;
    const bool takes_over = session_ != nullptr && !session_->first_world();
    if (takes_over && !session_->run_dir.empty()) line.flags.run_dir = session_->run_dir;
    *records = std::make_unique<RunRecords>(line, solver_, GpuNames(replicas_),
                                            !flags_.dry_run && !quiet_, takes_over);
    records_ = records->get();
  }

  // Returns true if this process writes snapshots and so needs the lock of their prefix.
  bool Locks() const { return !flags_.dry_run && !quiet_ && WritesSnapshots(solver_.param); }

  void OpenRanks() {
    replicas_ = OpenReplicas(flags_, flags_, flags_, world_, end_);
    if (replicas_.process_rank != 0) quiet_.emplace();
    free_ = replicas_.devices[0]->free_bytes();
    if (flags_.dry_run && replicas_.devices[0]->host_memory())
      replicas_.devices[0] = MakeReservedDevice();
  }

  void SetOptions() {
    options_ = OptionsOf(line_, resume_, replicas_.devices[0].get());
    AddReplicaOptions(flags_, replicas_.count, &options_);
    options_.plan.places = placed_.by_name;
    options_.plan.runs = !flags_.dry_run;
    records_->AddRules(&options_);
    if (!terminal_ || flags_.dry_run || quiet_) return;
    ShowOnlyWarnings();
    progress_ = std::make_unique<ProgressLine>(*terminal_);
    options_.on_iteration = [this](const Progress& p) {
      progress_->Iteration(p, watch_ == nullptr ? GpuReading() : watch_->Latest());
    };
    options_.on_test = [this](const TestScores& scores) { progress_->Test(scores); };
  }

  // Trains, and adds a failure to `log`, if there is one.
  ExitCode TrainAndLog(LogFile* log) {
    try {
      return TrainAll();
    } catch (const std::exception& failure) {
      if (log != nullptr) log->AddError(AsError(failure).what());
      throw;
    }
  }

  // Trains with all ranks of this process.
  ExitCode TrainAll() {
    records_->AddCallbacks(&options_);
    options_.poll = [this] {
      const Request own = *signals_ == nullptr ? Request::kNone : (*signals_)->Poll();
      return session_ == nullptr ? own : session_->Requested(own);
    };
    if (session_ != nullptr) options_.elastic = session_->Rule();
    options_.before_snapshot = [this] {
      if (lock_) lock_->CheckHeld();
    };
    RunReplicas(
        replicas_,
        [this](World* ranks, Device* device) {
          if (ranks == nullptr || ranks->rank() == replicas_.first_rank) {
            Lead(ranks, device);
          } else {
            Follow(solver_, options_, replicas_, request_, ranks, device);
          }
        },
        &summed_);
    return End();
  }

  void TellUser(const std::string& text) const {
    if (!text.empty()) PrintNotice(progress_ != nullptr, text);
  }

  // Runs the first rank of this process.
  void Lead(World* ranks, Device* device) {
    TrainerOptions own = options_;
    own.world = ranks;
    if (session_ != nullptr) own.state = session_->state;
    AddAgreement(replicas_, ranks, &own);
    const std::vector<std::string> links = TryLinks(replicas_, ranks, device);
    std::optional<TrainingTrace> trace;
    const auto keep_layers = records_->LayersKeeper();
    if (request_ || keep_layers) trace.emplace(request_, keep_layers, ranks, device).AddTo(&own);
    Trainer trainer(solver_, own);
    if (trace) trace->Plan(&trainer);
    if (session_ != nullptr) TellUser(session_->WorldText());
    TellUser(RanksText(trainer, replicas_, options_));
    for (const std::string& text : PlacementLines(trainer.train_net(), flags_.log_placement))
      TellUser(text);
    TellUser(summed_);
    for (const std::string& text : links) TellUser(text);
    for (const std::string& text : DescribeTraining(&trainer, replicas_.count, free_))
      TellUser(text);
    const std::string old_files =
        OldFilesText(OldFiles(trainer, flags_.trace, flags_.no_overwrite));
    if (!old_files.empty()) LOG(WARNING) << old_files;
    if (Locks()) {
      lock_.emplace(solver_.param.snapshot_prefix(), trainer.parts().run.run_id, resume_,
                    flags_.take_over || Continues());
    }
    BeginRecords(&trainer, own);
    *began_ = true;
    // Installed only now: while files are read and nets are built, a signal ends the process at
    // once.
    if (*signals_ == nullptr)
      *signals_ = std::make_unique<SignalHandler>(effects_, AnnouncingLauncher());
    watch_ = WatchGpu(*device);
    const int64_t first = trainer.iteration();
    result_ = trainer.Solve();
    // Recorded before the ranks disconnect, because a launcher that got a signal kills them
    // within one or two seconds.
    if (!result_.world_changes) records_->End(result_, CodeOf(line_, result_));
    exchanged_ = ExchangeText(trainer, result_.iteration - first);
    if (!trace) return;
    trace->End();
    if (!request_) return;
    traced_ = trace->Text();
    timeline_ = trace->Json();
  }

  void BeginRecords(Trainer* trainer, const TrainerOptions& options) {
    records_->Begin(trainer, options);
    if (session_ == nullptr) return;
    const ElasticRoster& roster = session_->member.roster();
    records_->World(static_cast<int>(roster.places.size()), roster.left, roster.came);
    session_->lost.clear();
  }

  // Ends this process, or its part in this world, while the training continues.
  ExitCode EndWorld() const {
    if (result_.leaves) {
      std::cerr << "rank " << world_->rank() << " leaves after iteration " << result_.iteration
                << ", as a signal has requested; the others continue" << std::endl;
    }
    return static_cast<ExitCode>(flags_.stop_exit_code);
  }

  ExitCode End() {
    if (result_.world_changes) return EndWorld();
    if (progress_ != nullptr) progress_->Clear();
    TellUser(exchanged_);
    TellUser(traced_);
    TrainingEnd end;
    end.result = result_;
    if (watch_ != nullptr) end.gpu = watch_->Summary();
    end.timeline = timeline_;
    end.resume_command = records_->ResumeCommandText();
    end.metric = records_->metric();
    end.run_dir = records_->run_dir();
    if (flags_.log_format != "caffe")
      end.next = NextSteps(line_, solver_, result_, records_->run_dir());
    if (!quiet_) Print(line_, end, progress_ != nullptr);
    return CodeOf(line_, result_);
  }

  const CommandLine& line_;
  const Flags& flags_;
  ProcessWorld* const world_;
  bool* const began_;
  CommonEnd* const end_;
  ElasticSession* const session_;  // null unless the training is elastic
  std::map<int, Request> effects_;
  std::optional<Terminal> terminal_;     // for the progress line
  std::optional<TraceRequest> request_;  // of --trace
  Replicas replicas_;
  std::optional<QuietLog> quiet_;  // set unless this process has rank 0
  int64_t free_ = -1;              // free bytes of the first device; negative if unknown
  PlacedDevices placed_;
  SolverSpec solver_;
  std::string resume_;
  RunRecords* records_ = nullptr;
  TrainerOptions options_;
  std::unique_ptr<ProgressLine> progress_;
  std::unique_ptr<GpuWatch> watch_;
  std::unique_ptr<SignalHandler>* signals_ = nullptr;  // the caller's; see Run
  TrainResult result_;
  std::string summed_, exchanged_, traced_;
  nlohmann::json timeline_;
  std::optional<PrefixLock> lock_;
};

ExitCode RunElasticTrain(const CommandLine& line, bool* began) {
  const SolverSpec solver = LoadSolver(line.flags);
  CheckTraining(line, solver);
  JoinOptions joining = line.flags;
  // A rank that is only busy answers in the rendezvous and stays, so the limit may be short.
  if (!line.Given("silence_timeout"))
    joining.silence_timeout = DefaultSeconds(Limit::kElasticSilence);
  CommonEnd end;
  ElasticOptions options = MakeElasticOptions(joining, SettingsOfTraining(line, solver), &end);
  if (line.flags.batch_mode == "total")
    options.usable = DivisorsOfBatch(solver, TrainNetOptions(line));
  std::unique_ptr<RunRecords> records;
  std::unique_ptr<SignalHandler> signals;
  options.interrupted = [&signals] {
    const Request own = signals == nullptr ? Request::kNone : signals->Poll();
    return own == Request::kStop || own == Request::kSnapshotStop;
  };
  ElasticSession session(options);
  const auto work = [&](ProcessWorld* world) -> std::optional<ExitCode> {
    end.SetRecord({});
    records.reset();
    Training training(line, world, began, &end, &session);
    const ExitCode code = training.Run(&records, &signals);
    return training.world_changes() ? std::nullopt : std::optional(code);
  };
  const auto save = [&] {
    const std::unique_ptr<Device> device = MakeCpuDevice();
    TrainerOptions options = OptionsOf(line, "", device.get());
    options.state = session.state;
    SaveState(solver, options, line.flags.take_over);
  };
  try {
    return RunElastic(&session, work, save);
  } catch (const ReportedElsewhere&) {
    throw;
  } catch (const std::exception& e) {
    if (records != nullptr) records->Fail(e);
    throw;
  }
}

ExitCode RunTrain(const CommandLine& line, bool* began) {
  if (!line.flags.elastic.empty() && !line.flags.dry_run) return RunElasticTrain(line, began);
  CommonEnd end;
  std::unique_ptr<RunRecords> records;
  std::unique_ptr<SignalHandler> signals;
  try {
    return RunJoined(line.flags, !line.flags.dry_run, began, &end, [&](ProcessWorld* world) {
      return Training(line, world, began, &end).Run(&records, &signals);
    });
  } catch (const std::exception& e) {
    if (records != nullptr) records->Fail(e);
    throw;
  }
}

DOPPIO_REGISTER(
    Commands, "train",
    {"trains a net with the settings of a solver",
     Words("solver snapshot resume weights gpu place microbatches log_placement cpu_replicas comm "
           "hierarchical launcher "
           "interface mpi_library stall_timeout silence_timeout elastic bucket_mb reduce_precision "
           "shard_update batch_mode scale_lr "
           "lr_warmup check_replicas sync_bn precision loss_scale workspace_mb "
           "deterministic cuda_graph set unset dry_run synthetic batch level stage seed "
           "threads data_threads max_pixels engine fusion winograd recompute offload sigint_effect "
           "sighup_effect sigterm_effect sigusr1_effect sigusr2_effect stop_exit_code "
           "run_dir no_overwrite take_over monitor keep_best keep_last early_stop on_nan "
           "on_bad_record log_format progress trace trace_iterations json"),
     {"solver"},
     "",
     "doppio train --solver=models/lenet/solver.prototxt --set base_lr=0.02",
     &RunTrain});

}  // namespace
}  // namespace doppio
