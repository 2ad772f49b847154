// BN on a GPU.
#include "core/device/launch.cuh"
#include "layers/common/stored_form_cuda.h"
#include "layers/normalization/bn_kernel.h"

namespace doppio {
namespace {

struct BnCudaLoops {
  explicit BnCudaLoops(Device* device) : device(device) {}
  template <class F>
  void Run(int64_t n, const F& body) const {
    ForEachIndex(GpuOf(device), n, "BN's statistics", body);
  }
  Device* device;
};

std::unique_ptr<Kernel> MakeBnCuda(const KernelArgs& args) {
  return std::make_unique<BnKernel<float, BnCudaLoops>>(args);
}

DOPPIO_REGISTER_KERNEL({"BN", DeviceKind::kCuda, "cuda", 10, &MakeBnCuda, &DeclinesDouble});

}  // namespace
}  // namespace doppio
