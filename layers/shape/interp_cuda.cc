// Interp on a GPU.
#include "layers/shape/interp_cuda.h"

#include "layers/shape/interp_kernel.h"
#include "layers/common/stored_form_cuda.h"

namespace doppio {
namespace {

struct InterpCudaLoops {
  explicit InterpCudaLoops(Device* device) : device(device) {}
  template <class F>
  void Run(int64_t n, const F& body) const {
    LaunchResize(GpuOf(device), n, body);
  }
  Device* device;
};

std::unique_ptr<Kernel> MakeInterpCuda(const KernelArgs& args) {
  return std::make_unique<InterpKernel<float, InterpCudaLoops>>(args);
}

DOPPIO_REGISTER_KERNEL({"Interp", DeviceKind::kCuda, "cuda", 10, &MakeInterpCuda, &DeclinesDouble});

}  // namespace
}  // namespace doppio
