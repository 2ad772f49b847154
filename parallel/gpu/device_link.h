// The transports of sums between the memories of accelerators. Each kind of device registers its
// own by name ("p2p", "nccl", "host") if its code is linked in.
#ifndef DOPPIO_PARALLEL_GPU_DEVICE_LINK_H_
#define DOPPIO_PARALLEL_GPU_DEVICE_LINK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/registry.h"
#include "core/device/device.h"
#include "core/net/contract/communicator.h"
#include "parallel/meeting/meeting.h"

namespace doppio {

// One of the ranks to be linked. Everything it refers to must outlive the link.
struct LinkPlace {
  Communicator* control = nullptr;  // for a few numbers in host memory
  Communicator* host = nullptr;     // for bulk data in host memory; only the link uses it
  // Joins the ranks of this process. If it is as large as `control`, these are all ranks.
  std::shared_ptr<Meeting> meeting;
  // The link calls it when an exchange begins and when it ends; may be empty.
  std::function<void(int64_t bucket)> moved;
};

struct DeviceLink {
  // Returns the transport's name for the log: "NCCL 2.28.3 (/usr/lib/libnccl.so.2)". Throws
  // DeviceError if the transport is not available.
  std::string (*describe)();
  // Collective; each rank calls it on its own thread. Returns this rank's communicator for memory
  // of `device`, which must outlive it. Destroy the communicator on the same thread. Throws
  // DeviceError, PeerError.
  std::unique_ptr<Communicator> (*connect)(Device* device, const LinkPlace& place);
  // Describes for the log which of these devices reach each other directly, by their indices in the
  // list; "" if there is nothing to say. Null if the transport does not know.
  std::string (*describe_ways)(const std::vector<Device*>& devices);
};
using DeviceLinks = Registry<DeviceLink>;  // keyed by LinkName

// Returns the key of the transport `name` between devices of the kind `kind` (Device::kind()).
inline std::string LinkName(const std::string& kind, const std::string& name) {
  return kind + " " + name;
}
// Returns the transport, or null if devices of this kind do not have it.
inline const DeviceLink* FindDeviceLink(const std::string& kind, const std::string& name) {
  return DeviceLinks::Get().Find(LinkName(kind, name));
}

// Makes the bulk communicator of a rank. If empty, the communicator of host memory is used.
using MakeBulk = std::function<std::unique_ptr<Communicator>(const LinkPlace& place)>;

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_GPU_DEVICE_LINK_H_
