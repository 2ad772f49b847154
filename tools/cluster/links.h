// Chooses what sums gradients between GPUs, from --comm and what this machine supports.
#ifndef DOPPIO_TOOLS_CLUSTER_LINKS_H_
#define DOPPIO_TOOLS_CLUSTER_LINKS_H_

#include <memory>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "parallel/gpu/device_link.h"

namespace doppio {

struct LinkChoice {
  std::string name;  // see FindDeviceLink
  // For the log: "gradients by NCCL 2.28.3 (libnccl.so.2)", with the reason if there was a choice.
  std::string how;
  bool chosen_by_itself = false;  // by --comm=auto
};

// Chooses a link between devices of the kind `kind`. `comm` is the value of --comm. `processes` is
// true if each rank is a process, false if the ranks are threads. `one_each` is true if no two
// ranks share a GPU. Throws UsageError, DeviceError.
LinkChoice ChooseLink(const std::string& kind, const std::string& comm, bool processes,
                      bool one_each);

// Connects this rank; all ranks must call it. If the link was chosen by itself and some ranks lack
// NCCL, all ranks sum on the host instead.
std::unique_ptr<Communicator> ConnectLink(const LinkChoice& link, Device* device,
                                          const LinkPlace& place);

// Describes which of this process's GPUs reach each other directly; returns "" for fewer than two.
std::string DescribeLinks(const std::vector<Device*>& devices);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLUSTER_LINKS_H_
