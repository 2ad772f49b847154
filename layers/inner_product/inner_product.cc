// InnerProduct: flattens the axes from `axis` on, multiplies them by a matrix and adds a bias.
#include "core/math/blas.h"
#include "core/net/contract/layer.h"
#include "layers/common/bottom_checks.h"
#include "layers/common/row_copies.h"
#include "layers/inner_product/inner_product_form.h"

namespace doppio {
namespace {

InnerProductForm ReadInnerProduct(const LayerSpec& spec, const Shape& bottom) {
  const InnerProductParameter& p = spec.param.inner_product_param();
  const int axis = AxisOf(spec, "inner_product_param.axis", p.axis(), bottom);
  spec.RefuseIf(p.num_output() == 0 || p.num_output() > INT32_MAX, "inner_product_param.num_output",
                "num_output must be positive, found ", p.num_output());
  InnerProductForm form;
  form.transpose = p.transpose();
  form.bias = p.bias_term();
  form.axis = axis;
  form.inputs = bottom.count(form.axis);
  form.outputs = p.num_output();
  form.rows = bottom.count() / std::max<int64_t>(1, form.inputs);
  return form;
}

LayerShape InferInnerProduct(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const InnerProductForm form = ReadInnerProduct(spec, bottoms[0]);
  const InnerProductParameter& p = spec.param.inner_product_param();
  const int64_t inputs = form.inputs, outputs = form.outputs;
  const std::vector<int64_t>& dims = bottoms[0].dims();
  LayerShape shape;
  shape.form = form;
  shape.tops = {Shape(std::vector<int64_t>(dims.begin(), dims.begin() + form.axis))};
  shape.tops[0].push_back(outputs);
  shape.params.push_back(
      {form.transpose ? Shape{inputs, outputs} : Shape{outputs, inputs}, p.weight_filler()});
  if (form.bias) shape.params.push_back({Shape{outputs}, p.bias_filler()});
  shape.backward_reads_tops = false;
  shape.macs = Macs({bottoms[0].count(), outputs});
  return shape;
}

template <class T>
class InnerProductKernel : public FormKernel<InnerProductForm> {
 public:
  using FormKernel::FormKernel;

  void Forward(const Pass&) override {
    T* y = TopValues<T>(0);
    Gemm(false, !form_.transpose, form_.rows, form_.outputs, form_.inputs, T(1), BottomValues<T>(0),
         ParamValues<T>(0), T(0), y);
    if (form_.bias) AddToRows(form_.rows, form_.outputs, ParamValues<T>(1), y);
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    const T* x = BottomValues<T>(0);
    const T* dy = TopGradient<T>(0);
    if (T* dw = ParamGradient<T>(0)) {
      const T beta = add[0] ? T(1) : T(0);
      if (form_.transpose) {
        Gemm(true, false, form_.inputs, form_.outputs, form_.rows, T(1), x, dy, beta, dw);
      } else {
        Gemm(true, false, form_.outputs, form_.inputs, form_.rows, T(1), dy, x, beta, dw);
      }
    }
    if (form_.bias && t_.param_grads[1])
      SumColumns(form_.rows, form_.outputs, dy, add[1], ParamGradient<T>(1));
    if (t_.bottom_grads[0]) {
      Gemm(false, form_.transpose, form_.rows, form_.inputs, form_.outputs, T(1), dy,
           ParamValues<T>(0), T(0), BottomGradient<T>(0));
    }
  }
};

int SureInnerProductParams(const LayerParameter& layer) {
  return 1 + layer.inner_product_param().bias_term();
}

DOPPIO_REGISTER_LAYER("InnerProduct", LayerType(&InferInnerProduct)
                                          .Bottoms(1)
                                          .Tops(1)
                                          .AcceptsRelu("inner_product_param")
                                          .FixesInputSize([](const LayerParameter& layer) {
                                            const bool t = layer.inner_product_param().transpose();
                                            return t ? 0 : 1;
                                          })
                                          .Params({"weight", "bias"}, &SureInnerProductParams)
                                          .RowByRow([](const LayerParameter& layer) {
                                            return layer.inner_product_param().axis();
                                          }));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<InnerProductKernel>("InnerProduct"));

}  // namespace
}  // namespace doppio
