#include "tools/sweep/sweep_run.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <thread>
#include <tuple>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "tools/cli/signals.h"
#include "tools/cli/text_table.h"
#include "tools/runs/metrics.h"
#include "tools/sweep/sweep_method.h"
#include "tools/sweep/sweep_plan.h"
#include "tools/sweep/sweep_pruner.h"
#include "tools/sweep/sweep_table.h"
#include "tools/sweep/sweep_tpe.h"
#include "tools/sweep/sweep_trial.h"
#include "tools/train/training_end.h"

namespace doppio {
namespace {

using Clock = std::chrono::steady_clock;

// Intervals for polling the children and for checking which trials to prune.
constexpr auto kPause = std::chrono::milliseconds(20);
constexpr double kPruneSeconds = 0.5;
// The maximum time between the release of a trial's lock and the end of its process, after the
// sweep was killed.
constexpr double kLeaveSeconds = 10;
// A signal that arrives while a program starts may be lost, so it is sent repeatedly.
constexpr double kStopAgainSeconds = 1;

// Returns true if `code` is the exit code of a training that was asked to stop: after a snapshot,
// or immediately if it had not begun its first iteration.
bool WasStopped(int code) {
  return code == static_cast<int>(ExitCode::kStopped) || code == 128 + SIGTERM ||
         code == 128 + SIGINT || code == 128 + SIGUSR1;
}

// Blocks until no process trains in the trial's folder, at most kLeaveSeconds.
void WaitUntilLeft(const std::string& folder, int64_t trial, const MetricRule& metric) {
  const Clock::time_point begin = Clock::now();
  while (ReadProgress(folder, trial, metric).status == "running" &&
         SecondsSince(begin) < kLeaveSeconds) {
    std::this_thread::sleep_for(kPause);
  }
}

class Runner {
 public:
  Runner(const SweepRunOptions& options, SweepJournal* journal)
      : options_(options),
        journal_(journal),
        metric_(ParseMetricRule("metric", journal->settings().metric)),
        planned_(PlannedSets(journal->settings())),
        workers_(options.slots),
        jobs_(options.slots.size()),
        signals_({{SIGINT, Request::kSnapshotStop},
                  {SIGTERM, Request::kSnapshotStop},
                  {SIGUSR1, Request::kSnapshotStop},
                  {SIGUSR2, Request::kSnapshotStop}}),
        pruner_(journal) {}

  bool Run() {
    std::vector<SweepJob> left;
    do {
      for (const Workers::Ended& ended : workers_.Poll()) End(ended.slot, ended.code);
      stopping_ = stopping_ || signals_.Poll() != Request::kNone;
      if (stopping_) StopAll();
      left = Left();
      for (const SweepJob& job : left) {
        const int slot = workers_.FreeSlot();
        if (stopping_ || slot < 0) break;
        Begin(job, slot);
      }
      Prune();
      if (!workers_.Idle()) std::this_thread::sleep_for(kPause);
    } while (!workers_.Idle());
    return left.empty() && given_up_.empty();
  }

 private:
  struct Running {
    bool busy = false, stopped = false;
    SweepJob job;
    Clock::time_point begin;
    int64_t log_begin = 0;
    // Iteration and score at which the trial was pruned.
    std::optional<std::pair<int64_t, double>> pruned;
  };

  // Returns the jobs that may begin now.
  std::vector<SweepJob> Left() const {
    std::vector<SweepJob> jobs = JobsToDo(journal_->settings(), metric_, journal_->trials());
    const auto other = [&](const SweepJob& job) {
      if (options_.only && job.trial != *options_.only) return true;
      if (given_up_.count(job.trial) > 0) return true;
      return std::any_of(jobs_.begin(), jobs_.end(),
                         [&](const Running& r) { return r.busy && r.job == job; });
    };
    jobs.erase(std::remove_if(jobs.begin(), jobs.end(), other), jobs.end());
    return jobs;
  }

  std::vector<std::string> SetsOf(int64_t trial) const {
    const SweepSettings& settings = journal_->settings();
    if (settings.method != "tpe") return planned_[trial];
    const auto& trials = journal_->trials();
    const bool begun = trial < static_cast<int64_t>(trials.size()) && !trials[trial].sets.empty();
    return begun ? trials[trial].sets
                 : TpeSets(options_.python, settings, journal_->folder(), trial);
  }

  void Begin(const SweepJob& job, int slot) {
    const std::vector<std::string> sets = SetsOf(job.trial);
    WaitUntilLeft(journal_->folder(), job.trial, metric_);
    journal_->Begin(job.trial, job.rung, sets);
    Running& running = jobs_[slot];
    running = Running();
    running.busy = true;
    running.job = job;
    running.begin = Clock::now();
    const std::string log = TrialLog(journal_->folder(), job.trial);
    running.log_begin = std::max<int64_t>(0, FileBytes(log));
    const std::string& gpus = options_.slots[slot].gpus;
    const std::vector<std::string> words =
        TrialCommand(options_.program, journal_->settings(), journal_->folder(), job, sets, gpus);
    workers_.Start(slot, {words, journal_->settings().cwd, log});
    std::string values;
    for (const std::string& set : sets) values += " " + set;
    PrintSweepNotice(TrialName(job.trial) + " begins" + (gpus.empty() ? "" : " on GPU " + gpus) +
                     ":" + values);
  }

  void End(int slot, int code) {
    Running& running = jobs_[slot];
    running.busy = false;
    const SweepJob job = running.job;
    const bool stopped = WasStopped(code);
    if (stopped && !running.pruned) {
      given_up_.insert(job.trial);
      PrintSweepNotice(TrialName(job.trial) + " was stopped");
      return;
    }
    SweepJournal::End end =
        EndOf(*journal_, job.trial, job.rung, stopped ? 0 : code, running.log_begin);
    if (stopped) {
      end.state = SweepTrial::kPruned;
      std::tie(end.iter, end.score) = *running.pruned;
      end.error.clear();
    }
    end.seconds = SecondsSince(running.begin);
    journal_->Add(end);
    PrintSweepNotice(EndText(metric_.metric, journal_->trials()[job.trial]));
  }

  void StopAll() {
    const bool first = !asked_to_stop_;
    if (!first && SecondsSince(*asked_to_stop_) < kStopAgainSeconds) return;
    if (first) PrintSweepNotice("stopping; trials write snapshots first");
    asked_to_stop_ = Clock::now();
    workers_.StopAll();
  }

  void Prune() {
    // The process that submits jobs prunes trials that run as jobs.
    if (options_.only || stopping_ || SecondsSince(pruned_at_) < kPruneSeconds) return;
    pruned_at_ = Clock::now();
    for (size_t slot = 0; slot < jobs_.size(); ++slot) {
      Running& running = jobs_[slot];
      if (!running.busy) continue;
      if (!running.pruned) running.pruned = pruner_.PruneAt(running.job.trial);
      if (running.pruned) workers_.Stop(static_cast<int>(slot));
    }
  }

  const SweepRunOptions& options_;
  SweepJournal* const journal_;
  const MetricRule metric_;
  const std::vector<std::vector<std::string>> planned_;
  Workers workers_;
  std::vector<Running> jobs_;  // one per slot
  SignalHandler signals_;
  bool stopping_ = false;
  std::optional<Clock::time_point> asked_to_stop_;
  // Trials that were stopped, by this process or another one. They remain for 'sweep resume'.
  std::set<int64_t> given_up_;
  Clock::time_point pruned_at_;
  Pruner pruner_;
};

}  // namespace

void PrintSweepNotice(const std::string& text) { PrintNotice(isatty(STDERR_FILENO) != 0, text); }

std::string EndText(const std::string& metric, const SweepTrial& trial) {
  const double score = trial.score();
  return StrCat(TrialName(trial.number), " ", Name(trial.state), " at iteration ", trial.iter,
                std::isfinite(score) ? ", " + metric + " " + Significant(score) : "",
                trial.error.empty() ? "" : ": " + trial.error);
}

std::string TrialLog(const std::string& folder, int64_t trial) {
  return TrialFolder(folder, trial) + ".log";
}

SweepJournal::End EndOf(const SweepJournal& journal, int64_t trial, int rung, int code,
                        int64_t log_begin) {
  SweepJournal::End end;
  end.trial = trial;
  end.rung = rung;
  end.score = std::nan("");
  TrialProgress progress;
  try {
    progress =
        ReadProgress(journal.folder(), trial, ParseMetricRule("metric", journal.settings().metric));
  } catch (const FileError& e) {
    progress.why = e.message();
    progress.score = std::nan("");
  }
  end.iter = progress.iter;
  end.seconds = std::max(0.0, progress.seconds - journal.trials()[trial].seconds);
  if (code != 0) {
    end.error = FirstError(TrialLog(journal.folder(), trial), log_begin);
    if (end.error.empty()) {
      end.error = (code > 128 ? "ended by signal " + std::to_string(code - 128)
                              : "exit code " + std::to_string(code)) +
                  "; see " + TrialName(trial) + ".log";
    }
  } else if (!progress.why.empty()) {
    end.error = progress.why;
  }
  if (end.error.empty()) {
    end.score = progress.score;
  } else {
    end.state = SweepTrial::kFailed;
  }
  return end;
}

bool RunTrials(const SweepRunOptions& options, SweepJournal* journal) {
  return Runner(options, journal).Run();
}

}  // namespace doppio
