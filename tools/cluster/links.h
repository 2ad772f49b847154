// What sums gradients between GPUs, as --comm says and this machine allows.
#ifndef DOPPIO_TOOLS_CLUSTER_LINKS_H_
#define DOPPIO_TOOLS_CLUSTER_LINKS_H_

#include <memory>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "parallel/gpu/device_link.h"

namespace doppio {

struct LinkChoice {
  std::string name;  // of DeviceLinks
  // "gradients by NCCL 2.28.3 (libnccl.so.2)", with the reason where there was a choice.
  std::string how;
};

// For ranks that are processes or threads; `one_each`: no two of them share a GPU. `comm` is the
// value of --comm. Throws UsageError, DeviceError.
LinkChoice ChooseLink(const std::string& comm, bool processes, bool one_each);

// Connects a rank. Collective; with --comm=auto, ranks of which some have no NCCL all do without.
std::unique_ptr<Communicator> ConnectLink(const LinkChoice& link, bool chosen_by_itself,
                                          Device* device, const LinkPlace& place);

// Which of several GPUs of this process reach each other directly; "" where there is nothing to
// tell.
std::string DescribeLinks(const std::vector<Device*>& devices);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLUSTER_LINKS_H_
