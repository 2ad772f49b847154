// Parameter: its top is a learned parameter of any shape.
#include <algorithm>

#include "core/base/threads.h"
#include "core/math/tensor_ops.h"
#include "core/net/contract/layer.h"
#include "layers/common/accelerator_kernel.h"

namespace doppio {
namespace {

LayerShape InferParameter(const LayerSpec& spec, const std::vector<Shape>&) {
  LayerShape shape;
  Shape dims;
  for (int64_t d : spec.param.parameter_param().shape().dim()) dims.push_back(d);
  if (std::any_of(dims.dims().begin(), dims.dims().end(), [](int64_t d) { return d < 1; })) {
    throw spec.Mistake("parameter_param.shape",
                       "shape " + dims.ToString() + " has an extent below 1");
  }
  shape.tops = {dims};
  shape.params = {{dims, FillerParameter(), true}};
  shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  return shape;
}

template <class T>
class ParameterKernel : public Kernel {
 public:
  explicit ParameterKernel(const KernelArgs&) {}

  void Forward(const Pass&) override {
    std::copy_n(ParamValues<T>(0), t_.tops[0].count(), TopValues<T>(0));
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    if (!t_.param_grads[0]) return;
    const T* dy = TopGradient<T>(0);
    T* dw = ParamGradient<T>(0);
    const bool adds = add[0];
    ParallelFor(t_.tops[0].count(), 1 << 14, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) dw[i] = adds ? dw[i] + dy[i] : dy[i];
    });
  }
};

// On accelerators, for elements of any type.
class AcceleratorParameter : public Kernel {
 public:
  explicit AcceleratorParameter(const KernelArgs& args) : ops_(OpsOf(args.device)) {}

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

DOPPIO_REGISTER_LAYER(
    "Parameter",
    LayerType(&InferParameter).Bottoms(0).Tops(1).Params({}, [](const LayerParameter&) {
      return 1;
    }));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<ParameterKernel>("Parameter"));
DOPPIO_REGISTER_KERNEL(AcceleratorKernel<AcceleratorParameter>("Parameter").Declines(nullptr));

}  // namespace
}  // namespace doppio
