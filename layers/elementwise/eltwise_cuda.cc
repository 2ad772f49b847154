// Eltwise and Eltwise+ReLU on a GPU, in any layout and with whatever activations are stored as:
// forward in one pass over memory, and so backward for all bottoms together.
#include "layers/elementwise/eltwise_cuda.h"

#include "layers/common/chain.h"
#include "layers/common/stored_form_cuda.h"

namespace doppio {
namespace {

EltwiseOp OpOf(const EltwiseParameter& param) {
  switch (param.operation()) {
    case EltwiseParameter::SUM:
      return EltwiseOp::kSum;
    case EltwiseParameter::MAX:
      return EltwiseOp::kMax;
    case EltwiseParameter::PROD:
      break;
  }
  return param.stable_prod_grad() ? EltwiseOp::kProduct : EltwiseOp::kQuotient;
}

class CudaEltwise : public Kernel {
 public:
  explicit CudaEltwise(const KernelArgs& args)
      : device_(args.device),
        tail_(args.chain),
        relu_(tail_.relu ? *tail_.relu : Relu(1)),
        coefficients_(args.bottoms.size(), 1.0f) {
    const EltwiseParameter& param = args.spec->param.eltwise_param();
    table_.op = OpOf(param);
    table_.count = static_cast<int>(args.bottoms.size());
    table_.type = args.tops[0];
    AskForOneForm(args, &needs_);
    if (table_.op == EltwiseOp::kSum)
      std::copy(param.coeff().begin(), param.coeff().end(), coefficients_.begin());
    if (table_.op == EltwiseOp::kMax && args.backward) {
      needs_.saved_bytes =
          args.bottoms[0].shape.count() * static_cast<int64_t>(sizeof(EltwiseWinner));
    }
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    winners_ = needs_.saved_bytes > 0 ? static_cast<EltwiseWinner*>(t_.saved) : nullptr;
    std::vector<const void*> in;
    std::vector<void*> grads;
    table_.packed = true;
    for (size_t i = 0; i < coefficients_.size(); ++i) {
      in.push_back(t_.bottoms[i].raw);
      grads.push_back(i < t_.bottom_grads.size() ? t_.bottom_grads[i].raw : nullptr);
      table_.packed = table_.packed && PacksFit(in.back(), grads.back());
    }
    table_.in = Put(in, &in_there_);
    table_.grads = Put(grads, &grads_there_);
    table_.coefficients = Put(coefficients_, &coefficients_there_);
    has_backward_ = tail_.relu ||
                    std::any_of(grads.begin(), grads.end(), [](void* dx) { return dx != nullptr; });
  }

  void Forward(const Pass&) override {
    const Tensor& y = t_.tops[0];
    if (table_.op == EltwiseOp::kSum && table_.count == 2) {
      LaunchSumOfTwo(GpuOf(device_), y.count(), y.dtype, coefficients_[0], t_.bottoms[0].raw,
                     coefficients_[1], t_.bottoms[1].raw, relu_, y.raw);
    } else {
      LaunchEltwise(GpuOf(device_), y.count(), table_, relu_, y.raw, winners_);
    }
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!has_backward_) return;  // the bottoms' gradients are the top's
    const Tensor& dy = t_.top_grads[0];
    LaunchEltwiseBackward(GpuOf(device_), dy.count(), table_, tail_.relu.has_value(), relu_,
                          t_.tops[0].raw, dy.raw, winners_);
  }
  bool same_every_pass() const override { return true; }

  static std::unique_ptr<Kernel> Make(const KernelArgs& args) {
    return std::make_unique<CudaEltwise>(args);
  }

 private:
  template <class T>
  const T* Put(const std::vector<T>& values, Buffer* there) {
    const int64_t bytes = static_cast<int64_t>(values.size() * sizeof(T));
    *there = Buffer(device_, bytes);
    device_->CopyFromHost(there->data(), values.data(), bytes);
    return static_cast<const T*>(there->data());
  }

  Device* const device_;
  const ChainTail tail_;
  const Relu relu_;
  std::vector<float> coefficients_;
  EltwiseTable table_{};
  Buffer in_there_, grads_there_, coefficients_there_;
  EltwiseWinner* winners_ = nullptr;
  bool has_backward_ = false;
};

DOPPIO_REGISTER_KERNEL({"Eltwise", DeviceKind::kCuda, "cuda", 10, &CudaEltwise::Make,
                        &DeclinesDouble, true});
DOPPIO_REGISTER_KERNEL({"Eltwise+ReLU", DeviceKind::kCuda, "cuda", 10, &CudaEltwise::Make,
                        &DeclinesDouble, true});

}  // namespace
}  // namespace doppio
