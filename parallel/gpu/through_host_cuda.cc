// Connects ranks in GPU memory by sums on the host, through the host's communicator (threads or
// MPI). Works wherever ranks can communicate at all, at the speed of copies to and from the host.
#include <algorithm>

#include "core/device/kind_cuda.h"
#include "parallel/gpu/device_link.h"
#include "parallel/gpu/side_stream_cuda.h"

namespace doppio {
namespace {

class ThroughHost : public Communicator {
 public:
  ThroughHost(Device* device, const LinkPlace& place)
      : host_(place.host), stream_(device), room_(device, kPieceBytes) {}

  int rank() const override { return host_->rank(); }
  int size() const override { return host_->size(); }
  void SetBucket(int64_t bucket) override {
    bucket_ = bucket;
    host_->SetBucket(bucket);
  }
  void ExchangeAfterCompute(int64_t bucket) override { stream_.Mark(bucket); }

  void AllReduce(void* data, int64_t count, DType dtype) override {
    const int64_t element = ElementBytes(dtype);
    ForPieces(data, count * element, true,
              [&](void* room, int64_t bytes) { host_->AllReduce(room, bytes / element, dtype); });
  }
  void Broadcast(void* data, int64_t bytes, int root) override {
    ForPieces(data, bytes, rank() == root,
              [&](void* room, int64_t n) { host_->Broadcast(room, n, root); });
  }
  void Barrier() override { host_->Barrier(); }
  void Abort(const std::string& why) override { host_->Abort(why); }

 private:
  static constexpr int64_t kPieceBytes = int64_t{4} << 20;

  // Calls f for each piece, in host memory, and copies the result back. Copies the piece to the
  // host before only if `wanted`.
  template <class F>
  void ForPieces(void* data, int64_t bytes, bool wanted, const F& f) {
    stream_.FollowMark(bucket_);
    for (int64_t begin = 0; begin < bytes; begin += kPieceBytes) {
      char* piece = static_cast<char*>(data) + begin;
      const int64_t n = std::min(kPieceBytes, bytes - begin);
      if (wanted) stream_.Copy(room_.data(), piece, n);
      stream_.Wait();
      f(room_.data(), n);
      stream_.Copy(piece, room_.data(), n);
    }
    stream_.Wait();
  }

  Communicator* const host_;
  SideStream stream_;
  const PinnedBuffer room_;
  int64_t bucket_ = -1;
};

std::string DescribeHostSums() { return "sums on the host"; }

std::unique_ptr<Communicator> ConnectThroughHost(Device* device, const LinkPlace& place) {
  return std::make_unique<ThroughHost>(device, place);
}

DOPPIO_REGISTER(DeviceLinks, LinkName(kCudaKind, "host"),
                DeviceLink{&DescribeHostSums, &ConnectThroughHost, nullptr});

}  // namespace
}  // namespace doppio
