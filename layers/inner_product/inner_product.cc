// InnerProduct: the axes from `axis` on, flattened, times a matrix, plus a bias.
#include "core/math/blas.h"
#include "core/net/graph/layer.h"

namespace doppio {
namespace {

LayerShape InferInnerProduct(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const InnerProductParameter& p = spec.param.inner_product_param();
  const Shape& bottom = bottoms[0];
  if (!bottom.has_axis(p.axis())) {
    throw spec.Mistake("inner_product_param.axis", "axis " + std::to_string(p.axis()) +
                                                       " does not exist in the bottom of shape " +
                                                       bottom.ToString());
  }
  if (p.num_output() == 0 || p.num_output() > INT32_MAX) {
    throw spec.Mistake("inner_product_param.num_output",
                       "num_output must be positive, found " + std::to_string(p.num_output()));
  }
  const int axis = bottom.canonical_axis(p.axis());
  const int64_t inputs = bottom.count(axis), outputs = p.num_output();
  LayerShape shape;
  shape.tops = {Shape(std::vector<int64_t>(bottom.dims().begin(), bottom.dims().begin() + axis))};
  shape.tops[0].push_back(outputs);
  shape.params.push_back(
      {p.transpose() ? Shape{inputs, outputs} : Shape{outputs, inputs}, p.weight_filler()});
  if (p.bias_term()) shape.params.push_back({Shape{outputs}, p.bias_filler()});
  shape.backward_reads_tops = false;
  shape.macs = Macs({bottom.count(), outputs});
  return shape;
}

template <class T>
class InnerProductKernel : public Kernel {
 public:
  explicit InnerProductKernel(const KernelArgs& args)
      : transpose_(args.spec->param.inner_product_param().transpose()),
        bias_(args.spec->param.inner_product_param().bias_term()),
        outputs_(args.spec->param.inner_product_param().num_output()),
        inputs_(args.shape->params[0].shape.count() / outputs_),
        rows_(args.bottoms[0].shape.count() / std::max<int64_t>(1, inputs_)) {}

  void Forward(const Pass&) override {
    T* y = t_.tops[0].template data<T>();
    Gemm(false, !transpose_, rows_, outputs_, inputs_, T(1), t_.bottoms[0].template data<T>(),
         t_.params[0].template data<T>(), T(0), y);
    if (!bias_) return;
    const T* bias = t_.params[1].template data<T>();
    for (int64_t i = 0; i < rows_; ++i) {
      for (int64_t j = 0; j < outputs_; ++j) y[i * outputs_ + j] += bias[j];
    }
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    const T* x = t_.bottoms[0].template data<T>();
    const T* dy = t_.top_grads[0].template data<T>();
    if (T* dw = t_.param_grads[0].template data<T>()) {
      const T beta = add[0] ? T(1) : T(0);
      if (transpose_) {
        Gemm(true, false, inputs_, outputs_, rows_, T(1), x, dy, beta, dw);
      } else {
        Gemm(true, false, outputs_, inputs_, rows_, T(1), dy, x, beta, dw);
      }
    }
    if (bias_ && t_.param_grads[1]) {
      T* db = t_.param_grads[1].template data<T>();
      for (int64_t j = 0; j < outputs_; ++j) {
        double sum = add[1] ? db[j] : T(0);
        for (int64_t i = 0; i < rows_; ++i) sum += dy[i * outputs_ + j];
        db[j] = static_cast<T>(sum);
      }
    }
    if (t_.bottom_grads[0]) {
      Gemm(false, transpose_, rows_, inputs_, outputs_, T(1), dy, t_.params[0].template data<T>(),
           T(0), t_.bottom_grads[0].template data<T>());
    }
  }

 private:
  const bool transpose_, bias_;
  const int64_t outputs_, inputs_, rows_;
};

LayerType InnerProductType() {
  LayerType type;
  type.min_bottoms = type.max_bottoms = type.min_tops = type.max_tops = 1;
  type.infer = &InferInnerProduct;
  return type;
}

DOPPIO_REGISTER_LAYER("InnerProduct", InnerProductType());
DOPPIO_REGISTER_KERNEL({"InnerProduct", DeviceKind::kCpu, "reference", 0,
                        &MakeForFloat<InnerProductKernel>, nullptr});

}  // namespace
}  // namespace doppio
