// PREFIX.lock: which run the snapshots of a prefix belong to, and which process writes them. The
// process holds a lock (flock) on the file until it ends in whatever way; the file stays, so that a
// run that was killed before its first snapshot is known, too.
#ifndef DOPPIO_TOOLS_TRAIN_PREFIX_LOCK_H_
#define DOPPIO_TOOLS_TRAIN_PREFIX_LOCK_H_

#include <cstdint>
#include <optional>
#include <string>

namespace doppio {

// The last training that began to write snapshots of this prefix.
struct LastRun {
  std::optional<uint64_t> id;  // none if there was no such training, or its file is damaged
  std::string resumed;         // the state that it went on from, or ""
};
LastRun LastRunOf(const std::string& prefix);

// Throws FileError if another process holds the lock, unless --take_over is given. Writes nothing.
// Where that process is on another machine, waits first, because that may have died: its jobs are
// queued again at once, but a file server keeps its locks for a while.
void CheckFree(const std::string& prefix);

class PrefixLock {
 public:
  // Takes the lock for a run. Throws FileError as CheckFree does, or if the file cannot be written.
  // Where the file system has no locks, nothing is locked.
  PrefixLock(const std::string& prefix, uint64_t run, const std::string& resumed);
  ~PrefixLock();
  PrefixLock(const PrefixLock&) = delete;
  PrefixLock& operator=(const PrefixLock&) = delete;

  // Throws FileError if another training has taken over.
  void CheckHeld() const;

 private:
  const std::string prefix_;
  int file_ = -1;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_PREFIX_LOCK_H_
