// Lets every kernel share its parameters with every other. The first plan of a parameter fixes its
// layout, and a kernel of another layer or net may need another one: test nets have other batches,
// and batches and threads decide which kernels are fast. The kernel then computes with a copy of
// the parameter.
#ifndef DOPPIO_CORE_NET_PLAN_PARAM_COPIES_H_
#define DOPPIO_CORE_NET_PLAN_PARAM_COPIES_H_

#include <memory>

#include "core/net/contract/kernel.h"

namespace doppio {

// Returns element `i` of KernelNeeds::bottoms, tops or params, whose last elements may be missing.
Layout LayoutAt(const std::vector<Layout>& needed, size_t i);

// Returns a kernel that reads the parameters, and writes their gradients, in the layouts in which
// `args` has them: `kernel` itself if it does so, else a kernel that copies them to the layouts
// that `kernel` needs in each pass. If both layouts of a parameter are opaque, they must have the
// same axes.
std::unique_ptr<Kernel> WithParamCopies(const KernelArgs& args, std::unique_ptr<Kernel> kernel);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_PLAN_PARAM_COPIES_H_
