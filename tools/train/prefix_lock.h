// PREFIX.lock records which run owns the snapshots of a prefix and which process writes them. The
// process holds a lock (flock) on the file for as long as it exists. The file itself remains, so
// that a run that was killed before its first snapshot is still known.
#ifndef DOPPIO_TOOLS_TRAIN_PREFIX_LOCK_H_
#define DOPPIO_TOOLS_TRAIN_PREFIX_LOCK_H_

#include <cstdint>
#include <optional>
#include <string>

namespace doppio {

// The last training that began to write snapshots with this prefix.
struct LastRun {
  // The run's id; nothing if there was no such training or its file is damaged.
  std::optional<uint64_t> id;
  std::string resumed;  // the snapshot from which it resumed, or ""
};
// Reads PREFIX.lock.
LastRun LastRunOf(const std::string& prefix);

// Throws FileError if another process holds the lock, unless `take_over`. Writes nothing.
// If the lock's owner is on another machine, blocks for up to 120 seconds before throwing: that
// machine may have died, its jobs are requeued at once, and the file server releases its locks only
// later.
void CheckFree(const std::string& prefix, bool take_over);

// Holds the lock of a prefix during its lifetime.
class PrefixLock {
 public:
  // Takes the lock for the run with id `run` and records `resumed`; with `take_over`, takes it from
  // the process that holds it. Throws FileError if another process holds the lock or if the file
  // cannot be written. On file systems without locks, nothing is locked.
  PrefixLock(const std::string& prefix, uint64_t run, const std::string& resumed, bool take_over);
  ~PrefixLock();
  PrefixLock(const PrefixLock&) = delete;
  PrefixLock& operator=(const PrefixLock&) = delete;

  // Throws FileError if another training has taken over the prefix.
  void CheckHeld() const;

 private:
  const std::string prefix_;
  int file_ = -1;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_PREFIX_LOCK_H_
