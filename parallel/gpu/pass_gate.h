// Prevents exchanges that wait on devices during passes in which a rank of the same process still
// records work or loads code.
//
// A GPU inside an exchange runs a kernel that waits until all ranks have launched it. CUDA
// calls that set things up (capturing or instantiating a graph, loading a module, allocating) may
// wait for such a kernel, or hold a process-wide lock, so that another rank's launch never happens.
// Passes that set things up are called fresh.
#ifndef DOPPIO_PARALLEL_GPU_PASS_GATE_H_
#define DOPPIO_PARALLEL_GPU_PASS_GATE_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "parallel/meeting/meeting.h"

namespace doppio {

// Shared by all ranks of a process. Thread-safe. All ranks must announce their passes in the same
// order, ask for each pass once, and make the same calls of Arrive.
class PassGate {
 public:
  // `moved` is called for each rank that announces or arrives; it may be empty.
  explicit PassGate(int ranks, std::function<void(int rank)> moved = {})
      : moved_(std::move(moved)), ranks_(ranks) {}

  // Announces that this rank begins `pass`: 1, 2, ... `fresh` is true if the pass sets things up.
  // Does not block.
  void Announce(int rank, int64_t pass, bool fresh);
  // Blocks until all ranks have announced `pass`. Returns true if it is fresh for any rank.
  bool AnyFresh(int64_t pass);
  // Blocks until all ranks have arrived.
  void Arrive(int rank);

  // Wakes all waiting calls of AnyFresh and Arrive. They, and all later calls, throw PeerError with
  // the first `why`.
  void Abort(const std::string& why);

 private:
  struct Announced {
    int ranks = 0, asked = 0;
    bool fresh = false;
  };

  const std::function<void(int rank)> moved_;
  Meeting ranks_;  // knows whether the gate is aborted
  std::mutex mutex_;
  std::condition_variable changed_;
  // The passes for which some rank has not asked yet. Guarded by mutex_.
  std::map<int64_t, Announced> passes_;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_GPU_PASS_GATE_H_
