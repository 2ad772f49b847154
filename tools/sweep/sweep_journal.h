// The journal of a sweep, FOLDER/sweep.jsonl. The first line holds the settings; each later line
// records the begin or end of a trial. Lines are only appended, and each line is synced to disk
// before the work continues, so that a killed sweep loses nothing. Several processes, such as the
// tasks of an array job, may append at the same time: each line is written under a lock.
#ifndef DOPPIO_TOOLS_SWEEP_SWEEP_JOURNAL_H_
#define DOPPIO_TOOLS_SWEEP_SWEEP_JOURNAL_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/base/unique_fd.h"

namespace doppio {

struct SweepSettings {
  std::string solver;               // the path as the user gave it, relative to `cwd`
  std::string cwd;                  // the working directory of the trials
  std::string method;               // grid, random, halving, tpe, ask
  std::vector<std::string> params;  // the values of --param
  int64_t trials = 0;               // the planned number of trials; 0 if 'sweep ask' creates them
  int64_t draws = 0;                // the number of trials with random values; 0 for a grid
  uint64_t seed = 1;
  std::string metric;          // "max:accuracy"
  std::vector<int64_t> rungs;  // halving: max_iter of each rung. Empty for other methods, whose
                               // trials end as the solver says.
  int64_t eta = 3;
  int64_t prune_after = -1;        // the first iteration at which trials may be pruned; -1: never
  std::vector<std::string> train;  // flags of train that all trials share
  std::string gpus;                // "" for the CPU
  int gpus_per_trial = 1;
  int jobs = 1;  // concurrent trials on the CPU or, for tpe, at all, or jobs in the queue
  std::string on = "here";  // where trials run: "here" or "slurm"
};

struct SweepTrial {
  // kRunning is also the state of a trial that has begun and whose process was killed. 'sweep tell'
  // records kStopped: a signal has ended the trial, which may continue.
  enum State { kWaiting, kRunning, kStopped, kDone, kPruned, kFailed };

  int64_t number = 0;
  std::vector<std::string> sets;  // values in the form that --set takes, such as "base_lr=0.01"
  State state = kWaiting;         // in rung `rung`
  int rung = 0;
  std::vector<double> scores;  // one per completed rung; NaN if a rung gave no score
  int64_t iter = 0;            // the iteration at its last end
  double seconds = 0;          // total time of all completed rungs
  std::string error;           // for a failed trial: the first line of its error message

  // Returns the last score, or NaN if there is none.
  double score() const;
  // Returns true if the trial has completed the rung, successfully or not.
  bool Ended(int in_rung) const { return rung > in_rung || (rung == in_rung && state > kStopped); }
};

// Returns "waiting", "running", "stopped", "done", "pruned" or "failed".
std::string Name(SweepTrial::State state);
// Splits at the first '=' outside of brackets: "base_lr=0.01" -> {"base_lr", "0.01"}.
std::pair<std::string, std::string> SplitSet(const std::string& set);
// Converts NAME=VALUE texts to an object, with numbers as numbers: {"base_lr": 0.1}.
nlohmann::json SweepValues(const std::vector<std::string>& sets);

// Reads and writes a journal. Not thread-safe.
class SweepJournal {
 public:
  // Creates FOLDER/sweep.jsonl with the settings. Throws FileError if the file exists or cannot be
  // written.
  static void Create(const std::string& folder, const SweepSettings& settings);

  // Opens and reads the journal of `folder`. Begin(), Add() and Hold require `writable`. Text after
  // the last newline was left by a process that was killed while writing, and is ignored. Throws
  // FileError if the file cannot be read; the error names the damaged line, if any.
  SweepJournal(const std::string& folder, bool writable);

  const std::string& folder() const { return folder_; }  // an absolute path
  const SweepSettings& settings() const { return settings_; }
  // Returns the trials by number, up to the last one that has begun.
  const std::vector<SweepTrial>& trials() const { return trials_; }

  // Locks the journal against writers in other processes during its lifetime. The constructor reads
  // all lines that others have written. May be nested.
  class Hold {
   public:
    // Blocks until the lock is free. `journal` must outlive this object. Throws FileError.
    explicit Hold(SweepJournal* journal);
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    SweepJournal* journal_;
  };

  // Records that `trial` begins rung `rung` with the values `sets`. Throws FileError.
  void Begin(int64_t trial, int rung, const std::vector<std::string>& sets);
  struct End {
    int64_t trial = 0;
    int rung = 0;
    SweepTrial::State state = SweepTrial::kDone;
    int64_t iter = 0;
    double score = 0, seconds = 0;
    std::string error;
  };
  // Records the end of a trial in a rung. Throws FileError.
  void Add(const End& end);

 private:
  void Read();
  void Apply(const std::string& line);
  void Append(const std::string& line);
  SweepTrial* TrialAt(int64_t number);

  std::string folder_;
  UniqueFd file_;
  int held_ = 0;
  int64_t read_bytes_ = 0, lines_ = 0;
  SweepSettings settings_;
  std::vector<SweepTrial> trials_;
};

// Marks the folder of a sweep as in use until this process ends for any reason. The trials inherit
// a second lock, because after the sweep was killed its trials still write their snapshots.
class SweepLock {
 public:
  // Blocks for up to `patience_s` seconds while trials of a killed sweep are still running. Throws
  // FileError if another process runs the sweep or if these trials do not end in time.
  SweepLock(const std::string& folder, double patience_s);

 private:
  UniqueFd own_, inherited_;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_SWEEP_SWEEP_JOURNAL_H_
