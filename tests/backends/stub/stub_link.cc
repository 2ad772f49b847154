// Sums gradients of several stubs with the host's communicator, over the memory behind them.
#include "parallel/gpu/device_link.h"
#include "tests/backends/stub/stub_device.h"

namespace doppio {
namespace {

class StubLink : public Communicator {
 public:
  explicit StubLink(Communicator* host) : host_(host) {}
  int rank() const override { return host_->rank(); }
  int size() const override { return host_->size(); }
  void AllReduce(void* data, int64_t count, DType dtype) override {
    host_->AllReduce(OnHost(data), count, dtype);
  }
  void Broadcast(void* data, int64_t bytes, int root) override {
    host_->Broadcast(OnHost(data), bytes, root);
  }
  void Barrier() override { host_->Barrier(); }
  void SetBucket(int64_t bucket) override { host_->SetBucket(bucket); }
  void Abort(const std::string& why) override { host_->Abort(why); }

 private:
  Communicator* const host_;
};

std::string DescribeStubLink() { return "sums on the host"; }

std::unique_ptr<Communicator> ConnectStubs(Device*, const LinkPlace& place) {
  return std::make_unique<StubLink>(place.host);
}

DOPPIO_REGISTER(DeviceLinks, LinkName(kStubKind, "host"),
                DeviceLink{&DescribeStubLink, &ConnectStubs, nullptr});

}  // namespace
}  // namespace doppio
