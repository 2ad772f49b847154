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

DOPPIO_REGISTER_KERNEL(CudaKernel<BnKernel<float, BnCudaLoops>>("BN"));

}  // namespace
}  // namespace doppio
