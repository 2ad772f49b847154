#include "parallel/threads.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "core/base/error.h"
#include "core/tensor/half.h"

namespace doppio {
namespace {

// Where threads meet. A lost one wakes all.
class Meeting {
 public:
  explicit Meeting(int size) : size_(size), shown_(static_cast<size_t>(size)) {}

  // Returns when all have come. What each showed before it came can be seen until it comes again.
  void Arrive() {
    std::unique_lock<std::mutex> lock(mutex_);
    ThrowIfAborted();
    const int64_t meeting = meetings_;
    if (++arrived_ == size_) {
      arrived_ = 0;
      ++meetings_;
      changed_.notify_all();
      return;
    }
    changed_.wait(lock, [&] { return meetings_ != meeting || aborted_; });
    if (meetings_ == meeting) ThrowIfAborted();
  }

  void Show(int rank, void* data) { shown_[static_cast<size_t>(rank)] = data; }
  template <class T>
  T* Shown(int rank) const {
    return static_cast<T*>(shown_[static_cast<size_t>(rank)]);
  }

  void Abort(const std::string& why) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (aborted_) return;
    aborted_ = true;
    why_ = why;
    changed_.notify_all();
  }

  int size() const { return size_; }

 private:
  void ThrowIfAborted() const {
    if (aborted_) throw PeerError(why_);
  }

  const int size_;
  std::vector<void*> shown_;   // Arrive orders writers and readers
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  int64_t meetings_ = 0;
  bool aborted_ = false;
  std::string why_;
};

class ThreadEnd : public Communicator {
 public:
  ThreadEnd(std::shared_ptr<Meeting> meeting, int rank) : meeting_(std::move(meeting)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return meeting_->size(); }

  // Every rank sums its share of the elements and gives it to all: each number is read and written once per rank.
  void AllReduce(void* data, int64_t count, DType dtype) override {
    if (size() == 1) return;
    meeting_->Show(rank_, data);
    meeting_->Arrive();
    DispatchReal(dtype, [&](auto zero) {
      using T = decltype(zero);
      const int64_t begin = count * rank_ / size(), end = count * (rank_ + 1) / size();
      constexpr int64_t kBlock = 4096;   // stays in the first cache while it is summed
      for (int64_t i = begin; i < end; i += kBlock) SumBlock<T>(i, std::min(kBlock, end - i));
    });
    meeting_->Arrive();
  }

  void Broadcast(void* data, int64_t bytes, int root) override {
    if (size() == 1) return;
    meeting_->Show(rank_, data);
    meeting_->Arrive();
    if (rank_ != root && bytes > 0) std::memcpy(data, meeting_->Shown<void>(root), static_cast<size_t>(bytes));
    meeting_->Arrive();
  }

  void Barrier() override { meeting_->Arrive(); }
  void Abort(const std::string& why) override { meeting_->Abort(why); }

 private:
  template <class T>
  void SumBlock(int64_t begin, int64_t count) {
    using Sum = ComputeType<T>;
    Sum sum[4096];
    const T* first = meeting_->Shown<T>(0) + begin;
    for (int64_t i = 0; i < count; ++i) sum[i] = static_cast<Sum>(first[i]);
    for (int r = 1; r < size(); ++r) {
      const T* from = meeting_->Shown<T>(r) + begin;
      for (int64_t i = 0; i < count; ++i) sum[i] += static_cast<Sum>(from[i]);
    }
    for (int r = 0; r < size(); ++r) {
      T* to = meeting_->Shown<T>(r) + begin;
      for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(sum[i]);
    }
  }

  const std::shared_ptr<Meeting> meeting_;
  const int rank_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> MakeThreadTeam(int size) {
  const auto meeting = std::make_shared<Meeting>(size);
  std::vector<std::unique_ptr<Communicator>> ends;
  for (int rank = 0; rank < size; ++rank) ends.push_back(std::make_unique<ThreadEnd>(meeting, rank));
  return ends;
}

}  // namespace doppio
