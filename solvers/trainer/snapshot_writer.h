// Writes snapshots in the background: the caller waits only for a copy in host memory, and a
// separate thread writes the copy to disk. WriteSnapshot (core/net/store/snapshot.h) defines the
// contents and guarantees that a snapshot is either complete or absent.
#ifndef DOPPIO_SOLVERS_TRAINER_SNAPSHOT_WRITER_H_
#define DOPPIO_SOLVERS_TRAINER_SNAPSHOT_WRITER_H_

#include <future>

#include "core/net/store/snapshot.h"

namespace doppio {

// Writes one snapshot at a time. Not thread-safe: one thread calls all methods, between iterations.
class SnapshotWriter {
 public:
  SnapshotWriter() = default;
  // Blocks until the current snapshot is written. Logs a failure that no call has reported.
  ~SnapshotWriter();
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;

  // Blocks until the previous snapshot is written, copies all tensors, and returns while a thread
  // writes the copy. If no memory or thread is available, writes the files before it returns. The
  // graph in `contents` must outlive the write.
  void Write(const SnapshotContents& contents);

  // Returns true if no snapshot is being written. Does not block. If the write has failed, throws
  // its error once.
  bool Check();
  // Blocks until the current snapshot is on disk. If the write has failed, throws its error once.
  void Wait();

 private:
  std::future<void> writing_;
};

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_SNAPSHOT_WRITER_H_
