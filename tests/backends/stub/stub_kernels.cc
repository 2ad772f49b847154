// The layers that a stub computes. The host computes all others between them.
#include "core/net/plan/kernel_wrapper.h"
#include "layers/activation/activation_ops.h"
#include "layers/common/accelerator_kernel.h"
#include "tests/backends/stub/stub_device.h"

namespace doppio {
namespace {

// A kernel of the stub's own.
class StubRelu : public Kernel {
 public:
  explicit StubRelu(const KernelArgs& args) : relu_(args.Form<Relu>()) {}

  void Forward(const Pass&) override {
    const float* x = OnHost(BottomValues<float>(0));
    float* y = OnHost(TopValues<float>(0));
    for (int64_t i = 0; i < t_.tops[0].count(); ++i) y[i] = relu_.Forward(x[i]);
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    const Tensor& values = relu_.reads() == Reads::kTop ? t_.tops[0] : t_.bottoms[0];
    const float *v = OnHost(values.data<float>()), *dy = OnHost(TopGradient<float>(0));
    float* dx = OnHost(BottomGradient<float>(0));
    if (dx == nullptr) return;
    for (int64_t i = 0; i < t_.tops[0].count(); ++i) dx[i] = relu_.Gradient(v[i], dy[i]);
  }

 private:
  const Relu relu_;
};

// Returns the type of the CPU's reference kernel of a layer, which has the lowest rank.
const KernelType& ReferenceOf(const KernelArgs& args) {
  return *KernelTypes::Get().For(args.type, DeviceKind::kCpu).back();
}

KernelArgs ArgsOnHost(KernelArgs args) {
  args.device = HostBehind(args.device);
  return args;
}

std::string ReferenceDeclines(const KernelArgs& args) {
  const KernelType& type = ReferenceOf(args);
  const std::string why = DeclinesDouble(args);
  return why.empty() && type.declines != nullptr ? type.declines(ArgsOnHost(args)) : why;
}

// The CPU's reference kernel, which computes in the memory behind the stub. It stands for a call of
// a device's library.
class StubReference : public KernelWrapper {
 public:
  explicit StubReference(const KernelArgs& args)
      : KernelWrapper(ReferenceOf(args).make(ArgsOnHost(args))) {
    needs_ = inner()->needs();
  }

  void Bind(KernelTensors tensors) override {
    for (auto* list : {&tensors.bottoms, &tensors.tops, &tensors.params, &tensors.bottom_grads,
                       &tensors.top_grads, &tensors.param_grads}) {
      for (Tensor& tensor : *list) tensor = OnHost(tensor);
    }
    tensors.saved = OnHost(tensors.saved);
    tensors.scratch = OnHost(tensors.scratch);
    inner()->Bind(std::move(tensors));
  }
};

KernelType StubKernel(const std::string& layer, KernelType::MakeFunction make) {
  return AcceleratorKernel(layer, make).On(kStubKind).Engine("stub");
}

DOPPIO_REGISTER_KERNEL(StubKernel("ReLU", &MakeKernel<StubRelu>));

bool RegisterStubReferences() {
  for (const char* layer : {"Convolution", "InnerProduct", "Pooling"}) {
    KernelTypes::Get().Add(
        StubKernel(layer, &MakeKernel<StubReference>).Declines(&ReferenceDeclines));
  }
  return true;
}
[[maybe_unused]] const bool stub_references_registered = RegisterStubReferences();

}  // namespace
}  // namespace doppio
