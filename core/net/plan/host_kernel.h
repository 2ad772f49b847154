// Computes a layer on the host if the net's device has no kernel for it: copies the bottoms to the
// host and the tops back. So a net on a GPU can contain any layer. `--dry_run` and the log list the
// layers that run on the host.
#ifndef DOPPIO_CORE_NET_PLAN_HOST_KERNEL_H_
#define DOPPIO_CORE_NET_PLAN_HOST_KERNEL_H_

#include <memory>

#include "core/net/contract/layer.h"

namespace doppio {

// Returns a kernel for the layer of `args`, whose device is not the CPU, and of `shape`, or null if
// no plain CPU kernel supports the layer.
std::unique_ptr<Kernel> MakeHostKernel(const KernelArgs& args, const LayerShape& shape);

// Returns the type that Plan::kernel_types has for such a layer, with engine "host".
const KernelType& HostKernelType();

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_PLAN_HOST_KERNEL_H_
