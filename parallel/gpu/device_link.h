// What carries sums between the memories of accelerators: each kind registers itself by name
// ("p2p", "nccl", "host") where its code is linked in.
#ifndef DOPPIO_PARALLEL_GPU_DEVICE_LINK_H_
#define DOPPIO_PARALLEL_GPU_DEVICE_LINK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/registry.h"
#include "core/device/device.h"
#include "core/net/run/communicator.h"
#include "parallel/world/meeting.h"

namespace doppio {

// A rank among those that are to be linked; all outlive the link.
struct LinkPlace {
  Communicator* control = nullptr;  // of few numbers in host memory
  Communicator* host = nullptr;     // of much in host memory; only the link uses it
  // Of the ranks of this process, which are all where it is as large as control.
  std::shared_ptr<Meeting> meeting;
  std::function<void(int64_t bucket)>
      moved;  // to be called when an exchange begins and when it ends; may be empty
};

struct DeviceLink {
  // What it is, for the log: "NCCL 2.28.3 (/usr/lib/libnccl.so.2)". Throws DeviceError where it
  // cannot be had here.
  std::string (*describe)();
  // Collective, each rank on a thread of its own, on which the end is destroyed as well: this
  // rank's end, of memory of `device`, which outlives it. Throws DeviceError, PeerError.
  std::unique_ptr<Communicator> (*connect)(Device* device, const LinkPlace& place);
  // Which of these devices reach each other directly, by their places in the list, for the log; ""
  // where there is nothing to tell. Null for a kind that does not know.
  std::string (*describe_ways)(const std::vector<Device*>& devices);
};
using DeviceLinks = Registry<DeviceLink>;

// Makes the bulk communicator of a rank; empty: that of host memory.
using MakeBulk = std::function<std::unique_ptr<Communicator>(const LinkPlace& place)>;

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_GPU_DEVICE_LINK_H_
