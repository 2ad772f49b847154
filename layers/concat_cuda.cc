// Concat on a GPU, for elements of any type.
#include "layers/join_cuda.h"
#include "layers/joined_axis.h"

namespace doppio {
namespace {

std::unique_ptr<Kernel> Make(const KernelArgs& args) {
  std::vector<Shape> parts;
  for (const TensorSpec& bottom : args.bottoms) parts.push_back(bottom.shape);
  return std::make_unique<CudaJoinKernel>(
      args.device, MakePlainJoin(parts, ConcatAxis(*args.spec, parts[0]), args.dtype), true);
}

DOPPIO_REGISTER_KERNEL({"Concat", DeviceKind::kCuda, "cuda", 10, &Make, nullptr});

}  // namespace
}  // namespace doppio
