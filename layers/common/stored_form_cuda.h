// What CUDA kernels have in common: their registration, and the needs of narrow ones, whose bottoms
// and tops all have the same layout and the same stored type.
#ifndef DOPPIO_LAYERS_COMMON_STORED_FORM_CUDA_H_
#define DOPPIO_LAYERS_COMMON_STORED_FORM_CUDA_H_

#include "core/device/kind_cuda.h"
#include "core/net/contract/kernel.h"
#include "layers/common/accelerator_kernel.h"

namespace doppio {

// Returns the layout of the first bottom that is channels last, or plain if there is none.
inline Layout CommonLayout(const std::vector<TensorSpec>& bottoms) {
  for (const TensorSpec& bottom : bottoms) {
    if (bottom.layout.channels_last()) return bottom.layout;
  }
  return Layout();
}

// Requests one layout for all bottoms and tops, and the stored type of top 0 for all bottoms.
inline void AskForOneForm(const KernelArgs& args, KernelNeeds* needs) {
  const Layout layout = CommonLayout(args.bottoms);
  needs->bottoms.assign(args.bottoms.size(), layout);
  needs->tops.assign(args.tops.size(), layout);
  needs->types.assign(args.bottoms.size(), args.tops[0]);
}

// Return the type of a layer's kernel on CUDA devices, with the given factory or of class K. By
// default, the kernel declines double precision.
inline KernelType CudaKernel(const std::string& layer, KernelType::MakeFunction make) {
  return AcceleratorKernel(layer, make).On(kCudaKind).Engine("cuda");
}
template <class K>
KernelType CudaKernel(const std::string& layer) {
  return CudaKernel(layer, &MakeKernel<K>);
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_COMMON_STORED_FORM_CUDA_H_
