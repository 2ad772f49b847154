// Interp on a GPU, in single precision.
#include "core/device/launch.cuh"
#include "layers/common/stored_form_cuda.h"
#include "layers/shape/interp_kernel.h"

namespace doppio {
namespace {

class CudaInterp : public FormKernel<InterpForm> {
 public:
  explicit CudaInterp(const KernelArgs& args) : FormKernel(args), gpu_(GpuOf(args.device)) {}

  void Forward(const Pass&) override {
    const PixelFinder find{form_.planes, form_.h.output, form_.w.output};
    ForEachIndex(
        gpu_, t_.tops[0].count(), "Interp",
        ResizeForward<float>{form_.h, form_.w, find, BottomValues<float>(0), TopValues<float>(0)});
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    const PixelFinder find{form_.planes, form_.h.input, form_.w.input};
    ForEachIndex(gpu_, t_.bottoms[0].count(), "Interp's gradient",
                 ResizeBackward<float>{form_.h, form_.w, find, TopGradient<float>(0),
                                       BottomGradient<float>(0)});
  }

  bool same_every_pass() const override { return true; }

 private:
  const Gpu gpu_;
};

DOPPIO_REGISTER_KERNEL(CudaKernel<CudaInterp>("Interp"));

}  // namespace
}  // namespace doppio
