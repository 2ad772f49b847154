// Slice on a GPU, for elements of any type.
#include "layers/shape/join_cuda.h"
#include "layers/shape/joined_axis.h"

namespace doppio {
namespace {

std::unique_ptr<Kernel> MakeSliceCuda(const KernelArgs& args) {
  const Join join = MakeCudaJoin(args.shape->tops, SliceAxis(*args.spec, args.bottoms[0].shape),
                                 args.tops[0], CommonLayout(args.bottoms));
  return std::make_unique<CudaJoinKernel>(args, join, false);
}

std::string DeclinesMixture(const KernelArgs& args) {
  const bool one = std::all_of(args.tops.begin(), args.tops.end(),
                               [&](DType type) { return type == args.tops[0]; });
  return one ? "" : "its tops are stored in different types";
}

DOPPIO_REGISTER_KERNEL({"Slice", DeviceKind::kCuda, "cuda", 10, &MakeSliceCuda, &DeclinesMixture,
                        true});
// The same in single precision.
DOPPIO_REGISTER_KERNEL({"Slice", DeviceKind::kCuda, "cuda", 9, &MakeSliceCuda, nullptr});

}  // namespace
}  // namespace doppio
