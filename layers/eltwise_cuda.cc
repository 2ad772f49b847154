// Eltwise and Eltwise+ReLU on a GPU, in single precision: forward in one pass over memory, and so
// backward for all bottoms together.
#include "layers/eltwise_cuda.h"

#include "layers/chain.h"

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
    std::vector<const float*> in;
    std::vector<float*> grads;
    for (size_t i = 0; i < coefficients_.size(); ++i) {
      in.push_back(t_.bottoms[i].data<float>());
      grads.push_back(i < t_.bottom_grads.size() ? t_.bottom_grads[i].data<float>() : nullptr);
    }
    table_.in = Put(in, &in_there_);
    table_.grads = Put(grads, &grads_there_);
    table_.coefficients = Put(coefficients_, &coefficients_there_);
    has_backward_ = tail_.relu || std::any_of(grads.begin(), grads.end(),
                                              [](float* dx) { return dx != nullptr; });
  }

  void Forward(const Pass&) override {
    const Tensor& y = t_.tops[0];
    if (table_.op == EltwiseOp::kSum && table_.count == 2) {
      LaunchSumOfTwo(GpuOf(device_), y.count(), coefficients_[0], t_.bottoms[0].data<float>(),
                     coefficients_[1], t_.bottoms[1].data<float>(), relu_, y.data<float>());
    } else {
      LaunchEltwise(GpuOf(device_), y.count(), table_, relu_, y.data<float>(), winners_);
    }
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!has_backward_) return;  // the bottoms' gradients are the top's
    const Tensor& dy = t_.top_grads[0];
    LaunchEltwiseBackward(GpuOf(device_), dy.count(), table_, tail_.relu.has_value(), relu_,
                          t_.tops[0].data<float>(), dy.data<float>(), winners_);
  }

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

std::string Declines(const KernelArgs& args) {
  return args.dtype == DType::kFloat32 ? "" : std::string("it has no ") + Name(args.dtype);
}

DOPPIO_REGISTER_KERNEL({"Eltwise", DeviceKind::kCuda, "cuda", 10, &CudaEltwise::Make, &Declines});
DOPPIO_REGISTER_KERNEL({"Eltwise+ReLU", DeviceKind::kCuda, "cuda", 10, &CudaEltwise::Make,
                        &Declines});

}  // namespace
}  // namespace doppio
