#include "core/device/host_store.h"

#include <utility>

namespace doppio {
namespace {

constexpr int64_t kCacheLine = 64;

// Copies synchronously, in the order of the calls.
class PlainStore : public HostStore {
 public:
  PlainStore(Device* device, std::vector<StoredBlock> blocks)
      : device_(device), blocks_(std::move(blocks)) {
    int64_t bytes = 0;
    for (const StoredBlock& block : blocks_) {
      places_.push_back(bytes);
      bytes += (block.bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
    }
    room_.reset(new char[bytes]);
  }

  void Save(int block) override {
    const StoredBlock& from = blocks_[block];
    device_->CopyToHost(Place(block), from.memory, from.bytes);
  }
  void Saved(int) override {}
  void Fetch(int block) override {
    const StoredBlock& to = blocks_[block];
    device_->CopyFromHost(to.memory, Place(block), to.bytes);
  }
  void Fetched(int) override {}

 private:
  char* Place(int block) const { return room_.get() + places_[block]; }

  Device* device_;
  const std::vector<StoredBlock> blocks_;
  std::vector<int64_t> places_;
  // Not initialised, so that a plan without a run uses no physical memory.
  std::unique_ptr<char[]> room_;
};

}  // namespace

std::unique_ptr<HostStore> MakeHostStore(Device* device, std::vector<StoredBlock> blocks) {
  const auto* make = HostStoreMakers::Get().Find(device->kind());
  if (make != nullptr) return (*make)(device, blocks);
  return std::make_unique<PlainStore>(device, std::move(blocks));
}

}  // namespace doppio
