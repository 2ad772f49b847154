// Interp on a GPU, in single precision.
#include "core/device/launch.cuh"
#include "layers/common/stored_form_cuda.h"
#include "layers/shape/interp_kernel.h"

namespace doppio {
namespace {

// The Loops of InterpKernel on a GPU.
struct InterpCudaLoops {
  explicit InterpCudaLoops(Device* device) : device(device) {}
  void Run(int64_t n, const ResizeForward<float>& body) const {
    ForEachIndex(GpuOf(device), n, "Interp", body);
  }
  void Run(int64_t n, const ResizeBackward<float>& body) const {
    ForEachIndex(GpuOf(device), n, "Interp's gradient", body);
  }
  Device* device;
};

DOPPIO_REGISTER_KERNEL(CudaKernel<InterpKernel<float, InterpCudaLoops>>("Interp"));

}  // namespace
}  // namespace doppio
