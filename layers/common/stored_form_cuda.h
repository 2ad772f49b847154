// What narrow CUDA kernels ask of the plan: bottoms stored as the tops are, and in one layout with
// them.
#ifndef DOPPIO_LAYERS_COMMON_STORED_FORM_CUDA_H_
#define DOPPIO_LAYERS_COMMON_STORED_FORM_CUDA_H_

#include "core/net/plan/kernel.h"

namespace doppio {

// Channels last where some bottom lies so, else plain.
inline Layout CommonLayout(const std::vector<TensorSpec>& bottoms) {
  for (const TensorSpec& bottom : bottoms) {
    if (bottom.layout.channels_last()) return bottom.layout;
  }
  return Layout();
}

// Lays all bottoms and tops out in one way, and has the bottoms stored as top 0 is.
inline void AskForOneForm(const KernelArgs& args, KernelNeeds* needs) {
  const Layout layout = CommonLayout(args.bottoms);
  needs->bottoms.assign(args.bottoms.size(), layout);
  needs->tops.assign(args.tops.size(), layout);
  needs->types.assign(args.bottoms.size(), args.tops[0]);
}

// The reason of kernels that compute in single precision.
inline std::string DeclinesDouble(const KernelArgs& args) {
  return args.dtype == DType::kFloat32 ? "" : std::string("it has no ") + Name(args.dtype);
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_COMMON_STORED_FORM_CUDA_H_
