#include "parallel/world/threads.h"

#include <algorithm>
#include <cstring>

#include "parallel/meeting/meeting.h"
#include "parallel/reduce/sum_in_order.h"

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
      Sum<T>(begin, end, [&](int64_t i, const ComputeType<T>* sums, int64_t n) {
        for (int r = 0; r < size(); ++r) std::transform(sums, sums + n, Of<T>(r) + i, Round<T>);
      });
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

  void ReduceScatter(void* data, const std::vector<int64_t>& cuts, DType dtype) override {
    if (size() == 1) return;
    meeting_->Show(rank_, data);
    Arrive();
    DispatchReal(dtype, [&](auto zero) {
      using T = decltype(zero);
      Sum<T>(cuts[rank_], cuts[rank_ + 1], [&](int64_t i, const ComputeType<T>* sums, int64_t n) {
        std::transform(sums, sums + n, static_cast<T*>(data) + i, Round<T>);
      });
    });
    meeting_->Leave();
  }

  void AllGather(void* data, const std::vector<int64_t>& cuts, DType dtype) override {
    if (size() == 1) return;
    meeting_->Show(rank_, data);
    Arrive();
    const int64_t bytes = ElementBytes(dtype);
    for (int r = 0; r < size(); ++r) {
      const int64_t begin = cuts[r] * bytes, count = cuts[r + 1] * bytes - begin;
      if (r == rank_ || count == 0) continue;
      std::memcpy(static_cast<char*>(data) + begin, Of<char>(r) + begin, count);
    }
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
  T* Of(int rank) const {
    return meeting_->Shown<T>(rank);
  }
  template <class T>
  static T Round(ComputeType<T> sum) {
    return static_cast<T>(sum);
  }
  template <class T, class Write>
  void Sum(int64_t begin, int64_t end, const Write& write) const {
    SumInOrder<T>(
        size(), begin, end, [&](int r) { return Of<T>(r); }, write);
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
