// Which snapshots of a training stay: --keep_last and --keep_best.
#ifndef DOPPIO_TOOLS_TRAIN_KEPT_SNAPSHOTS_H_
#define DOPPIO_TOOLS_TRAIN_KEPT_SNAPSHOTS_H_

#include <map>
#include <optional>
#include <string>

#include "solvers/trainer/trainer.h"

namespace doppio {

class KeptSnapshots {
 public:
  // `last`: how many of the newest ones stay; 0: all. `keep_best`: the best one stays however old
  // it is.
  KeptSnapshots(int last, bool keep_best) : last_(last), keep_best_(keep_best) {}

  // On resume: those of this prefix up to that iteration belong to this training, too.
  void AddEarlier(const std::string& prefix, int64_t iteration);
  void SetBest(std::optional<int64_t> iteration) { best_ = iteration; }

  // A snapshot that is whole: files of those that are not to stay are removed.
  void Add(const TakenSnapshot& snapshot);

  // Of the best state, where it has one, and the newest; null without.
  const SnapshotNames* best() const;
  const SnapshotNames* last() const;

 private:
  int last_;
  bool keep_best_;
  std::optional<int64_t> best_;
  std::map<int64_t, SnapshotNames> snapshots_;  // by iteration
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_KEPT_SNAPSHOTS_H_
