// Every activation of activation_ops.h on a GPU, plain or channels last, for every stored type.
#include "core/device/elementwise.cuh"
#include "layers/activation/activation_ops.h"
#include "layers/common/stored_form_cuda.h"

namespace doppio {
namespace {

template <class Op, class T>
static void Apply(const Gpu& gpu, const Op& op, const T* x, T* y, int64_t n) {
  MapElements(
      gpu, n, Op::kType, y, DOPPIO_BODY(float value) { return op.Forward(value); }, x);
}

template <class Op, class T>
static void Differentiate(const Gpu& gpu, const Op& op, const T* v, const T* dy, T* dx, int64_t n) {
  MapElements(
      gpu, n, Op::kType, dx, DOPPIO_BODY(float value, float d) { return op.Gradient(value, d); }, v,
      dy);
}

template <class Op>
class CudaActivation : public Kernel {
 public:
  explicit CudaActivation(const KernelArgs& args) : device_(args.device), op_(args.Form<Op>()) {
    AskForOneForm(args, &needs_);
  }

  void Forward(const Pass&) override {
    const Tensor& x = t_.bottoms[0];
    DispatchStored(x.dtype, [&](auto zero) {
      using T = decltype(zero);
      Apply(GpuOf(device_), op_, x.data<T>(), TopValues<T>(0), x.count());
    });
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    const Tensor& dx = t_.bottom_grads[0];
    if (!dx) return;
    const Tensor& dy = t_.top_grads[0];
    const Tensor& v = op_.reads() == Reads::kBottom ? t_.bottoms[0]
                      : op_.reads() == Reads::kTop  ? t_.tops[0]
                                                    : dy;
    DispatchStored(dx.dtype, [&](auto zero) {
      using T = decltype(zero);
      Differentiate(GpuOf(device_), op_, v.data<T>(), dy.data<T>(), dx.data<T>(), dx.count());
    });
  }
  bool same_every_pass() const override { return true; }

 private:
  Device* device_;
  const Op op_;
};

template <class... Ops>
bool RegisterAllActivationCuda(const std::tuple<Ops...>*) {
  return (KernelTypes::Get().Add(CudaKernel<CudaActivation<Ops>>(Ops::kType).Narrow()) && ...);
}
[[maybe_unused]] const bool activation_cuda_registered =
    RegisterAllActivationCuda(static_cast<AllActivations*>(nullptr));

}  // namespace
}  // namespace doppio
