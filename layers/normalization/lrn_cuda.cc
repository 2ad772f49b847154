// LRN on a GPU, with whatever activations are stored as, and with channels last where windows reach
// across channels: one pass over memory in each direction, two backward where windows are large.
#include "layers/normalization/lrn_cuda.h"

#include "layers/common/stored_form_cuda.h"

namespace doppio {
namespace {

class CudaLrn : public Kernel {
 public:
  explicit CudaLrn(const KernelArgs& args)
      : device_(args.device),
        shape_(ShapeOf(args)),
        ops_(LrnOps<float>::From(args.spec->param.lrn_param(), shape_.window)) {
    AskForOneForm(args, &needs_);
    if (!shape_.channels_last) needs_.bottoms = needs_.tops = {Layout()};
    if (args.backward) {
      const int64_t bytes = shape_.count() * static_cast<int64_t>(sizeof(float));
      if (!shape_.forms_scales_again()) needs_.saved_bytes = bytes;  // scale
      if (shape_.stores_ratios()) needs_.scratch_bytes = bytes;
    }
  }

  void Forward(const Pass&) override {
    LaunchLrnForward(GpuOf(device_), shape_, ops_, t_.bottoms[0].raw, t_.tops[0].raw,
                     needs_.saved_bytes > 0 ? static_cast<float*>(t_.saved) : nullptr);
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    LaunchLrnBackward(GpuOf(device_), shape_, ops_, t_.bottoms[0].raw, t_.top_grads[0].raw,
                      static_cast<const float*>(t_.saved), static_cast<float*>(t_.scratch),
                      t_.bottom_grads[0].raw);
  }
  bool same_every_pass() const override { return true; }

 private:
  static LrnShape ShapeOf(const KernelArgs& args) {
    const LrnWindow window = LrnWindowOf(args.spec->param.lrn_param());
    const Shape& bottom = args.bottoms[0].shape;
    const bool last = args.bottoms[0].layout.channels_last() && !window.within;
    return {window, bottom[0], bottom[1], bottom[2], bottom[3], last, args.tops[0]};
  }

  Device* device_;
  const LrnShape shape_;
  const LrnOps<float> ops_;
};

std::unique_ptr<Kernel> MakeLrnCuda(const KernelArgs& args) {
  return std::make_unique<CudaLrn>(args);
}

DOPPIO_REGISTER_KERNEL({"LRN", DeviceKind::kCuda, "cuda", 10, &MakeLrnCuda, &DeclinesDouble, true});

}  // namespace
}  // namespace doppio
