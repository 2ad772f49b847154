// One rank's end of a communicator of the double.
#ifndef DOPPIO_TESTS_DOUBLE_NCCL_COMMUNICATOR_H_
#define DOPPIO_TESTS_DOUBLE_NCCL_COMMUNICATOR_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/double/machine/streams.h"
#include "tests/double/nccl/board.h"

namespace doppio::gpu_double {

// One collective of the ranks that are threads of this process.
struct Joint {
  explicit Joint(int members) : meeting(std::make_shared<Meeting>(members)) {}
  NcclCall call;
  int first = 0;  // the rank that called first, for messages
  int called = 0;
  const std::shared_ptr<Meeting> meeting;
  std::vector<const void*> from;  // by rank
  std::vector<void*> to;
  bool computed = false;  // work runs one piece at a time, so it needs no lock
};

// The ranks of one communicator that are threads of this process.
struct Team {
  std::shared_ptr<Board> board;
  std::mutex mutex;
  std::map<int64_t, std::shared_ptr<Joint>> joints;  // by number, until all ranks have called
};

// Methods may be called from any thread, one at a time but for State() and Abort(). Collectives
// have numbers from 0 on.
class NcclCommunicator : public std::enable_shared_from_this<NcclCommunicator> {
 public:
  // Joins on the calling thread's current device. Fault("nccl") where ranks contradict each other.
  NcclCommunicator(std::shared_ptr<Team> team, int size, int rank, bool blocking);
  ~NcclCommunicator();

  int rank() const { return rank_; }
  int size() const { return size_; }
  int device() const { return device_; }
  bool blocking() const { return blocking_; }
  std::string last_error() const;

  // In progress: joining, a deferred call, or finalizing. Moves a deferred call on.
  int State();
  // Blocks until State() is not in progress, and runs work meanwhile.
  int Wait();
  // `together`: the call is part of a group, and never deferred.
  int Start(const NcclCall& call, const void* from, void* to, cudaStream_t stream, bool together);
  int Finalize();
  // Blocks until all own work is done.
  int Destroy();
  // Ends the rank's unfinished work. Work of the other ranks stays unfinished until they abort.
  void Abort();

 private:
  bool Joined();
  int Refuse(int result, const std::string& why);
  bool WorkIsDone(int* result);
  std::shared_ptr<Joint> JointOf(int64_t number, const NcclCall& call, const void* from, void* to);
  void Check(const NcclCall& call, const void* from, const void* to, cudaStream_t stream) const;
  int Enqueue(const NcclCall& call, const void* from, void* to, cudaStream_t stream);
  std::function<bool()> ReadyFor(int64_t number, const NcclCall& call, const void* from);
  void Publish(int64_t number, const NcclCall& call, const void* from);
  void ComputeHere(Joint* joint) const;
  void ComputeShared(int64_t number, const NcclCall& call, void* to);

  const std::shared_ptr<Team> team_;
  const int size_, rank_, device_;
  const bool blocking_;
  mutable std::mutex mutex_;
  std::string last_error_;  // guarded, as what follows
  int error_ = 0;           // asynchronous, for ever
  bool joined_ = false;
  int local_ = 0;                  // ranks of this process; known once joined
  std::function<int()> deferred_;  // the call in progress
  int polls_ = 0;                  // until it is moved on
  bool starting_ = false, finalizing_ = false;
  std::map<int64_t, std::vector<std::shared_ptr<Meeting>>> pending_;  // that may be abandoned
  int64_t asked_ = 0;  // collectives that were called
  cudaStream_t last_stream_ = nullptr;
  cudaStream_t side_stream_ = nullptr;  // for a planted mistake
  std::atomic<int64_t> done_{0};        // collectives that have run
  std::atomic<bool> stuck_{false};      // no further collective ever runs
};

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_NCCL_COMMUNICATOR_H_
