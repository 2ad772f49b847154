// Detects stalls of ranks that are threads of one process: some ranks wait in an exchange for
// others that do not arrive, because a read or a library call hangs.
#ifndef DOPPIO_PARALLEL_WATCH_STALL_WATCH_H_
#define DOPPIO_PARALLEL_WATCH_STALL_WATCH_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "parallel/watch/watch.h"

namespace doppio {

class StallWatch {
 public:
  // Calls options.on_lost once, on the watch's own thread, when no rank has made progress for
  // stall_seconds and no rank has left yet. Does nothing if on_lost is empty.
  StallWatch(int ranks, const WatchOptions& options);
  ~StallWatch();
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  // Reports progress of a rank: an exchange begins or ends. `bucket` is the bucket of gradients, or
  // -1 for other exchanges. Thread-safe.
  void Moved(int rank, int64_t bucket);
  // Declares that the rank exchanges nothing more. Ends the detection, because the other ranks may
  // still write files for any length of time.
  void Leave(int rank);

 private:
  struct Rank {
    std::atomic<uint64_t> progress{0};
    std::atomic<int64_t> bucket{-1};
  };

  void Run();
  void Report() const;

  const WatchOptions options_;
  std::vector<Rank> ranks_;
  std::atomic<bool> some_left_{false};
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopped_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_WATCH_STALL_WATCH_H_
