// PriorBox on a GPU: the boxes are made once, on the host, and copied within the GPU.
#include "core/math/tensor_ops.h"
#include "layers/detection/prior_box_form.h"
#include "layers/common/stored_form_cuda.h"

namespace doppio {
namespace {

class CudaPriorBox : public Kernel {
 public:
  explicit CudaPriorBox(const KernelArgs& args) : ops_(OpsOf(args.device)) {
    const std::vector<float> values =
        ReadPriorBox(*args.spec, {args.bottoms[0].shape, args.bottoms[1].shape}).Values();
    const int64_t bytes = static_cast<int64_t>(values.size() * sizeof(float));
    values_ = Buffer(args.device, bytes);
    args.device->CopyFromHost(values_.data(), values.data(), bytes);
  }

  void Forward(const Pass&) override { ops_.Copy(Tensor(t_.tops[0], values_.data()), t_.tops[0]); }
  bool same_every_pass() const override { return true; }

  static std::unique_ptr<Kernel> Make(const KernelArgs& args) {
    return std::make_unique<CudaPriorBox>(args);
  }

 private:
  const TensorOps& ops_;
  Buffer values_;
};

DOPPIO_REGISTER_KERNEL({"PriorBox", DeviceKind::kCuda, "cuda", 10, &CudaPriorBox::Make,
                        &DeclinesDouble});

}  // namespace
}  // namespace doppio
