// A layer that the device of its net has no kernel for, computed on the host in between: its
// bottoms are copied there, its tops back. So every layer runs in a net on a GPU; `--dry_run` and
// the log say which ones take this way.
#ifndef DOPPIO_CORE_NET_PLAN_HOST_KERNEL_H_
#define DOPPIO_CORE_NET_PLAN_HOST_KERNEL_H_

#include <memory>

#include "core/net/graph/layer.h"

namespace doppio {

// For the layer of `args`, whose device is not the CPU; null when the CPU has no plain kernel that
// takes it.
std::unique_ptr<Kernel> MakeHostKernel(const KernelArgs& args);

// What Plan::kernel_types says of such a layer: engine "host".
const KernelType& HostKernelType();

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_PLAN_HOST_KERNEL_H_
