// Parameter on a GPU, for elements of any type.
#include "core/math/tensor_ops.h"
#include "core/net/graph/layer.h"

namespace doppio {
namespace {

class CudaParameter : public Kernel {
 public:
  explicit CudaParameter(const KernelArgs& args) : ops_(OpsOf(args.device)) {}

  void Forward(const Pass&) override { ops_.Copy(t_.params[0], t_.tops[0]); }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    const Tensor &dy = t_.top_grads[0], &dw = t_.param_grads[0];
    if (!dw) return;
    if (add[0]) {
      ops_.Add(dw, dy, dw);
    } else {
      ops_.Copy(dy, dw);
    }
  }

 private:
  const TensorOps& ops_;
};

std::unique_ptr<Kernel> MakeParameterCuda(const KernelArgs& args) {
  return std::make_unique<CudaParameter>(args);
}

DOPPIO_REGISTER_KERNEL({"Parameter", DeviceKind::kCuda, "cuda", 10, &MakeParameterCuda, nullptr});

}  // namespace
}  // namespace doppio
