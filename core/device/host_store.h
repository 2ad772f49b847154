// Host memory for blocks of a device, so that other blocks can use the device memory in the
// meantime. On devices that support it, the copies overlap with computing. Each call is
// asynchronous and ordered with the caller's other work on the device:
//
//   Save(i)      starts copying block i to the host, after all previous work
//   Saved(i)     later work may overwrite the memory of block i
//   Fetch(i)     starts copying block i back, after all previous work, which must have finished
//                using this memory
//   Fetched(i)   later work sees the contents of block i
#ifndef DOPPIO_CORE_DEVICE_HOST_STORE_H_
#define DOPPIO_CORE_DEVICE_HOST_STORE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/device/device.h"

namespace doppio {

// A block of a device's memory. Not owned.
struct StoredBlock {
  void* memory = nullptr;
  int64_t bytes = 0;
};

class HostStore {
 public:
  virtual ~HostStore() = default;
  virtual void Save(int block) = 0;
  virtual void Saved(int block) = 0;
  virtual void Fetch(int block) = 0;
  virtual void Fetched(int block) = 0;
};

// Returns a store with host memory for all `blocks`, which must outlive the store. If no store is
// registered for the kind of `device`, the returned store copies synchronously.
std::unique_ptr<HostStore> MakeHostStore(Device* device, std::vector<StoredBlock> blocks);

// Registry of the devices that copy while they compute, keyed by Device::kind().
using HostStoreMakers = Registry<std::unique_ptr<HostStore> (*)(
    Device* device, const std::vector<StoredBlock>& blocks)>;

}  // namespace doppio

#endif  // DOPPIO_CORE_DEVICE_HOST_STORE_H_
