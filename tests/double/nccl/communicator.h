// A communicator of the NCCL double, as one rank sees it.
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
  bool computed = false;  // needs no lock, because one piece of work runs at a time
};

// The ranks of one communicator that are threads of this process.
struct Team {
  std::shared_ptr<Board> board;
  std::mutex mutex;
  std::map<int64_t, std::shared_ptr<Joint>>
      joints;  // by number; removed when all ranks have called
};

// Methods may be called from any thread, but only one at a time, except State() and Abort().
// Collectives are numbered from 0.
class NcclCommunicator : public std::enable_shared_from_this<NcclCommunicator> {
 public:
  // Joins on the calling thread's current device. Fault("nccl") if the ranks' arguments contradict
  // each other.
  NcclCommunicator(std::shared_ptr<Team> team, int size, int rank, bool blocking);
  ~NcclCommunicator();

  int rank() const { return rank_; }
  int size() const { return size_; }
  int device() const { return device_; }
  bool blocking() const { return blocking_; }
  std::string last_error() const;

  // Returns the NCCL status. It is "in progress" during a join, a deferred call or finalization.
  // Each call advances a deferred call.
  int State();
  // Blocks until State() is no longer "in progress", and runs work meanwhile.
  int Wait();
  // Starts a collective. With `together`, the call is part of a group and is never deferred.
  int Start(const NcclCall& call, const void* from, void* to, cudaStream_t stream, bool together);
  int Finalize();
  // Blocks until all work of this rank is done.
  int Destroy();
  // Drops the rank's unfinished work. Work of the other ranks stays unfinished until they abort
  // too.
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
  std::string last_error_;  // guarded by mutex_, like the members below
  int error_ = 0;           // asynchronous error; permanent
  bool joined_ = false;
  int local_ = 0;                  // ranks in this process; known once joined
  std::function<int()> deferred_;  // the call in progress
  int polls_ = 0;                  // polls until the call advances
  bool starting_ = false, finalizing_ = false;
  std::map<int64_t, std::vector<std::shared_ptr<Meeting>>>
      pending_;        // meetings that may be abandoned
  int64_t asked_ = 0;  // collectives that were called
  cudaStream_t last_stream_ = nullptr;
  cudaStream_t side_stream_ = nullptr;  // for a planted mistake
  std::atomic<int64_t> done_{0};        // collectives that have run
  std::atomic<bool> stuck_{false};      // no further collective will run
};

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_NCCL_COMMUNICATOR_H_
