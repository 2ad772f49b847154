// The layers that a stub computes. The host computes all others between them.
#include "core/base/clock.h"
#include "core/net/plan/kernel_wrapper.h"
#include "layers/activation/activation_ops.h"
#include "layers/common/accelerator_kernel.h"
#include "tests/backends/stub/stub_device.h"

namespace doppio {
namespace {

// A kernel of the stub's own. It has two ways to compute its top, measures both, and takes the
// faster one; a resumed training takes the same one as before.
class StubRelu : public Kernel {
 public:
  explicit StubRelu(const KernelArgs& args) : relu_(args.Form<Relu>()) {
    const int64_t count = args.top_shapes[0].count();
    std::vector<Candidate> candidates;
    for (const bool backwards : {false, true}) {
      candidates.push_back(
          {backwards ? "backwards" : "forwards", 0, [this, count, backwards] {
             std::vector<float> x(count), y(count);
             const int64_t begin = MonotonicNs();
             Compute(backwards, count, x.data(), y.data());
             return CandidateTrial{"", static_cast<double>(MonotonicNs() - begin), ""};
           }});
    }
    const CandidateChoice choice =
        ChooseMeasured(&args.device->measured_choices(),
                       "stub: ReLU of " + std::to_string(count) + " elements", "top", candidates);
    backwards_ = choice.chosen == 1;
    args.Note(choice);
  }

  void Forward(const Pass&) override {
    Compute(backwards_, t_.tops[0].count(), OnHost(BottomValues<float>(0)),
            OnHost(TopValues<float>(0)));
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    const Tensor& values = relu_.reads() == Reads::kTop ? t_.tops[0] : t_.bottoms[0];
    const float *v = OnHost(values.data<float>()), *dy = OnHost(TopGradient<float>(0));
    float* dx = OnHost(BottomGradient<float>(0));
    if (dx == nullptr) return;
    for (int64_t i = 0; i < t_.tops[0].count(); ++i) dx[i] = relu_.Gradient(v[i], dy[i]);
  }

 private:
  void Compute(bool backwards, int64_t count, const float* x, float* y) const {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = backwards ? count - 1 - i : i;
      y[at] = relu_.Forward(x[at]);
    }
  }

  const Relu relu_;
  bool backwards_ = false;
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
