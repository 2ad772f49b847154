#include "parallel/world/threads.h"

#include <algorithm>
#include <cstring>

#include "core/tensor/half.h"
#include "parallel/world/meeting.h"

namespace doppio {
namespace {

class ThreadEnd : public Communicator {
 public:
  ThreadEnd(std::shared_ptr<Meeting> meeting, int rank, RankMoved moved)
      : meeting_(std::move(meeting)), rank_(rank), moved_(std::move(moved)) {}

  int rank() const override { return rank_; }
  int size() const override { return meeting_->size(); }
  void SetBucket(int64_t bucket) override { bucket_ = bucket; }

  // Each rank sums its share of the elements over all ranks and writes it to all ranks, so each
  // number is read and written once per rank.
  void AllReduce(void* data, int64_t count, DType dtype) override {
    if (size() == 1) return;
    meeting_->Show(rank_, data);
    Arrive();
    DispatchReal(dtype, [&](auto zero) {
      using T = decltype(zero);
      const int64_t begin = count * rank_ / size(), end = count * (rank_ + 1) / size();
      constexpr int64_t kBlock = 4096;  // a block stays in the L1 cache while it is summed
      for (int64_t i = begin; i < end; i += kBlock) SumBlock<T>(i, std::min(kBlock, end - i));
    });
    meeting_->Leave();
  }

  void Broadcast(void* data, int64_t bytes, int root) override {
    if (size() == 1) return;
    meeting_->Show(rank_, data);
    Arrive();
    if (rank_ != root && bytes > 0) std::memcpy(data, meeting_->Shown<void>(root), bytes);
    meeting_->Leave();
  }

  void Barrier() override { Arrive(); }
  void Abort(const std::string& why) override { meeting_->Abort(why); }

 private:
  // Waits for the other ranks. A stalled rank blocks the other ranks here.
  void Arrive() {
    if (moved_) moved_(rank_, bucket_);
    meeting_->Arrive();
    if (moved_) moved_(rank_, bucket_);
  }

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
  const RankMoved moved_;
  int64_t bucket_ = -1;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> MakeThreadTeam(int size, const RankMoved& moved) {
  const auto meeting = std::make_shared<Meeting>(size);
  std::vector<std::unique_ptr<Communicator>> ends;
  for (int rank = 0; rank < size; ++rank)
    ends.push_back(std::make_unique<ThreadEnd>(meeting, rank, moved));
  return ends;
}

}  // namespace doppio
