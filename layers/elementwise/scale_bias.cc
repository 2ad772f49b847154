// Scale: y = x * scale + bias. Bias: y = x + bias. The factors are parameters or bottom 1. They are
// repeated over the axes of bottom 0 that they lack.
#include "core/net/contract/layer.h"
#include "layers/common/bottom_checks.h"
#include "layers/common/channel_blocks.h"
#include "layers/elementwise/scale_bias_form.h"

namespace doppio {
namespace {

// Returns the axes that the factors span, as given by `param`: scale_param or bias_param, whose
// axis and num_axes have the same meaning. `message` is the name of that field, for errors.
template <class Param>
ScaleBiasForm ReadFactors(const LayerSpec& spec, const std::string& message, const Param& param,
                          const std::vector<Shape>& bottoms) {
  const Shape& shape = bottoms[0];
  ScaleBiasForm form;
  const bool scalar = bottoms.size() == 2 && bottoms[1].rank() == 0;
  form.axis = scalar ? 0 : AxisOf(spec, message + ".axis", param.axis(), shape);
  if (bottoms.size() == 2) {
    form.end = form.axis + bottoms[1].rank();
    bool fits = form.end <= shape.rank();
    for (int i = form.axis; fits && i < form.end; ++i) fits = shape[i] == bottoms[1][i - form.axis];
    if (fits) return form;
    throw spec.Mistake(
        "bottom",
        StrCat("bottom 1 of shape ", bottoms[1].ToString(), " does not match bottom 0 of shape ",
               shape.ToString(), " from axis ", form.axis, " on"),
        1);
  }
  const int axes = form.num_axes = param.num_axes();
  spec.RefuseIf(axes < -1 || form.axis + axes > shape.rank(), message + ".num_axes", "num_axes ",
                axes, " from axis ", form.axis, " does not fit bottom 0 of shape ",
                shape.ToString(), "; -1 means all from there on");
  form.end = axes == -1 ? shape.rank() : form.axis + axes;
  return form;
}

ScaleBiasForm ReadScaleBias(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const bool learned = bottoms.size() == 1;
  if (spec.type() == "Bias") {
    ScaleBiasForm form = ReadFactors(spec, "bias_param", spec.param.bias_param(), bottoms);
    form.bias_bottom = !learned;
    form.bias_param = learned ? 0 : -1;
    return form;
  }
  ScaleBiasForm form = ReadFactors(spec, "scale_param", spec.param.scale_param(), bottoms);
  form.scale_bottom = !learned;
  form.scale_param = learned ? 0 : -1;
  form.bias_term = spec.param.scale_param().bias_term();
  if (form.bias_term) form.bias_param = learned ? 1 : 0;
  return form;
}

LayerShape InferScaleBias(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const ScaleBiasForm form = ReadScaleBias(spec, bottoms);
  const std::vector<int64_t>& dims = bottoms[0].dims();
  ParamShape scale, bias;
  scale.shape = bias.shape =
      Shape(std::vector<int64_t>(dims.begin() + form.axis, dims.begin() + form.end));
  const ScaleParameter& param = spec.param.scale_param();
  scale.filler = param.filler();
  if (!param.has_filler()) scale.filler.set_value(1);
  bias.filler = spec.type() == "Bias" ? spec.param.bias_param().filler() : param.bias_filler();

  LayerShape shape;
  shape.form = form;
  shape.tops = {bottoms[0]};
  if (form.scale_param >= 0) shape.params.push_back(scale);
  if (form.bias_param >= 0) shape.params.push_back(bias);
  shape.backward_reads_bottoms = form.has_scale();
  shape.backward_reads_tops = false;
  shape.in_place_ok = true;
  return shape;
}

template <class T>
class ScaleBias : public FormKernel<ScaleBiasForm> {
 public:
  explicit ScaleBias(const KernelArgs& args) : FormKernel(args) {
    const TensorSpec& bottom = args.bottoms[0];
    Layout layout = ChannelLayout(bottom, form_.axis, form_.end);
    // A bias for the whole tensor would change the zeros in the padding. A bias per channel does
    // not: the padding has its own factors.
    if (form_.axis == form_.end && form_.has_bias() && layout.padded()) layout = Layout();
    FindChannelBlocks({bottom.shape, args.dtype, layout}, form_.axis, form_.end, &channels_);
    needs_.bottoms.resize(args.bottoms.size());
    needs_.bottoms[0] = layout;
    needs_.tops = {layout};
    // The sums, followed by the padded factors.
    const int64_t per_channel = channels_.padded() * kBytesOf<T>;
    needs_.scratch_bytes = ChannelSumsBytes(channels_) + 2 * per_channel;
  }

  void Forward(const Pass&) override {
    const T* x = BottomValues<T>(0);
    T* y = TopValues<T>(0);
    const T* s = form_.has_scale() ? Factors(ScaleValues(), 0) : nullptr;
    const T* b = form_.has_bias() ? Factors(BiasValues(), 1) : nullptr;
    if (b == nullptr) {
      ForEachElement(
          channels_, [=](int64_t i, T scale) { y[i] = x[i] * scale; }, s);
    } else if (s == nullptr) {
      ForEachElement(
          channels_, [=](int64_t i, T bias) { y[i] = x[i] + bias; }, b);
    } else {
      ForEachElement(
          channels_, [=](int64_t i, T scale, T bias) { y[i] = x[i] * scale + bias; }, s, b);
    }
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    const Tensor scale_grad = GradientAt(form_.scale_bottom, form_.scale_param);
    const Tensor bias_grad = GradientAt(form_.bias_bottom, form_.bias_param);
    const double* sums = nullptr;
    if (form_.has_scale()) {
      sums = BackwardScale(scale_grad || bias_grad);
    } else {
      sums = BackwardBias(static_cast<bool>(bias_grad));
    }
    auto added = [&](int param) { return param >= 0 && add[param]; };
    if (scale_grad) StoreSums<T>(channels_, sums, added(form_.scale_param), scale_grad);
    if (bias_grad) {
      StoreSums<T>(channels_, sums + channels_.padded(), added(form_.bias_param), bias_grad);
    }
  }

 private:
  const Tensor& ScaleValues() const {
    return form_.scale_bottom ? t_.bottoms[1] : t_.params[form_.scale_param];
  }
  const Tensor& BiasValues() const {
    return form_.bias_bottom ? t_.bottoms[1] : t_.params[form_.bias_param];
  }
  Tensor GradientAt(bool bottom, int param) const {
    if (bottom) return t_.bottom_grads[1];
    return param >= 0 ? t_.param_grads[param] : Tensor();
  }
  // Returns padded factors; uses slot 0 or 1 of the scratch memory if they need padding.
  const T* Factors(const Tensor& values, int64_t slot) const {
    char* behind_sums = static_cast<char*>(t_.scratch) + ChannelSumsBytes(channels_);
    T* room = reinterpret_cast<T*>(behind_sums) + slot * channels_.padded();
    return PadChannels(channels_, values.data<T>(), room);
  }

  // Computes dx and, if `want_sums` is true, the sums of x * dy and of dy, in one pass over memory.
  // Returns the sums, or null.
  const double* BackwardScale(bool want_sums) {
    const T* x = BottomValues<T>(0);
    const T* dy = TopGradient<T>(0);
    const T* s = Factors(ScaleValues(), 0);
    T* dx = BottomGradient<T>(0);
    if (!want_sums) {
      if (dx == nullptr) return nullptr;
      ForEachElement(
          channels_, [=](int64_t i, T scale) { dx[i] = dy[i] * scale; }, s);
      return nullptr;
    }
    auto add = [=](T& scale_sum, T& bias_sum, int64_t i) {
      scale_sum += x[i] * dy[i];
      bias_sum += dy[i];
    };
    if (dx == nullptr) return SumPerChannel<T>(channels_, t_.scratch, add);
    return SumPerChannel<T>(
        channels_, t_.scratch,
        [=](T& scale_sum, T& bias_sum, int64_t i, T scale) {
          add(scale_sum, bias_sum, i);
          dx[i] = dy[i] * scale;
        },
        s);
  }

  // Computes dx and, if `want_sums` is true, the second sums, those of dy. Returns the sums, or
  // null.
  const double* BackwardBias(bool want_sums) {
    const T* dy = TopGradient<T>(0);
    T* dx = BottomGradient<T>(0);
    if (dx != nullptr && dx != dy) {
      ForEachElement(channels_, [=](int64_t i) { dx[i] = dy[i]; });
    }
    if (!want_sums) return nullptr;
    return SumPerChannel<T>(channels_, t_.scratch, [=](T&, T& sum, int64_t i) { sum += dy[i]; });
  }

  ChannelBlocks channels_;
};

int SureScaleParams(const LayerParameter& layer) {
  return layer.bottom_size() < 2 ? 1 + layer.scale_param().bias_term() : 0;
}

// Without a second bottom, the factors or summands are parameters.
DOPPIO_REGISTER_LAYER("Scale", LayerType(&InferScaleBias)
                                   .Bottoms(1, 2)
                                   .DrawnAs("norm")
                                   .Tops(1)
                                   .KeepsCoordinates()
                                   .Params({"weight", "bias"}, &SureScaleParams)
                                   .RowByRow([](const LayerParameter& layer) {
                                     return layer.bottom_size() == 1 ? layer.scale_param().axis()
                                                                     : 0;
                                   }));
DOPPIO_REGISTER_LAYER("Bias", LayerType(&InferScaleBias)
                                  .Bottoms(1, 2)
                                  .Tops(1)
                                  .KeepsCoordinates()
                                  .Params({"bias"},
                                          [](const LayerParameter& layer) {
                                            return layer.bottom_size() < 2 ? 1 : 0;
                                          })
                                  .RowByRow([](const LayerParameter& layer) {
                                    return layer.bottom_size() == 1 ? layer.bias_param().axis() : 0;
                                  }));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<ScaleBias>("Scale"));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<ScaleBias>("Bias"));

}  // namespace
}  // namespace doppio
