// Normalize on a GPU, in single precision and the plain layout.
#include "layers/normalization/normalize_cuda.h"

#include "layers/normalization/normalize_spec.h"
#include "layers/common/room.h"
#include "layers/common/stored_form_cuda.h"

namespace doppio {
namespace {

class CudaNormalize : public Kernel {
 public:
  explicit CudaNormalize(const KernelArgs& args)
      : device_(args.device),
        shape_(NormalizeShapeOf(*args.spec, args.bottoms[0].shape)),
        backward_(args.backward) {
    Place(nullptr, nullptr);
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    Place(t_.saved, t_.scratch);
  }

  void Forward(const Pass&) override {
    LaunchNormalize(GpuOf(device_), shape_, t_.bottoms[0].data<float>(), t_.params[0].data<float>(),
                    inverses_, t_.tops[0].data<float>(), t_.scratch);
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    LaunchNormalizeBackward(GpuOf(device_), shape_, t_.bottoms[0].data<float>(),
                            t_.top_grads[0].data<float>(), t_.params[0].data<float>(), inverses_,
                            {t_.param_grads[0].data<float>(), add[0]},
                            t_.bottom_grads[0].data<float>(), t_.scratch);
  }
  bool same_every_pass() const override { return true; }

  static std::unique_ptr<Kernel> Make(const KernelArgs& args) {
    return std::make_unique<CudaNormalize>(args);
  }

 private:
  // Launches have the beginning of the scratch.
  void Place(void* saved, void* scratch) {
    Room kept(saved), passing(scratch);
    passing.TakeBytes(NormalizeScratchBytes(shape_));
    inverses_ = (backward_ ? kept : passing).Take<float>(shape_.groups.positions());
    needs_.saved_bytes = kept.bytes();
    needs_.scratch_bytes = passing.bytes();
  }

  Device* const device_;
  const NormalizeShape shape_;
  const bool backward_;
  float* inverses_ = nullptr;
};

DOPPIO_REGISTER_KERNEL({"Normalize", DeviceKind::kCuda, "cuda", 10, &CudaNormalize::Make,
                        &DeclinesDouble});

}  // namespace
}  // namespace doppio
