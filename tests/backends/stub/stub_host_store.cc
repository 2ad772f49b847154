// Copies blocks between a stub and the host, for --offload. A real backend copies in streams of its
// own while the device computes: Save and Fetch start a copy, Saved and Fetched make later work
// wait for it.
#include "core/device/host_store.h"
#include "tests/backends/stub/stub_device.h"

namespace doppio {
namespace {

class StubStore : public HostStore {
 public:
  StubStore(Device* device, const std::vector<StoredBlock>& blocks)
      : device_(device), blocks_(blocks) {
    for (const StoredBlock& block : blocks) copies_.emplace_back(block.bytes);
  }
  void Save(int block) override {
    device_->CopyToHost(copies_[block].data(), blocks_[block].memory, blocks_[block].bytes);
  }
  void Saved(int) override {}
  void Fetch(int block) override {
    device_->CopyFromHost(blocks_[block].memory, copies_[block].data(), blocks_[block].bytes);
  }
  void Fetched(int) override {}

 private:
  Device* const device_;
  const std::vector<StoredBlock> blocks_;
  std::vector<std::vector<char>> copies_;
};

std::unique_ptr<HostStore> MakeStubStore(Device* device, const std::vector<StoredBlock>& blocks) {
  return std::make_unique<StubStore>(device, blocks);
}

DOPPIO_REGISTER(HostStoreMakers, kStubKind, &MakeStubStore);

}  // namespace
}  // namespace doppio
