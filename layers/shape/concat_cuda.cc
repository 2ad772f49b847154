// Concat on a GPU, for elements of any type.
#include "layers/shape/join_cuda.h"
#include "layers/shape/joined_axis.h"

namespace doppio {
namespace {

std::unique_ptr<Kernel> MakeConcatCuda(const KernelArgs& args) {
  std::vector<Shape> parts;
  for (const TensorSpec& bottom : args.bottoms) parts.push_back(bottom.shape);
  const Join join = MakeCudaJoin(parts, ConcatAxis(*args.spec, parts[0]), args.tops[0],
                                 CommonLayout(args.bottoms));
  return std::make_unique<CudaJoinKernel>(args, join, true);
}

DOPPIO_REGISTER_KERNEL({"Concat", DeviceKind::kCuda, "cuda", 10, &MakeConcatCuda, nullptr, true});

}  // namespace
}  // namespace doppio
