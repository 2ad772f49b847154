// Keeps exchanges that wait on devices out of passes in which a rank of the same process still
// records work or loads code.
//
// A GPU inside an exchange runs a kernel that waits until all ranks have launched theirs. Calls of
// CUDA's that set things up (capture, instantiation of a graph, loading a module, allocation) may
// wait for such a kernel or hold a lock of the process meanwhile, so that another rank's launch
// never comes. Passes that set things up are called fresh.
#ifndef DOPPIO_PARALLEL_GPU_PASS_GATE_H_
#define DOPPIO_PARALLEL_GPU_PASS_GATE_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace doppio {

// Shared by all ranks of a process; every function may be called from any thread. All ranks
// announce their passes in the same order, ask for each of them once, and make the same calls of
// Arrive.
class PassGate {
 public:
  // `moved` is told of each rank that announces or arrives; may be empty.
  explicit PassGate(int ranks, std::function<void(int rank)> moved = {})
      : ranks_(ranks), moved_(std::move(moved)) {}

  // `pass` of this rank begins: 1, 2, ... `fresh`: it sets things up. Does not wait.
  void Announce(int rank, int64_t pass, bool fresh);
  // Returns true if any rank's `pass` is fresh. Waits until all ranks have announced it.
  bool AnyFresh(int64_t pass);
  // Returns when all ranks have arrived.
  void Arrive(int rank);

  // AnyFresh and Arrive that wait for others, and all later calls, throw PeerError with the first
  // `why`.
  void Abort(const std::string& why);

 private:
  struct Announced {
    int ranks = 0, asked = 0;
    bool fresh = false;
  };

  void ThrowIfAbortedLocked() const;

  const int ranks_;
  const std::function<void(int rank)> moved_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int64_t, Announced> passes_;  // that some rank has not asked for; guarded, as the rest
  int arrived_ = 0;
  int64_t arrivals_ = 0;  // of all ranks together
  bool aborted_ = false;
  std::string why_;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_GPU_PASS_GATE_H_
