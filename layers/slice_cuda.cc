// Slice on a GPU, for elements of any type.
#include "layers/join_cuda.h"
#include "layers/joined_axis.h"

namespace doppio {
namespace {

std::unique_ptr<Kernel> Make(const KernelArgs& args) {
  return std::make_unique<CudaJoinKernel>(
      args.device,
      MakePlainJoin(args.shape->tops, SliceAxis(*args.spec, args.bottoms[0].shape), args.dtype),
      false);
}

DOPPIO_REGISTER_KERNEL({"Slice", DeviceKind::kCuda, "cuda", 10, &Make, nullptr});

}  // namespace
}  // namespace doppio
