#include "parallel/gpu/p2p_cuda.h"

#include <algorithm>

#include "core/device/kind_cuda.h"
#include "parallel/gpu/add_to_cuda.h"
#include "parallel/gpu/peer_links_cuda.h"

namespace doppio {
namespace {

class P2pEnd;

// The state that rank 0 keeps for all ranks. Rank 0 alone issues copies and sums to the streams of
// all ranks, so that no thread waits for another between the levels of the tree.
class Conductor {
 public:
  Conductor(std::vector<P2pEnd*> ends, bool direct);
  void Sum(int64_t count, DType dtype);
  void Broadcast(int64_t bytes, int root);

 private:
  void Wait() const;

  const std::vector<P2pEnd*> ends_;
  PeerLinks links_;
  const std::vector<RankPair> tree_;
};

class P2pEnd : public Communicator {
 public:
  P2pEnd(Device* device, const LinkPlace& place, bool direct)
      : meeting_(place.meeting),
        rank_(place.control->rank()),
        stream_(device),
        inbox_(device, PeerLinks::kMostBytes) {
    DOPPIO_CHECK(meeting_->size() == place.control->size(),
                 "copies between GPUs are within one process");
    device->Synchronize();  // waits until the inbox is zeroed
    Conduct([&] {
      std::vector<P2pEnd*> ends;
      for (int r = 0; r < size(); ++r) ends.push_back(meeting_->Shown<P2pEnd>(r));
      conductor_ = std::make_unique<Conductor>(std::move(ends), direct);
    });
  }

  int rank() const override { return rank_; }
  int size() const override { return meeting_->size(); }
  void SetBucket(int64_t bucket) override { bucket_ = bucket; }
  void ExchangeAfterCompute(int64_t bucket) override { stream_.Mark(bucket); }

  void AllReduce(void* data, int64_t count, DType dtype) override {
    Exchange(data, [&](Conductor* conductor) { conductor->Sum(count, dtype); });
  }
  void Broadcast(void* data, int64_t bytes, int root) override {
    Exchange(data, [&](Conductor* conductor) { conductor->Broadcast(bytes, root); });
  }
  void Barrier() override { meeting_->Arrive(); }
  void Abort(const std::string& why) override { meeting_->Abort(why); }

  SideStream* stream() { return &stream_; }
  void* inbox() const { return inbox_.data(); }  // has PeerLinks::kMostBytes bytes
  char* at(int64_t byte) const { return data_ + byte; }

 private:
  template <class F>
  void Exchange(void* data, const F& f) {
    if (size() == 1) return;
    data_ = static_cast<char*>(data);
    stream_.FollowMark(bucket_);
    Conduct([&] { f(conductor_.get()); });
  }

  // Waits for all ranks, then runs `work` on rank 0's thread and blocks all ranks until it is done.
  // If it fails, all ranks throw.
  template <class F>
  void Conduct(const F& work) {
    meeting_->Show(rank_, this);
    meeting_->Arrive();
    std::exception_ptr failure;
    try {
      if (rank_ == 0) work();
    } catch (const std::exception& e) {
      failure = std::current_exception();
      meeting_->Abort(std::string("rank 0 has failed: ") + e.what());
      for (int r = 0; r < size(); ++r) meeting_->Shown<P2pEnd>(r)->failed_ = true;
    }
    meeting_->Leave();
    if (failure) std::rethrow_exception(failure);
    if (failed_) meeting_->ThrowIfAborted();
  }

  const std::shared_ptr<Meeting> meeting_;
  const int rank_;
  SideStream stream_;
  const Buffer inbox_;
  char* data_ = nullptr;  // data of the current exchange
  bool failed_ = false;   // true if the current exchange has failed; rank 0 writes it before Leave
  int64_t bucket_ = -1;
  std::unique_ptr<Conductor> conductor_;  // on rank 0 only
};

std::vector<SideStream*> StreamsOf(const std::vector<P2pEnd*>& ends) {
  std::vector<SideStream*> streams;
  for (P2pEnd* end : ends) streams.push_back(end->stream());
  return streams;
}

Conductor::Conductor(std::vector<P2pEnd*> ends, bool direct)
    : ends_(std::move(ends)),
      links_(StreamsOf(ends_), direct),
      tree_(PairTree(static_cast<int>(ends_.size()),
                     [&](int a, int b) { return links_.CloseTo(a, b); })) {}

// Pipelines pieces through the tree: while one piece is added at an upper level, the next is copied
// at a lower level.
void Conductor::Sum(int64_t count, DType dtype) {
  const int64_t element = ElementBytes(dtype), most = PeerLinks::kMostBytes / element;
  const auto pieces = [&](const auto& f) {
    for (int64_t i = 0; i < count; i += most) f(i * element, std::min(most, count - i));
  };
  const auto end = [&](int rank) { return ends_[rank]; };
  pieces([&](int64_t at, int64_t n) {
    for (const RankPair& pair : tree_) {
      P2pEnd* parent = end(pair.parent);
      links_.Copy(pair.child, end(pair.child)->at(at), pair.parent, parent->inbox(), n * element);
      LaunchAddTo(parent->stream()->gpu(), dtype, n, parent->inbox(), parent->at(at));
    }
  });
  pieces([&](int64_t at, int64_t n) {
    for (auto pair = tree_.rbegin(); pair != tree_.rend(); ++pair) {
      links_.Copy(pair->parent, end(pair->parent)->at(at), pair->child, end(pair->child)->at(at),
                  n * element);
    }
  });
  Wait();
}

void Conductor::Broadcast(int64_t bytes, int root) {
  for (int64_t at = 0; at < bytes; at += PeerLinks::kMostBytes) {
    for (size_t r = 0; r < ends_.size(); ++r) {
      if (static_cast<int>(r) == root) continue;
      links_.Copy(root, ends_[root]->at(at), static_cast<int>(r), ends_[r]->at(at),
                  std::min(PeerLinks::kMostBytes, bytes - at));
    }
  }
  Wait();
}

void Conductor::Wait() const {
  for (P2pEnd* end : ends_) end->stream()->Wait();
}

std::string DescribePeers() { return "copies between GPUs in pairs"; }

std::unique_ptr<Communicator> ConnectPeers(Device* device, const LinkPlace& place) {
  return ConnectPeers(device, place, true);
}

DOPPIO_REGISTER(DeviceLinks, LinkName(kCudaKind, "p2p"),
                DeviceLink{&DescribePeers, &ConnectPeers, &PeerAccessText});

}  // namespace

std::unique_ptr<Communicator> ConnectPeers(Device* device, const LinkPlace& place, bool direct) {
  return std::make_unique<P2pEnd>(device, place, direct);
}

}  // namespace doppio
