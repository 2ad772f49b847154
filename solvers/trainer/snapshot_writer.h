// Writes snapshots while the training goes on: the caller waits for a copy in memory, a thread of
// its own brings that to the disk. What is written, and that it is whole or absent, is
// WriteSnapshot's (core/net/store/snapshot.h).
#ifndef DOPPIO_SOLVERS_TRAINER_SNAPSHOT_WRITER_H_
#define DOPPIO_SOLVERS_TRAINER_SNAPSHOT_WRITER_H_

#include <future>

#include "core/net/store/snapshot.h"

namespace doppio {

// One snapshot at a time. Used by one thread, between iterations. The files are there after Wait.
class SnapshotWriter {
 public:
  SnapshotWriter() = default;
  // Waits; a failure that nobody has been told of is logged.
  ~SnapshotWriter();
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;

  // Waits for the snapshot before, copies all tensors, and returns while they are written. Without
  // memory for the copies, or a thread, it returns when the files are there. The graph outlives the
  // writing.
  void Write(const SnapshotContents& contents);

  // Both throw what the writing has failed with, once. Check does not wait for its end, but says
  // whether nothing is being written.
  bool Check();
  void Wait();

 private:
  std::future<void> writing_;
};

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_SNAPSHOT_WRITER_H_
