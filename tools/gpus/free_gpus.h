// Finds idle GPUs and claims them, so that another job that asks for idle GPUs at the same moment
// gets different ones.
#ifndef DOPPIO_TOOLS_GPUS_FREE_GPUS_H_
#define DOPPIO_TOOLS_GPUS_FREE_GPUS_H_

#include <memory>
#include <string>
#include <vector>

#include "core/device/gpu_monitor.h"

namespace doppio {

struct GpuCandidate {
  int index = 0;  // DeviceInfo::index
  std::string pci_bus_id;
  GpuReading reading;  // current state
};

struct ClaimedGpus {
  std::vector<int> indices;
  // Keeps the claim while it exists. The claim also ends with the process, even if that crashes.
  std::shared_ptr<void> claim;
};

// Claims the first `count` GPUs that are idle: at most 5 % busy, with at most 1 GiB of memory in
// use, and not claimed by another process. A claim is a lock on a file in `folder`, which all users
// of the machine share. Throws DeviceError, with the reason for each rejected GPU, if there are too
// few.
ClaimedGpus ClaimFreeGpus(const std::vector<GpuCandidate>& candidates, int count,
                          const std::string& folder = "/tmp");

}  // namespace doppio

#endif  // DOPPIO_TOOLS_GPUS_FREE_GPUS_H_
