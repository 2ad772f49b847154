#include "tools/sweep/sweep_queue.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <sstream>
#include <thread>
#include <tuple>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "tools/cli/signals.h"
#include "tools/sweep/program_answer.h"
#include "tools/sweep/sweep_method.h"
#include "tools/sweep/sweep_pruner.h"
#include "tools/sweep/sweep_run.h"
#include "tools/sweep/sweep_trial.h"

namespace doppio {
namespace {

using Clock = std::chrono::steady_clock;

// Time between two questions to SLURM: doubled while nothing changes.
constexpr double kLeastPollSeconds = 0.5, kMostPollSeconds = 10;

// Returns the path of the file that holds the number of the trial's job.
std::string JobFile(const std::string& folder, int64_t trial) {
  return TrialFolder(folder, trial) + ".job";
}

std::string FirstWord(const std::string& text) {
  return text.substr(0, text.find_first_of(" ;\n"));
}

class QueueRunner {
 public:
  QueueRunner(int most, SweepJournal* journal)
      : most_(most),
        journal_(journal),
        metric_(ParseMetricRule("metric", journal->settings().metric)),
        pruner_(journal),
        signals_({{SIGINT, Request::kStop},
                  {SIGTERM, Request::kStop},
                  {SIGUSR1, Request::kStop},
                  {SIGUSR2, Request::kStop}}) {}

  bool Run() {
    Adopt();
    while (true) {
      // A job appends the end of its trial before it leaves the queue.
      const std::optional<std::set<std::string>> queued = queue_.Jobs();
      ReadJournal();
      if (queued) Settle(*queued);
      Prune();
      Submit();
      if (jobs_.empty()) return given_up_.empty();
      if (Wait()) {
        PrintSweepNotice(std::to_string(jobs_.size()) + " jobs stay in the queue and continue");
        return false;
      }
    }
  }

 private:
  struct Queued {
    std::string number;  // SLURM's number of the job
    SweepJob job;
  };

  void ReadJournal() { const SweepJournal::Hold read(journal_); }

  std::vector<SweepJob> ToDo() const {
    return JobsToDo(journal_->settings(), metric_, journal_->trials());
  }

  // Takes over the jobs that an earlier process has submitted.
  void Adopt() {
    ReadJournal();
    const std::optional<std::set<std::string>> queued = queue_.Jobs();
    if (!queued)
      throw FileError(
          "SLURM does not answer: squeue failed. Are its commands in PATH, and does it run?");
    for (const SweepJob& job : ToDo()) {
      const std::string file = JobFile(journal_->folder(), job.trial);
      if (!FileExists(file)) continue;
      const std::string number = FirstWord(ReadListedFile(file));
      if (queued->count(number) > 0) jobs_.push_back({number, job});
    }
    if (!jobs_.empty())
      PrintSweepNotice(std::to_string(jobs_.size()) + " jobs of this sweep are in the queue");
  }

  void Announce(const std::string& text) {
    PrintSweepNotice(text);
    changed_ = true;
  }

  // Removes the jobs that have left the queue.
  void Settle(const std::set<std::string>& queued) {
    const auto left = [&](const Queued& q) {
      if (queued.count(q.number) > 0) return false;
      const std::vector<SweepTrial>& trials = journal_->trials();
      const bool known = q.job.trial < static_cast<int64_t>(trials.size());
      if (known && trials[q.job.trial].Ended(q.job.rung)) {
        Announce(EndText(metric_.metric, trials[q.job.trial]));
      } else {
        given_up_.push_back(q.job);
        Announce(TrialName(q.job.trial) + ": job " + q.number +
                 " left the queue before the trial had ended; see " + TrialName(q.job.trial) +
                 ".log");
      }
      return true;
    };
    jobs_.erase(std::remove_if(jobs_.begin(), jobs_.end(), left), jobs_.end());
  }

  // Records a pruned trial before its job is cancelled. If SLURM queues the job again, it finds
  // nothing to do.
  void Prune() {
    const SweepJournal::Hold hold(journal_);
    for (const Queued& queued : jobs_) {
      const int64_t trial = queued.job.trial;
      if (trial >= static_cast<int64_t>(journal_->trials().size()) ||
          journal_->trials()[trial].state != SweepTrial::kRunning) {
        continue;
      }
      const auto at = pruner_.PruneAt(trial);
      if (!at) continue;
      SweepJournal::End end;
      end.trial = trial;
      end.rung = queued.job.rung;
      end.state = SweepTrial::kPruned;
      std::tie(end.iter, end.score) = *at;
      journal_->Add(end);
      queue_.Cancel(queued.number);
    }
  }

  void Submit() {
    for (const SweepJob& job : ToDo()) {
      if (static_cast<int>(jobs_.size()) >= most_) return;
      const auto same = [&](const Queued& q) { return q.job == job; };
      if (std::any_of(jobs_.begin(), jobs_.end(), same) ||
          std::find(given_up_.begin(), given_up_.end(), job) != given_up_.end()) {
        continue;
      }
      const std::string number =
          queue_.Submit(JobScriptOf(journal_->folder()), job.trial, journal_->settings().cwd,
                        TrialLog(journal_->folder(), job.trial));
      WriteFileAtomically(JobFile(journal_->folder(), job.trial), number + "\n");
      jobs_.push_back({number, job});
      Announce(TrialName(job.trial) + " is job " + number);
    }
  }

  // Returns true if a signal arrived before it was time to ask SLURM again.
  bool Wait() {
    const Clock::time_point begin = Clock::now();
    poll_seconds_ = changed_ ? kLeastPollSeconds : std::min(2 * poll_seconds_, kMostPollSeconds);
    changed_ = false;
    while (SecondsSince(begin) < poll_seconds_) {
      if (signals_.Poll() != Request::kNone) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }

  const int most_;  // number of jobs in the queue
  SweepJournal* const journal_;
  const MetricRule metric_;
  SlurmQueue queue_;
  Pruner pruner_;
  SignalHandler signals_;
  bool changed_ = true;  // true if a job was submitted or has ended since SLURM was asked last
  double poll_seconds_ = kLeastPollSeconds;
  std::vector<Queued> jobs_;  // those in the queue
  std::vector<SweepJob>
      given_up_;  // jobs that left the queue early; they remain for `sweep resume`
};

}  // namespace

std::string JobScriptOf(const std::string& folder) { return folder + "/job.sh"; }

std::string SlurmQueue::Submit(const std::string& script, int64_t task, const std::string& cwd,
                               const std::string& log) const {
  const ProgramAnswer answer =
      AskProgram({"sbatch", "--parsable", "--array=" + std::to_string(task), "--chdir=" + cwd,
                  "--output=" + log, script});
  std::string number = FirstWord(answer.text);
  const bool whole = !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
  if (answer.code == 0 && whole) return number;
  throw FileError("sbatch refused the job (code ", answer.code,
                  "): ", answer.text.substr(0, answer.text.find('\n')));
}

std::optional<std::set<std::string>> SlurmQueue::Jobs() const {
  // %F is the number that sbatch has printed, also for a task of an array.
  const ProgramAnswer answer = AskProgram({"squeue", "--me", "--noheader", "--format=%F"});
  if (answer.code != 0) return std::nullopt;
  std::set<std::string> jobs;
  std::istringstream words(answer.text);
  for (std::string word; words >> word;) jobs.insert(word);
  return jobs;
}

void SlurmQueue::Cancel(const std::string& job) const { AskProgram({"scancel", job}); }

bool RunTrialsInQueue(int jobs, SweepJournal* journal) { return QueueRunner(jobs, journal).Run(); }

}  // namespace doppio
