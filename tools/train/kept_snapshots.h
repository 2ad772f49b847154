// Deletes old snapshots of a training, as --keep_last and --keep_best ask. Not thread-safe.
#ifndef DOPPIO_TOOLS_TRAIN_KEPT_SNAPSHOTS_H_
#define DOPPIO_TOOLS_TRAIN_KEPT_SNAPSHOTS_H_

#include <map>
#include <optional>
#include <string>

#include "solvers/trainer/trainer.h"

namespace doppio {

class KeptSnapshots {
 public:
  // `last` is the number of newest snapshots to keep; 0 keeps all. With `keep_best`, the snapshot
  // of the best state is kept regardless of its age.
  KeptSnapshots(int last, bool keep_best) : last_(last), keep_best_(keep_best) {}

  // On resume, adds the existing snapshots of `prefix` up to `iteration`, because they belong to
  // this training.
  void AddEarlier(const std::string& prefix, int64_t iteration);
  // Sets the iteration of the best state, or nothing if there is none yet.
  void SetBest(std::optional<int64_t> iteration) { best_ = iteration; }

  // Adds a completely written snapshot and deletes the files of snapshots that are no longer to be
  // kept.
  void Add(const TakenSnapshot& snapshot);

  // Return the snapshot of the best state and the newest snapshot, or null if there is none. Owned
  // by this object and valid until the next call of Add() or AddEarlier().
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
