// Registers kernels that run on every kind of device without host memory. They compute nothing
// themselves: they call Device, TensorOps or BatchUpload, which each kind implements.
#ifndef DOPPIO_LAYERS_COMMON_ACCELERATOR_KERNEL_H_
#define DOPPIO_LAYERS_COMMON_ACCELERATOR_KERNEL_H_

#include <string>

#include "core/net/contract/kernel.h"

namespace doppio {

// Declines layers that are not computed in single precision.
inline std::string DeclinesDouble(const KernelArgs& args) {
  return args.dtype == DType::kFloat32 ? "" : std::string("it has no ") + Name(args.dtype);
}

// Return the type of a layer's kernel on all accelerators, with the given factory or of class K. By
// default, the kernel declines double precision.
inline KernelType AcceleratorKernel(const std::string& layer, KernelType::MakeFunction make) {
  return KernelType(layer, make).OnAccelerators().Rank(10).Declines(&DeclinesDouble);
}
template <class K>
KernelType AcceleratorKernel(const std::string& layer) {
  return AcceleratorKernel(layer, &MakeKernel<K>);
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_COMMON_ACCELERATOR_KERNEL_H_
