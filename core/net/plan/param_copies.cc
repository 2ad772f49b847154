#include "core/net/plan/param_copies.h"

#include <utility>

#include "core/math/tensor_ops.h"
#include "core/net/plan/kernel_wrapper.h"

namespace doppio {
namespace {

// Returns true if the kernel needs a copy of a parameter.
bool NeedsCopy(const KernelArgs& args, const Kernel& kernel, size_t param) {
  return args.param_placed[param] &&
         args.param_layouts[param] != LayoutAt(kernel.needs().params, param);
}

class ParamCopies : public KernelWrapper {
 public:
  ParamCopies(const KernelArgs& args, std::unique_ptr<Kernel> kernel)
      : KernelWrapper(std::move(kernel)) {
    needs_ = inner()->needs();
    DOPPIO_CHECK(needs_.gradient_slice == 0, "slices are computed in the parameter's own layout");
    needs_.params.resize(args.param_shapes.size());
    for (size_t i = 0; i < args.param_shapes.size(); ++i) {
      if (!NeedsCopy(args, *inner(), i)) continue;
      const TensorSpec kept{args.param_shapes[i], args.dtype, args.param_layouts[i]};
      const TensorSpec needed{kept.shape, args.dtype, needs_.params[i]};
      needs_.params[i] = kept.layout;
      Copy& copy = copies_.emplace_back();
      copy.param = i;
      copy.value_offset = TakeScratch(needed.bytes());
      if (args.backward) copy.gradient_offset = TakeScratch(needed.bytes());
      copy.value = copy.gradient = Tensor(needed, nullptr);
      copy.read = OpsOf(args.device).Convert(kept, needed);
      copy.write = OpsOf(args.device).Convert(needed, kept);
    }
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    KernelTensors own = t_;
    for (Copy& copy : copies_) {
      char* const scratch = static_cast<char*>(t_.scratch);
      copy.value.raw = scratch + copy.value_offset;
      if (t_.param_grads[copy.param]) copy.gradient.raw = scratch + copy.gradient_offset;
      own.params[copy.param] = copy.value;
      own.param_grads[copy.param] = copy.gradient;
    }
    inner()->Bind(std::move(own));
  }

  void Forward(const Pass& pass) override {
    ReadValues();
    KernelWrapper::Forward(pass);
  }

  void Backward(const Pass& pass, const std::vector<bool>& add) override {
    ReadValues();  // other layers have used the scratch memory since Forward
    for (const Copy& copy : copies_) {
      if (copy.gradient && add[copy.param])
        copy.read->Run(t_.param_grads[copy.param].raw, copy.gradient.raw);
    }
    KernelWrapper::Backward(pass, add);
    for (const Copy& copy : copies_) {
      if (copy.gradient) copy.write->Run(copy.gradient.raw, t_.param_grads[copy.param].raw);
    }
  }

 private:
  // A parameter and its gradient as the inner kernel sees them.
  struct Copy {
    size_t param = 0;
    Tensor value, gradient;
    int64_t value_offset = 0, gradient_offset = 0;  // in the scratch memory
    std::unique_ptr<Converter> read, write;
  };

  void ReadValues() const {
    for (const Copy& copy : copies_) copy.read->Run(t_.params[copy.param].raw, copy.value.raw);
  }

  std::vector<Copy> copies_;
};

}  // namespace

Layout LayoutAt(const std::vector<Layout>& needed, size_t i) {
  return i < needed.size() ? needed[i] : Layout();
}

std::unique_ptr<Kernel> WithParamCopies(const KernelArgs& args, std::unique_ptr<Kernel> kernel) {
  for (size_t i = 0; i < args.param_shapes.size(); ++i) {
    if (NeedsCopy(args, *kernel, i)) return std::make_unique<ParamCopies>(args, std::move(kernel));
  }
  return kernel;
}

}  // namespace doppio
