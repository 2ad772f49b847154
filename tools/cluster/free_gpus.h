// GPUs that nobody uses, taken so that another job that asks for free ones at the same moment gets
// others.
#ifndef DOPPIO_TOOLS_CLUSTER_FREE_GPUS_H_
#define DOPPIO_TOOLS_CLUSTER_FREE_GPUS_H_

#include <memory>
#include <string>
#include <vector>

#include "core/device/nvml.h"

namespace doppio {

struct GpuCandidate {
  int index = 0;  // as CUDA counts
  std::string pci_bus_id;
  GpuReading reading;  // of now
};

struct ClaimedGpus {
  std::vector<int> indices;
  std::shared_ptr<void> claim;  // while it lives, nobody else claims them; it ends with the
                                // process, however that ends
};

// The first `count` that are idle: hardly busy, with little memory in use, and not claimed. Claims
// are locks on files in `folder`, which all users of the machine share. Throws DeviceError, saying
// of each other one why it is not free.
ClaimedGpus ClaimFreeGpus(const std::vector<GpuCandidate>& candidates, int count,
                          const std::string& folder = "/tmp");

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLUSTER_FREE_GPUS_H_
