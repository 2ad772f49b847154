// Normalize on a GPU, in single precision and the plain layout.
#include "layers/normalize_cuda.h"

#include "layers/normalize_spec.h"
#include "layers/stored_form_cuda.h"

namespace doppio {
namespace {

class CudaNormalize : public Kernel {
 public:
  explicit CudaNormalize(const KernelArgs& args)
      : device_(args.device),
        shape_(NormalizeShapeOf(*args.spec, args.bottoms[0].shape)),
        backward_(args.backward),
        sums_bytes_((NormalizeScratchBytes(shape_) + 63) / 64 * 64) {
    const int64_t inverses_bytes = shape_.groups.positions() * static_cast<int64_t>(sizeof(float));
    needs_.saved_bytes = backward_ ? inverses_bytes : 0;
    needs_.scratch_bytes = sums_bytes_ + (backward_ ? 0 : inverses_bytes);
  }

  void Forward(const Pass&) override {
    LaunchNormalize(GpuOf(device_), shape_, t_.bottoms[0].data<float>(), t_.params[0].data<float>(),
                    Inverses(), t_.tops[0].data<float>(), t_.scratch);
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    LaunchNormalizeBackward(GpuOf(device_), shape_, t_.bottoms[0].data<float>(),
                            t_.top_grads[0].data<float>(), t_.params[0].data<float>(), Inverses(),
                            {t_.param_grads[0].data<float>(), add[0]},
                            t_.bottom_grads[0].data<float>(), t_.scratch);
  }
  bool same_every_pass() const override { return true; }

  static std::unique_ptr<Kernel> Make(const KernelArgs& args) {
    return std::make_unique<CudaNormalize>(args);
  }

 private:
  float* Inverses() const {
    void* place = backward_ ? t_.saved : static_cast<char*>(t_.scratch) + sums_bytes_;
    return static_cast<float*>(place);
  }

  Device* const device_;
  const NormalizeShape shape_;
  const bool backward_;
  const int64_t sums_bytes_;  // a multiple of 64
};

DOPPIO_REGISTER_KERNEL({"Normalize", DeviceKind::kCuda, "cuda", 10, &CudaNormalize::Make,
                        &DeclinesDouble});

}  // namespace
}  // namespace doppio
