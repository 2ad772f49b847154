// The journal of a sweep, FOLDER/sweep.jsonl: what was asked for, then a line for each trial that
// begins or ends. Lines are only ever added, each synced before the work goes on, so what a killed
// sweep had done is known. Several processes may add to it (tasks of an array job): each line is
// written under a lock.
#ifndef DOPPIO_TOOLS_SWEEP_SWEEP_JOURNAL_H_
#define DOPPIO_TOOLS_SWEEP_SWEEP_JOURNAL_H_

#include <cstdint>
#include <string>
#include <vector>

namespace doppio {

struct SweepSettings {
  std::string solver;               // as it was given, seen from `cwd`
  std::string cwd;                  // where trials run
  std::string method;               // grid, random, halving, ask
  std::vector<std::string> params;  // --param
  int64_t trials = 0;               // planned; 0: as many as are asked for
  int64_t draws = 0;                // trials with random values; 0: they are a grid
  uint64_t seed = 1;
  std::string metric;          // "max:accuracy"
  std::vector<int64_t> rungs;  // halving: max_iter of each rung; otherwise empty, and the solver
                               // says when a trial ends
  int64_t eta = 3;
  int64_t prune_after = -1;        // iterations; -1: nothing is pruned
  std::vector<std::string> train;  // flags of train that all trials have
  std::string gpus;                // "" for the CPU
  int gpus_per_trial = 1;
  int jobs = 1;  // trials at once, on the CPU
};

struct SweepTrial {
  enum State {
    kWaiting,
    kRunning,
    kDone,
    kPruned,
    kFailed
  };  // kRunning: begun and not ended, perhaps since a kill

  int64_t number = 0;
  std::vector<std::string> sets;  // "base_lr=0.01", as --set takes them
  State state = kWaiting;         // in the rung that it has come to
  int rung = 0;
  std::vector<double> scores;  // at the end of each rung that is done; NaN: there is none
  int64_t iter = 0;            // as far as it had come when it last ended
  double seconds = 0;          // of all that ended
  std::string error;           // of a failed one: its first line

  double score() const;  // the last one; NaN where there is none
  bool Ended(int in_rung) const { return rung > in_rung || (rung == in_rung && state > kRunning); }
};

// "done" and its kin.
std::string Name(SweepTrial::State state);
// "base_lr=0.01" -> "base_lr", "0.01". The first '=' outside brackets.
std::pair<std::string, std::string> SplitSet(const std::string& set);

class SweepJournal {
 public:
  // Makes FOLDER/sweep.jsonl, which must not exist. Throws FileError.
  static void Create(const std::string& folder, const SweepSettings& settings);

  // Reads it. To be written to only with `writable`. Throws FileError, which names the line that is
  // damaged; what stands behind the last end of line was being written when a process was killed,
  // and counts as not written.
  SweepJournal(const std::string& folder, bool writable);
  ~SweepJournal();
  SweepJournal(const SweepJournal&) = delete;
  SweepJournal& operator=(const SweepJournal&) = delete;

  const std::string& folder() const { return folder_; }  // absolute
  const SweepSettings& settings() const { return settings_; }
  const std::vector<SweepTrial>& trials() const {
    return trials_;
  }  // by number, as many as have begun or were planned before one

  // While it lives nobody else writes, and all that others have written is known.
  class Hold {
   public:
    explicit Hold(SweepJournal* journal);
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    SweepJournal* journal_;
  };

  void Begin(int64_t trial, int rung, const std::vector<std::string>& sets);
  struct End {
    int64_t trial = 0;
    int rung = 0;
    SweepTrial::State state = SweepTrial::kDone;
    int64_t iter = 0;
    double score = 0, seconds = 0;
    std::string error;
  };
  void Add(const End& end);

 private:
  void Read();
  void Apply(const std::string& line);
  void Append(const std::string& line);
  SweepTrial* TrialAt(int64_t number);

  std::string folder_;
  int file_ = -1;
  int held_ = 0;
  int64_t read_bytes_ = 0, lines_ = 0;
  SweepSettings settings_;
  std::vector<SweepTrial> trials_;
};

// That a process runs the trials of a folder, to its end, however that comes. The trials inherit a
// second lock: after a kill of the sweep they still write their snapshots.
class SweepLock {
 public:
  // Waits up to `patience_s` seconds for trials that a killed sweep has left. Throws FileError when
  // another process runs them, or when they do not end.
  SweepLock(const std::string& folder, double patience_s);
  ~SweepLock();
  SweepLock(const SweepLock&) = delete;
  SweepLock& operator=(const SweepLock&) = delete;

 private:
  int own_ = -1, inherited_ = -1;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_SWEEP_SWEEP_JOURNAL_H_
