// Embed: replaces each index in the bottom by that row of a learned matrix, plus a bias.
#include "core/net/contract/layer.h"
#include "layers/common/row_copies.h"
#include "layers/inner_product/embed_form.h"

namespace doppio {
namespace {

EmbedForm ReadEmbed(const LayerSpec& spec, const Shape& bottom) {
  const EmbedParameter& param = spec.param.embed_param();
  const auto check = [&](const char* field, int64_t value) {
    spec.RefuseIf(!(value >= 1 && value <= INT32_MAX), std::string("embed_param.") + field, field,
                  " must be positive, found ", value);
  };
  check("num_output", param.num_output());
  check("input_dim", param.input_dim());
  return {IndexReader(param.input_dim(), "embed_param.input_dim gives no more rows"),
          bottom.count(), param.num_output(), param.bias_term()};
}

LayerShape InferEmbed(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const EmbedForm form = ReadEmbed(spec, bottoms[0]);
  const EmbedParameter& param = spec.param.embed_param();
  LayerShape shape;
  shape.form = form;
  shape.tops = {bottoms[0]};
  shape.tops[0].push_back(form.width);
  shape.params.push_back({Shape{form.indices.rows(), form.width}, param.weight_filler()});
  if (form.bias) shape.params.push_back({Shape{form.width}, param.bias_filler()});
  // Backward reads the saved row indices.
  shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  shape.no_gradient_bottoms = {true};
  return shape;
}

template <class T>
class EmbedKernel : public FormKernel<EmbedForm> {
 public:
  explicit EmbedKernel(const KernelArgs& args)
      : FormKernel(args), at_(args.at), backward_(args.backward) {
    (backward_ ? needs_.saved_bytes : needs_.scratch_bytes) = form_.count * kBytesOf<int32_t>;
  }

  void Forward(const Pass&) override {
    T* y = TopValues<T>(0);
    form_.indices.Read(at_, BottomValues<T>(0), form_.count, Rows());
    GatherRows(form_.count, form_.width, Rows(), ParamValues<T>(0), y);
    if (form_.bias) AddToRows(form_.count, form_.width, ParamValues<T>(1), y);
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    const T* dy = TopGradient<T>(0);
    if (T* dw = ParamGradient<T>(0)) {
      if (!add[0]) std::fill(dw, dw + t_.param_grads[0].count(), T(0));
      AddRows(form_.count, form_.width, Rows(), dy, dw);
    }
    if (form_.bias && t_.param_grads[1])
      SumColumns(form_.count, form_.width, dy, add[1], ParamGradient<T>(1));
  }

 private:
  // Returns the row indices that Forward has read.
  int32_t* Rows() const { return static_cast<int32_t*>(backward_ ? t_.saved : t_.scratch); }

  const SourceLoc at_;
  const bool backward_;
};

DOPPIO_REGISTER_LAYER("Embed", LayerType(&InferEmbed)
                                   .Bottoms(1)
                                   .Tops(1)
                                   .Params({"weight", "bias"}, [](const LayerParameter& layer) {
                                     return 1 + layer.embed_param().bias_term();
                                   }));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<EmbedKernel>("Embed"));

}  // namespace
}  // namespace doppio
