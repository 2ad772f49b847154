// Runs a collective from the call to its result. A collective is one piece of work on the rank's
// stream. It meets the work of the other ranks in the process, and waits for data of ranks in other
// processes. A second piece of work behind it blocks the stream if another rank aborts.
#include <cstring>

#include "tests/double/machine/counters.h"
#include "tests/double/machine/fault.h"
#include "tests/double/machine/memory.h"
#include "tests/double/machine/settings.h"
#include "tests/double/nccl/communicator.h"

namespace doppio::gpu_double {
namespace {

constexpr int64_t kFailing = 4;  // number of the collective that nccl_fail=sum makes fail

std::vector<Access> AccessesOf(const void* from, int64_t from_bytes, void* to, int64_t to_bytes) {
  std::vector<Access> accesses;
  const char* read = static_cast<const char*>(from);
  const char* written = static_cast<const char*>(to);
  const bool inside = read >= written && read + from_bytes <= written + to_bytes;
  if (from_bytes > 0 && !inside) accesses.push_back({from, from_bytes, false});
  if (to_bytes > 0) accesses.push_back({to, to_bytes, true});
  return accesses;
}

}  // namespace

void NcclCommunicator::Check(const NcclCall& call, const void* from, const void* to,
                             cudaStream_t stream) const {
  const std::string text = Describe(call) + " of rank " + std::to_string(rank_);
  if (DeviceOf(stream) != device_) {
    Fault("current-device", text + ": the communicator is of GPU " + std::to_string(device_) +
                                ", the stream of GPU " + std::to_string(DeviceOf(stream)));
  }
  const auto check = [&](const void* at, int64_t bytes) {
    if (bytes == 0) return;
    Block block;
    if (!FindBlock(at, &block)) Fault("bounds", text + " of " + gpu_double::Describe(at));
    if (block.device == device_ || block.device == kPinned) return;
    Fault("current-device", text + ": the communicator is of GPU " + std::to_string(device_) +
                                ", the memory is " + gpu_double::Describe(at));
  };
  check(from, BytesFrom(call, rank_, size_));
  check(to, BytesTo(call, rank_, size_));
}

int NcclCommunicator::Start(const NcclCall& call, const void* from, void* to, cudaStream_t stream,
                            bool together) {
  const int state = State();
  std::unique_lock<std::mutex> lock(mutex_);
  if (state == kNcclInProgress)
    return Refuse(kNcclInvalidArgument, "the communicator's last call has not completed");
  if (state != kNcclSuccess) return state;
  if (finalizing_) return Refuse(kNcclInvalidUsage, "the communicator is finalized");
  if (NcclTypeBytes(call.type) == 0 || call.op < 0 || call.op > kNcclAvg || call.root < 0 ||
      call.root >= size_)
    return Refuse(kNcclInvalidArgument, "invalid: " + Describe(call));
  if (IsCaptured(stream)) {
    Forbid(Describe(call) + " inside a capture");
    return Refuse(kNcclCudaError, "the stream is captured");
  }
  lock.unlock();
  Check(call, from, to, stream);
  if (blocking_ || together || Random(2) == 0) return Enqueue(call, from, to, stream);
  lock.lock();
  polls_ = 1 + static_cast<int>(Random(3));
  deferred_ = [this, call, from, to, stream] { return Enqueue(call, from, to, stream); };
  return kNcclInProgress;
}

std::shared_ptr<Joint> NcclCommunicator::JointOf(int64_t number, const NcclCall& call,
                                                 const void* from, void* to) {
  std::lock_guard<std::mutex> lock(team_->mutex);
  std::shared_ptr<Joint>& joint = team_->joints[number];
  if (joint == nullptr) {
    joint = std::make_shared<Joint>(local_);
    joint->call = call;
    joint->first = rank_;
    joint->from.resize(static_cast<size_t>(size_));
    joint->to.resize(static_cast<size_t>(size_));
  }
  if (!(joint->call == call)) {
    Fault("nccl", "collective " + std::to_string(number) + ": rank " +
                      std::to_string(joint->first) + " calls " + Describe(joint->call) + ", rank " +
                      std::to_string(rank_) + " " + Describe(call));
  }
  joint->from[static_cast<size_t>(rank_)] = from;
  joint->to[static_cast<size_t>(rank_)] = to;
  const std::shared_ptr<Joint> own = joint;
  if (++own->called == local_) team_->joints.erase(number);
  return own;
}

int NcclCommunicator::Enqueue(const NcclCall& call, const void* from, void* to,
                              cudaStream_t stream) {
  int current = 0;
  cudaGetDevice(&current);
  const cudaError_t set = cudaSetDevice(device_);  // NCCL does this during a launch
  if (set != cudaSuccess) return kNcclCudaError;
  cudaStream_t runs_on = stream;
  if (Planted("nccl-no-order")) {
    if (side_stream_ == nullptr) cudaStreamCreateWithFlags(&side_stream_, cudaStreamNonBlocking);
    runs_on = side_stream_;
  }
  const auto self = shared_from_this();
  const auto end = std::make_shared<Meeting>(1);
  int64_t number = 0;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    number = asked_++;
    last_stream_ = stream;
    pending_.erase(pending_.begin(), pending_.lower_bound(done_));
    if (TheSettings().nccl_fail == "sum" && number == kFailing) {
      stuck_ = true;
      error_ = rank_ == size_ - 1 ? kNcclSystemError : kNcclRemoteError;
      last_error_ = "the connection to a rank is lost";
    }
  }
  const std::shared_ptr<Joint> joint = JointOf(number, call, from, to);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    pending_[number] = {joint->meeting, end};
  }
  Work work;
  work.what = Describe(call) + " of rank " + std::to_string(rank_) + " of " + std::to_string(size_);
  work.accesses = AccessesOf(from, BytesFrom(call, rank_, size_), to, BytesTo(call, rank_, size_));
  work.meeting = joint->meeting;
  work.ready = ReadyFor(number, call, from);
  work.run = [self, joint, number, call, to]() -> std::vector<Access> {
    if (self->local_ == self->size_) {
      self->ComputeHere(joint.get());
    } else {
      self->ComputeShared(number, call, to);
    }
    self->done_ = number + 1;
    return {};
  };
  Work rest;
  rest.what = "the end of " + work.what;
  rest.counter = nullptr;
  rest.meeting = end;
  rest.ready = [self, number] { return self->done_ > number; };
  cudaError_t error = gpu_double::Enqueue(runs_on, std::move(work));
  if (error == cudaSuccess) {
    error = gpu_double::Enqueue(stream, std::move(rest));
    Count(&Counters::enqueued, -1);  // the call counts only once
  }
  cudaSetDevice(current);
  return error == cudaSuccess ? kNcclSuccess : kNcclCudaError;
}

std::function<bool()> NcclCommunicator::ReadyFor(int64_t number, const NcclCall& call,
                                                 const void* from) {
  const auto self = shared_from_this();
  const auto published = std::make_shared<bool>(false);
  return [self, published, number, call, from] {
    if (self->stuck_ || self->done_ != number) return false;
    if (self->local_ == self->size_) return true;
    Board& board = *self->team_->board;
    if (!*published) {
      for (int r = 0; r < self->size_; ++r) {
        if (board.slot(r).consumed < number) return false;
      }
      self->Publish(number, call, from);
      *published = true;
    }
    for (int r = 0; r < self->size_; ++r) {
      if (board.slot(r).published <= number) return false;
    }
    return true;
  };
}

void NcclCommunicator::Publish(int64_t number, const NcclCall& call, const void* from) {
  Board& board = *team_->board;
  // Device memory opens when the process accesses it, but not in a system call, so the data is
  // copied first.
  std::vector<char> data;
  {
    const OpenMemory open;
    const char* begin = static_cast<const char*>(from);
    data.assign(begin, begin + BytesFrom(call, rank_, size_));
  }
  board.Write(rank_, data.data(), static_cast<int64_t>(data.size()));
  board.slot(rank_).call = call;
  board.slot(rank_).published = number + 1;
}

void NcclCommunicator::ComputeHere(Joint* joint) const {
  if (joint->computed) return;
  joint->computed = true;
  std::vector<std::vector<char>> parts(static_cast<size_t>(size_));
  for (int r = 0; r < size_; ++r) {
    const char* from = static_cast<const char*>(joint->from[static_cast<size_t>(r)]);
    parts[static_cast<size_t>(r)].assign(from, from + BytesFrom(joint->call, r, size_));
  }
  std::vector<char> result;
  for (int r = 0; r < size_; ++r) {
    if (r == 0 || !SameForAll(joint->call)) result = ResultOf(joint->call, r, parts);
    if (!result.empty())
      std::memcpy(joint->to[static_cast<size_t>(r)], result.data(), result.size());
  }
}

void NcclCommunicator::ComputeShared(int64_t number, const NcclCall& call, void* to) {
  Board& board = *team_->board;
  std::vector<std::vector<char>> parts;
  for (int r = 0; r < size_; ++r) {
    if (!(board.slot(r).call == call)) {
      Fault("nccl", "collective " + std::to_string(number) + ": rank " + std::to_string(r) +
                        " calls " + Describe(board.slot(r).call) + ", rank " +
                        std::to_string(rank_) + " " + Describe(call));
    }
    parts.push_back(board.Read(r, BytesFrom(call, r, size_)));
  }
  const std::vector<char> result = ResultOf(call, rank_, parts);
  if (!result.empty()) std::memcpy(to, result.data(), result.size());
  board.slot(rank_).consumed = number + 1;
}

}  // namespace doppio::gpu_double
