// SPP on a GPU.
#include "layers/pooling/plain_pooling_cuda.h"
#include "layers/pooling/spp.h"
#include "layers/common/stored_form_cuda.h"

namespace doppio {
namespace {

std::unique_ptr<Kernel> MakeSppCuda(const KernelArgs& args) {
  return std::make_unique<PlainPoolingKernel<float, GpuPoolingLoops>>(
      args, ReadPyramid(*args.spec, args.bottoms[0].shape));
}

DOPPIO_REGISTER_KERNEL({"SPP", DeviceKind::kCuda, "cuda", 10, &MakeSppCuda, &DeclinesDouble});

}  // namespace
}  // namespace doppio
