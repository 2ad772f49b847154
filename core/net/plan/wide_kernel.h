// Runs a single-precision kernel in a net that stores activations in 16 bits: converts the bottoms
// to single precision before the kernel runs, and rounds its tops and gradients afterwards. So
// every layer runs with 16-bit activations on every device. Kernels that read and write 16 bits
// themselves (KernelType::Narrow) avoid the copies.
#ifndef DOPPIO_CORE_NET_PLAN_WIDE_KERNEL_H_
#define DOPPIO_CORE_NET_PLAN_WIDE_KERNEL_H_

#include <memory>

#include "core/net/contract/layer.h"

namespace doppio {

// Returns true if a bottom or top of `args` is stored in 16 bits.
bool HasNarrowEdges(const KernelArgs& args);
// Returns `args` as a single-precision kernel gets them, with bottoms and tops in args.dtype. If a
// top is stored as bfloat16, the kernel may compute products from bfloat16.
KernelArgs Widened(const KernelArgs& args);
// Wraps `inner`, which was constructed with Widened(args). `shape` is that of the layer or chain.
std::unique_ptr<Kernel> MakeWideKernel(const KernelArgs& args, const LayerShape& shape,
                                       std::unique_ptr<Kernel> inner);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_PLAN_WIDE_KERNEL_H_
