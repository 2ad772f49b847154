// `train`: trains a solver from its start, from weights or from a snapshot, until it ends or a
// signal stops it.
#include <cmath>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/log.h"
#include "core/net/store/solver_state.h"
#include "solvers/trainer/trainer.h"
#include "tools/cli/command.h"
#include "tools/cli/features.h"
#include "tools/cli/signals.h"
#include "tools/cli/text_table.h"
#include "tools/cli/word_list.h"
#include "tools/cluster/elastic.h"
#include "tools/cluster/joined.h"
#include "tools/cluster/replicas.h"
#include "tools/cluster/same_training.h"
#include "tools/evaluation/evaluation_files.h"
#include "tools/nets/describe.h"
#include "tools/nets/lint.h"
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
#include "tools/train/training_end.h"
#include "tools/train/training_start.h"

namespace doppio {
namespace {

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
void Follow(const TrainingRequest& asked, const Replicas& replicas, TrainerOptions options,
            World* world, Device* device) {
  options.plan.device = device;
  options.world = world;
  AddAgreement(replicas, world, &options);
  TryLinks(replicas, world, device);
  std::optional<TrainingTrace> trace;
  if (asked.traced) trace.emplace(asked.traced, nullptr, world, device).AddTo(&options);
  Trainer trainer(asked.solver, options);
  if (trace) trace->Plan(&trainer);
  trainer.Solve();
  if (trace) trace->End();
}

std::vector<std::string> GpuNames(const Replicas& replicas) {
  std::vector<std::string> names;
  for (const auto& device : replicas.devices) {
    if (device->properties.listed) names.push_back(device->name());
  }
  return names;
}

// The ranks of this process, and their devices.
struct TrainingRanks {
  TrainingRanks(const CommandLine& line, ProcessWorld* world, CommonEnd* end)
      : replicas(OpenReplicas(line.flags, line.flags, line.flags, world, end)) {
    if (!writes()) quiet.emplace();
    std::unique_ptr<Device>& first = replicas.devices[0];
    free_bytes = first->free_bytes();
    if (line.flags.dry_run && first->properties.host_memory) first = MakeReservedDevice();
  }

  // Opens the devices of the layers of `net`, if they may be placed.
  void Place(const CommandLine& line, const std::optional<Graph>& net) {
    if (net) placed = OpenPlaces(line.flags, FeaturesOf(line), *net, line.flags.dry_run);
    if (TakeGpu(&placed, &replicas.devices[0])) free_bytes = replicas.devices[0]->free_bytes();
  }

  // Returns true in the process of rank 0, which writes all output.
  bool writes() const { return replicas.process_rank == 0; }

  Replicas replicas;
  std::optional<QuietLog> quiet;
  int64_t free_bytes = -1;  // of the first device, before the training; negative if unknown
  PlacedDevices placed;
};

// The objects of a `train` process that outlive each single world of its training.
struct TrainingProcess {
  explicit TrainingProcess(bool* began) : began(began) {}

  // Returns what signals have requested.
  Request Poll() const { return signals == nullptr ? Request::kNone : signals->Poll(); }

  bool* const began;
  CommonEnd end;
  // The records of the current world. `end` records failures with them.
  std::unique_ptr<RunRecords> records;
  // Created when the training begins, and kept until the ranks have separated: a launcher may send
  // a signal to one rank after another, and the first one stops all ranks.
  std::unique_ptr<SignalHandler> signals;
  std::unique_ptr<ElasticSession> elastic;  // null unless the training is elastic
};

// The training in one process, or in an elastic training the part of it in one world.
class Training {
 public:
  // `world` is null if the process is alone. All arguments must outlive this object.
  Training(const TrainingRequest& asked, ProcessWorld* world, TrainingProcess* process)
      : asked_(asked),
        flags_(asked.line.flags),
        world_(world),
        process_(*process),
        ranks_(asked.line, world, &process->end) {}

  ExitCode Run() {
    const SolverParameter& solver = asked_.solver.param;
    if (!Continues()) {
      if (Locks()) CheckFree(solver.snapshot_prefix(), flags_.take_over);
      resume_ = AgreedSnapshot(flags_, world_, solver);
      if (world_ != nullptr)
        CheckSameTraining(SettingsOfTraining(asked_.line, asked_.solver), &world_->control(),
                          resume_);
      if (NothingToDo(asked_.line, solver, resume_, !ranks_.writes())) return ExitCode::kDone;
    }
    ranks_.Place(asked_.line, asked_.placed);
    OpenRecords();
    const std::string folder = AgreedFolder(world_, *process_.records);
    if (process_.elastic != nullptr) process_.elastic->run_dir = folder;
    const std::shared_ptr<LogFile> log =
        RecordFailures(world_, folder, process_.records.get(), &process_.end);
    LogAllWarnings(flags_.gpu, asked_.solver);
    SetOptions();
    if (!flags_.dry_run) return TrainAndLog(log.get());
    // The output would be the same on all ranks.
    if (ranks_.writes()) DryRun(asked_, options_, ranks_.replicas, ranks_.free_bytes);
    return ExitCode::kDone;
  }

  // Returns true if the training continues in another world, with this process.
  bool world_changes() const { return end_.result.world_changes && !end_.result.leaves; }

 private:
  // Returns true if an earlier world has begun this training.
  bool Continues() const {
    return process_.elastic != nullptr && process_.elastic->state != nullptr;
  }

  // Returns true if this process writes snapshots and so needs the lock of their prefix.
  bool Locks() const {
    return !flags_.dry_run && ranks_.writes() && WritesSnapshots(asked_.solver.param);
  }

  // The records of an earlier world must be closed before.
  void OpenRecords() {
    CommandLine line = asked_.line;
    const ElasticSession* const elastic = process_.elastic.get();
    const bool takes_over = elastic != nullptr && !elastic->first_world();
    if (takes_over && !elastic->run_dir.empty()) line.flags.run_dir = elastic->run_dir;
    process_.records = std::make_unique<RunRecords>(line, asked_.solver, GpuNames(ranks_.replicas),
                                                    !flags_.dry_run && ranks_.writes(), takes_over);
  }

  // Sets the options of all ranks of this process.
  void SetOptions() {
    options_ = asked_.TrainerOptionsOn(ranks_.replicas.devices[0].get(), resume_);
    AddReplicaOptions(flags_, ranks_.replicas.count, &options_);
    options_.plan.places = ranks_.placed.by_name;
    options_.plan.runs = !flags_.dry_run;
    process_.records->AddRules(&options_);
    if (process_.elastic != nullptr) options_.elastic = process_.elastic->Rule();
    if (asked_.terminal && !flags_.dry_run && ranks_.writes())
      display_.UseTerminal(*asked_.terminal);
  }

  // Trains, and adds a failure to `log`, if there is one.
  ExitCode TrainAndLog(LogFile* log) {
    try {
      std::string summed;
      RunReplicas(
          ranks_.replicas,
          [&](World* ranks, Device* device) {
            if (ranks == nullptr || ranks->rank() == ranks_.replicas.first_rank) {
              Lead(ranks, device, summed);
            } else {
              Follow(asked_, ranks_.replicas, options_, ranks, device);
            }
          },
          &summed);
      return End();
    } catch (const std::exception& failure) {
      if (log != nullptr) log->AddError(AsError(failure).what());
      throw;
    }
  }

  // Returns the options of the first rank of this process.
  TrainerOptions LeadersOptions(World* ranks) {
    TrainerOptions own = options_;
    own.world = ranks;
    AddAgreement(ranks_.replicas, ranks, &own);
    display_.AddTo(&own);
    process_.records->AddCallbacks(&own);
    own.poll = [this] {
      const Request request = process_.Poll();
      return process_.elastic == nullptr ? request : process_.elastic->Requested(request);
    };
    own.before_snapshot = [this] {
      if (lock_) lock_->CheckHeld();
    };
    if (process_.elastic != nullptr) own.state = process_.elastic->state;
    return own;
  }

  // Runs the first rank of this process.
  void Lead(World* ranks, Device* device, const std::string& summed) {
    TrainerOptions own = LeadersOptions(ranks);
    const std::vector<std::string> links = TryLinks(ranks_.replicas, ranks, device);
    std::optional<TrainingTrace> trace;
    const auto keep_layers = process_.records->LayersKeeper();
    if (asked_.traced || keep_layers)
      trace.emplace(asked_.traced, keep_layers, ranks, device).AddTo(&own);
    Trainer trainer(asked_.solver, own);
    if (trace) trace->Plan(&trainer);
    Describe(&trainer, summed, links);
    if (Locks()) {
      lock_.emplace(asked_.solver.param.snapshot_prefix(), trainer.parts().run.run_id, resume_,
                    flags_.take_over || Continues());
    }
    BeginRecords(&trainer, own);
    *process_.began = true;
    // Installed only now: while files are read and nets are built, a signal ends the process at
    // once.
    if (process_.signals == nullptr)
      process_.signals = std::make_unique<SignalHandler>(asked_.effects, AnnouncingLauncher());
    display_.Watch(*device);
    const int64_t first = trainer.iteration();
    end_.result = trainer.Solve();
    // Recorded before the ranks disconnect, because a launcher that got a signal kills them
    // within one or two seconds.
    if (!end_.result.world_changes) {
      RecordEvaluation(process_.records->run_dir(), end_.result, trainer.parts().run.seed);
      process_.records->End(end_.result, CodeOf(asked_.line, end_.result));
    }
    end_.notices.push_back(ExchangeText(trainer, end_.result.iteration - first));
    if (!trace) return;
    trace->End();
    if (!asked_.traced) return;
    end_.notices.push_back(trace->summary().Text());
    end_.timeline = trace->summary().Json();
  }

  // Describes the training to the user before it begins.
  void Describe(Trainer* trainer, const std::string& summed,
                const std::vector<std::string>& links) const {
    if (process_.elastic != nullptr) display_.Tell(process_.elastic->WorldText());
    display_.Tell(RanksText(*trainer, ranks_.replicas, options_));
    display_.Tell(PlacementLines(trainer->train_net(), flags_.log_placement));
    display_.Tell(summed);
    display_.Tell(links);
    display_.Tell(DescribeTraining(trainer, ranks_.replicas.count, ranks_.free_bytes));
    const std::string old_files =
        OldFilesText(OldFiles(*trainer, flags_.trace, flags_.no_overwrite));
    if (!old_files.empty()) LOG(WARNING) << old_files;
  }

  void BeginRecords(Trainer* trainer, const TrainerOptions& options) {
    process_.records->Begin(trainer, options);
    if (process_.elastic == nullptr) return;
    const ElasticRoster& roster = process_.elastic->member.roster();
    process_.records->World(static_cast<int>(roster.places.size()), roster.left, roster.came);
    process_.elastic->lost.clear();
  }

  // Ends this process, or its part in this world, while the training continues.
  ExitCode EndWorld() const {
    if (end_.result.leaves) {
      std::cerr << "rank " << world_->rank() << " leaves after iteration " << end_.result.iteration
                << ", as a signal has requested; the others continue" << std::endl;
    }
    return static_cast<ExitCode>(flags_.stop_exit_code);
  }

  ExitCode End() {
    if (end_.result.world_changes) return EndWorld();
    const RunRecords& records = *process_.records;
    display_.Clear();
    display_.Tell(end_.notices);
    end_.gpu = display_.gpu();
    end_.resume_command = records.ResumeCommandText();
    end_.metric = records.metric();
    end_.run_dir = records.run_dir();
    if (flags_.log_format != "caffe")
      end_.next = NextSteps(asked_.line, asked_.solver, end_.result, end_.run_dir);
    if (ranks_.writes()) Print(asked_.line, end_, display_.on_terminal());
    return CodeOf(asked_.line, end_.result);
  }

  const TrainingRequest& asked_;
  const Flags& flags_;
  ProcessWorld* const world_;
  TrainingProcess& process_;
  TrainingRanks ranks_;
  std::string resume_;      // the snapshot to resume from, or ""
  TrainerOptions options_;  // of all ranks of this process
  TrainingDisplay display_;
  TrainingEnd end_;
  std::optional<PrefixLock> lock_;
};

// Writes a snapshot of the state of a training that continues in memory, if the solver asks for
// snapshots. Logs a warning if it cannot, for example because another process writes snapshots with
// the same prefix and this one does not take over.
void SaveState(const TrainingRequest& asked, const std::shared_ptr<TrainerState>& state) {
  if (!WritesSnapshots(asked.solver.param)) return;
  const std::unique_ptr<Device> device = MakeCpuDevice();
  TrainerOptions options = asked.TrainerOptionsOn(device.get(), "");
  options.state = state;
  try {
    const PrefixLock lock(asked.solver.param.snapshot_prefix(), state->solver.run_state.run_id(),
                          "", asked.line.flags.take_over);
    Trainer trainer(asked.solver, options);
    LOG(WARNING) << "Saving a snapshot of the last complete iteration, " << trainer.iteration()
                 << ", before the training ends";
    trainer.Snapshot();
    trainer.WaitForSnapshot();
  } catch (const Error& e) {
    LOG(WARNING) << "The last complete iteration cannot be saved: " << e.what();
  }
}

ExitCode RunElasticTrain(const CommandLine& line, bool* began) {
  const TrainingRequest asked(line);
  JoinOptions joining = line.flags;
  // A rank that is only busy answers in the rendezvous and stays, so the limit may be short.
  if (!line.Given("silence_timeout"))
    joining.silence_timeout = DefaultSeconds(Limit::kElasticSilence);
  TrainingProcess process(began);
  ElasticOptions options =
      MakeElasticOptions(joining, SettingsOfTraining(line, asked.solver), &process.end);
  if (line.flags.batch_mode == "total")
    options.usable = DivisorsOfBatch(asked.solver, asked.TrainNetOptions());
  options.interrupted = [&process] {
    const Request own = process.Poll();
    return own == Request::kStop || own == Request::kSnapshotStop;
  };
  process.elastic = std::make_unique<ElasticSession>(options);
  const auto work = [&](ProcessWorld* world) -> std::optional<ExitCode> {
    process.end.SetRecord({});
    process.records.reset();
    Training training(asked, world, &process);
    const ExitCode code = training.Run();
    return training.world_changes() ? std::nullopt : std::optional(code);
  };
  try {
    return RunElastic(process.elastic.get(), work,
                      [&] { SaveState(asked, process.elastic->state); });
  } catch (const ReportedElsewhere&) {
    throw;
  } catch (const std::exception& e) {
    if (process.records != nullptr) process.records->Fail(e);
    throw;
  }
}

ExitCode RunTrain(const CommandLine& line, bool* began) {
  if (!line.flags.elastic.empty() && !line.flags.dry_run) return RunElasticTrain(line, began);
  TrainingProcess process(began);
  try {
    return RunJoined(line.flags, !line.flags.dry_run, began, &process.end,
                     [&](ProcessWorld* world) {
                       const TrainingRequest asked(line);
                       return Training(asked, world, &process).Run();
                     });
  } catch (const std::exception& e) {
    if (process.records != nullptr) process.records->Fail(e);
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
