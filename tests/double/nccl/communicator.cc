// Joining, waiting and leaving. The rest is in collectives.cc.
#include "tests/double/nccl/communicator.h"

#include <cuda_runtime_api.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "tests/double/machine/fault.h"
#include "tests/double/machine/settings.h"

namespace doppio::gpu_double {
namespace {

// Returns 0 without NCCL_HOSTID, like all ranks of one machine.
uint64_t HostNumber() {
  const char* name = std::getenv("NCCL_HOSTID");
  return name == nullptr ? 0 : std::hash<std::string>()(name);
}

void PauseOrRun() {
  if (RunSome()) return;
  const timespec pause = {0, 100'000};
  nanosleep(&pause, nullptr);
}

}  // namespace

NcclCommunicator::NcclCommunicator(std::shared_ptr<Team> team, int size, int rank, bool blocking)
    : team_(std::move(team)),
      size_(size),
      rank_(rank),
      device_(CurrentDevice()),
      blocking_(blocking) {
  Board& board = *team_->board;
  int known = 0;
  if (!board.size().compare_exchange_strong(known, size) && known != size) {
    Fault("nccl", "rank " + std::to_string(rank) + " joins " + std::to_string(size) +
                      " ranks, another one " + std::to_string(known));
  }
  RankSlot& slot = board.slot(rank);
  if (slot.process != 0) Fault("nccl", "rank " + std::to_string(rank) + " joins twice");
  slot.device = device_;
  slot.host = HostNumber();
  // With nccl_fail=join, the last rank never announces itself to the others.
  if (TheSettings().nccl_fail == "join" && rank == size - 1) return;
  slot.process = static_cast<int>(getpid());
}

NcclCommunicator::~NcclCommunicator() {
  if (side_stream_ != nullptr) cudaStreamDestroy(side_stream_);
}

std::string NcclCommunicator::last_error() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return last_error_;
}

int NcclCommunicator::Refuse(int result, const std::string& why) {
  last_error_ = why;
  return result;
}

bool NcclCommunicator::Joined() {
  if (joined_) return true;
  Board& board = *team_->board;
  for (int r = 0; r < size_; ++r) {
    if (board.slot(r).process == 0) return false;
  }
  board.CloseId();
  for (int r = 0; r < size_; ++r) {
    const RankSlot& slot = board.slot(r);
    local_ += slot.process == getpid() ? 1 : 0;
    for (int s = 0; s < r; ++s) {
      if (board.slot(s).device != slot.device || board.slot(s).host != slot.host) continue;
      error_ = Refuse(kNcclInvalidUsage, "Duplicate GPU detected: rank " + std::to_string(s) +
                                             " and rank " + std::to_string(r) + " both on GPU " +
                                             std::to_string(slot.device));
    }
  }
  joined_ = true;
  return true;
}

int NcclCommunicator::State() {
  std::function<int()> deferred;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (error_ != 0) return error_;
    if (!Joined()) return kNcclInProgress;
    if (error_ != 0) return error_;
    for (int r = 0; r < size_; ++r) {
      const RankSlot& slot = team_->board->slot(r);
      if (slot.left == 1 || kill(slot.process, 0) == 0) continue;
      return error_ = Refuse(kNcclRemoteError,
                             "the process of rank " + std::to_string(r) + " has ended");
    }
    if (starting_) return kNcclInProgress;
    if (deferred_ != nullptr) {
      if (--polls_ > 0) return kNcclInProgress;
      deferred.swap(deferred_);
      starting_ = true;
    } else if (finalizing_) {
      int result = kNcclSuccess;
      return WorkIsDone(&result) ? result : kNcclInProgress;
    }
  }
  if (deferred == nullptr) return kNcclSuccess;
  const int result = deferred();
  std::lock_guard<std::mutex> lock(mutex_);
  starting_ = false;
  if (error_ == 0) error_ = result;
  return error_;
}

int NcclCommunicator::Wait() {
  int state = State();
  for (; state == kNcclInProgress; state = State()) PauseOrRun();
  return state;
}

int NcclCommunicator::Finalize() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (finalizing_) return Refuse(kNcclInvalidUsage, "finalized twice");
    finalizing_ = true;
  }
  return blocking_ ? Wait() : static_cast<int>(kNcclInProgress);
}

// Returns true if the work is done. Also returns true, with an error, if the device is lost and the
// work can never be done.
bool NcclCommunicator::WorkIsDone(int* result) {
  if (done_ >= asked_) return true;
  const cudaError_t state = cudaStreamQuery(last_stream_);
  if (state == cudaSuccess || state == cudaErrorNotReady) {
    cudaGetLastError();
    return done_ >= asked_;
  }
  *result = Refuse(kNcclCudaError, cudaGetErrorString(state));
  return true;
}

int NcclCommunicator::Destroy() {
  const int state = Wait();
  if (state != kNcclSuccess) return state;
  while (true) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      int result = kNcclSuccess;
      if (WorkIsDone(&result)) {
        team_->board->slot(rank_).left = 1;
        return result;
      }
    }
    PauseOrRun();
  }
}

void NcclCommunicator::Abort() {
  std::vector<std::shared_ptr<Meeting>> meetings;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    deferred_ = nullptr;
    for (const auto& [number, both] : pending_) {
      if (number >= done_) meetings.insert(meetings.end(), both.begin(), both.end());
    }
  }
  stuck_ = true;
  for (const auto& meeting : meetings) Abandon(meeting);
}

}  // namespace doppio::gpu_double
