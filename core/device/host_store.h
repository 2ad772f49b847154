// Host memory in which blocks of a device wait while others use their place. The copies run beside
// what the device computes, where it can do both; each call is an order, in line with the caller's
// other work on the device:
//
//   Save(i)      the block as all work so far leaves it begins its way to the host
//   Saved(i)     work from here on may write over the block
//   Fetch(i)     the block begins its way back; all work so far is done with its place
//   Fetched(i)   work from here on sees the block
#ifndef DOPPIO_CORE_DEVICE_HOST_STORE_H_
#define DOPPIO_CORE_DEVICE_HOST_STORE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/device/device.h"

namespace doppio {

// A block of a device's memory.
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

// Room for all `blocks`; they outlive it. The store of the device's kind, else one that copies at
// once.
std::unique_ptr<HostStore> MakeHostStore(Device* device, std::vector<StoredBlock> blocks);

// Devices that copy beside their computing register theirs, by Name(DeviceKind).
using HostStoreMakers = Registry<std::unique_ptr<HostStore> (*)(
    Device* device, const std::vector<StoredBlock>& blocks)>;

}  // namespace doppio

#endif  // DOPPIO_CORE_DEVICE_HOST_STORE_H_
