// A kernel that computes in single precision, in a net whose activations are stored in 16 bits: its
// bottoms are widened for it before it runs, its tops and gradients rounded afterwards. So every
// layer runs with 16-bit activations, on every device; kernels that read and write 16 bits
// themselves (KernelType::narrow) spare the copies.
#ifndef DOPPIO_CORE_NET_PLAN_WIDE_KERNEL_H_
#define DOPPIO_CORE_NET_PLAN_WIDE_KERNEL_H_

#include <memory>

#include "core/net/graph/layer.h"

namespace doppio {

// Whether some bottom or top of `args` is stored in 16 bits.
bool HasNarrowEdges(const KernelArgs& args);
// `args` as such a kernel sees them: bottoms and tops in args.dtype. Products may be made from
// bfloat16 where tops will be.
KernelArgs Widened(const KernelArgs& args);
// `inner` was made for Widened(args).
std::unique_ptr<Kernel> MakeWideKernel(const KernelArgs& args, std::unique_ptr<Kernel> inner);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_PLAN_WIDE_KERNEL_H_
