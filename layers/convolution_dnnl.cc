// Convolution by oneDNN. Weights live in the layout that the forward primitive reads; images stay
// in blocks of channels between layers, except that the first convolution of a net reads its few
// channels plain.
#include <algorithm>
#include <memory>
#include <vector>

#include "core/net/layer.h"
#include "layers/conv_geometry.h"
#include "layers/dnnl_support.h"

namespace doppio {
namespace {

using dnnl::memory;

// The primitives for one choice of layouts.
struct Choice {
  dnnl::convolution_forward::primitive_desc forward;
  dnnl::convolution_backward_data::primitive_desc backward_data;
  dnnl::convolution_backward_weights::primitive_desc backward_weights;
  double slowness = 0;
};

class Chooser {
 public:
  Chooser(const KernelArgs& args, const ConvGeometry& g)
      : args_(args), g_(g), stride_(g.stride), dilation_(g.dilation), pad_(g.pad) {
    for (int64_t& d : dilation_) --d;  // oneDNN counts the holes
    src_ = {g.batch, g.in_channels};
    dst_ = {g.batch, g.out_channels};
    src_.insert(src_.end(), g.input.begin(), g.input.end());
    dst_.insert(dst_.end(), g.output.begin(), g.output.end());
    if (g.group > 1) weights_.push_back(g.group);
    weights_.insert(weights_.end(), {g.out_channels / g.group, g.in_channels / g.group});
    weights_.insert(weights_.end(), g.kernel.begin(), g.kernel.end());
    const Shape weights_shape(weights_);
    if (!args.param_placed.empty() && args.param_placed[0]) {
      placed_ = DescOf({weights_shape, DType::kFloat32, args.param_layouts[0]});
    }
    data_ = args.bottom_gradient.empty() ? args.backward : false;
    for (bool wanted : args.bottom_gradient) data_ = data_ || (args.backward && wanted);
    params_ = args.param_gradient.empty() ? args.backward : false;
    for (bool wanted : args.param_gradient) params_ = params_ || (args.backward && wanted);
  }

  bool backward_data() const { return data_; }
  bool backward_params() const { return params_; }
  // The layout the weights already have elsewhere; empty when this layer decides.
  const memory::desc& placed() const { return placed_; }

  // The fastest; null when oneDNN has none.
  std::unique_ptr<Choice> Best() const {
    const memory::desc any_src = AnyDesc(Shape(src_)), any_dst = AnyDesc(Shape(dst_));
    const memory::desc plain_src = PlainDesc(Shape(src_)), plain_dst = PlainDesc(Shape(dst_));
    std::unique_ptr<Choice> best;
    auto offer = [&](const memory::desc& src, const memory::desc& dst) {
      if (best != nullptr && best->slowness == 0) return;
      for (bool placed : {true, false}) {
        if (placed && placed_.is_zero()) continue;
        std::unique_ptr<Choice> choice = Try(src, dst, placed ? placed_ : AnyDesc(Shape(weights_)));
        if (choice != nullptr && (best == nullptr || choice->slowness < best->slowness)) {
          best = std::move(choice);
        }
      }
    };
    // A batch of several axes has no blocked layout of the bottom's own rank.
    if (g_.axis == 1) {
      offer(any_src, any_dst);
      const memory::desc bottom = DescOf(args_.bottoms[0]);
      offer(bottom, any_dst);
      for (int64_t block : {16, 8}) {
        offer(ChannelBlocked(Shape(src_), block), ChannelBlocked(Shape(dst_), block));
      }
    }
    offer(plain_src, plain_dst);
    return best;
  }

 private:
  std::unique_ptr<Choice> Try(const memory::desc& src, const memory::desc& dst,
                              const memory::desc& weights) const {
    const dnnl::algorithm direct = dnnl::algorithm::convolution_direct;
    const memory::desc bias = g_.bias ? PlainDesc(Shape{g_.out_channels}) : memory::desc();
    const dnnl::prop_kind kind =
        args_.backward ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
    auto choice = std::make_unique<Choice>();
    try {
      choice->forward = dnnl::convolution_forward::primitive_desc(
          {kind, direct, src, weights, bias, dst, stride_, dilation_, pad_, pad_}, DnnlAttr(),
          DnnlEngine());
      choice->slowness = Slowness(choice->forward.impl_info_str());
      // Gradients lie as their values do.
      const memory::desc x = choice->forward.src_desc(), y = choice->forward.dst_desc();
      if (g_.axis == 1 && x != DescOf(args_.bottoms[0])) choice->slowness += kReorderSlowness;
      if (!placed_.is_zero() && placed_ != choice->forward.weights_desc()) {
        choice->slowness += kReorderSlowness;
      }
      if (data_) {
        choice->backward_data = dnnl::convolution_backward_data::primitive_desc(
            {direct, x, AnyDesc(Shape(weights_)), y, stride_, dilation_, pad_, pad_}, DnnlAttr(),
            DnnlEngine(), choice->forward);
        choice->slowness += Slowness(choice->backward_data.impl_info_str());
      }
      if (params_) {
        const memory::desc kept = placed_.is_zero() ? choice->forward.weights_desc() : placed_;
        choice->backward_weights = BackwardWeights(*choice, x, y, kept, bias);
        choice->slowness += Slowness(choice->backward_weights.impl_info_str());
      }
    } catch (const dnnl::error&) {
      return nullptr;  // no implementation for these layouts
    }
    return choice;
  }

  // Writes the parameter's own layout if that is not slower than what oneDNN would choose.
  dnnl::convolution_backward_weights::primitive_desc BackwardWeights(
      const Choice& choice, const memory::desc& x, const memory::desc& y, const memory::desc& kept,
      const memory::desc& bias) const {
    auto make = [&](const memory::desc& weights) {
      return dnnl::convolution_backward_weights::primitive_desc(
          {dnnl::algorithm::convolution_direct, x, weights, bias, y, stride_, dilation_, pad_,
           pad_},
          DnnlAttr(), DnnlEngine(), choice.forward);
    };
    auto any = make(AnyDesc(Shape(weights_)));
    if (any.diff_weights_desc() == kept) return any;
    try {
      auto own = make(kept);
      if (Slowness(own.impl_info_str()) <= Slowness(any.impl_info_str())) return own;
    } catch (const dnnl::error&) {
      // `any` it is.
    }
    return any;
  }

  const KernelArgs& args_;
  const ConvGeometry& g_;
  memory::dims stride_, dilation_, pad_, src_, dst_, weights_;
  memory::desc placed_;
  bool data_ = false, params_ = false;
};

std::string Declines(const KernelArgs& args) {
  if (args.dtype != DType::kFloat32) return "oneDNN trains in float32 only";
  const ConvGeometry g = ReadConvGeometry(*args.spec, args.bottoms[0].shape, false);
  if (g.spatial_rank() < 1 || g.spatial_rank() > 3) return "oneDNN has 1 to 3 spatial axes";
  if (args.bottoms[0].shape.count() == 0) return "the bottom is empty";
  if (Chooser(args, g).Best() == nullptr) return "oneDNN has no implementation of this convolution";
  return "";
}

class DnnlConvolution : public Kernel {
 public:
  explicit DnnlConvolution(const KernelArgs& args)
      : g_(ReadConvGeometry(*args.spec, args.bottoms[0].shape, false)) {
    const Chooser chooser(args, g_);
    const std::unique_ptr<Choice> choice = chooser.Best();
    DOPPIO_CHECK(choice != nullptr, "a convolution that was declined");
    src_ = choice->forward.src_desc();
    dst_ = choice->forward.dst_desc();
    if (g_.axis == 1) {
      needs_.bottoms.assign(args.bottoms.size(), LayoutOf(src_));
      needs_.tops.assign(args.bottoms.size(), LayoutOf(dst_));
    }
    const memory::desc weights = choice->forward.weights_desc();
    const memory::desc kept = chooser.placed().is_zero() ? weights : chooser.placed();
    needs_.params.push_back(LayoutOf(kept));
    if (g_.bias) needs_.params.emplace_back();

    Carver forward;
    forward_.primitive = dnnl::convolution_forward(choice->forward);
    forward_.scratchpad = choice->forward.scratchpad_desc();
    forward_.offset = forward.Take(forward_.scratchpad);
    forward_weights_ = ParamReader(kept, weights, &forward);
    needs_.scratch_bytes = forward.bytes();
    if (chooser.backward_params()) {
      Carver scratch;
      const auto& desc = choice->backward_weights;
      params_.primitive = dnnl::convolution_backward_weights(desc);
      params_.scratchpad = desc.scratchpad_desc();
      params_.offset = scratch.Take(params_.scratchpad);
      weight_gradient_ = GradientWriter(args, 0, kept, desc.diff_weights_desc(), &scratch);
      const memory::desc bias = PlainDesc(Shape{g_.out_channels});
      if (g_.bias) bias_gradient_ = GradientWriter(args, 1, bias, bias, &scratch);
      needs_.scratch_bytes = std::max(needs_.scratch_bytes, scratch.bytes());
    }
    if (chooser.backward_data()) {
      Carver scratch;
      const auto& desc = choice->backward_data;
      data_.primitive = dnnl::convolution_backward_data(desc);
      data_.scratchpad = desc.scratchpad_desc();
      data_.offset = scratch.Take(data_.scratchpad);
      data_weights_ = ParamReader(kept, desc.weights_desc(), &scratch);
      needs_.scratch_bytes = std::max(needs_.scratch_bytes, scratch.bytes());
    }
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    forward_weights_.Bind(t_.params[0].raw, t_.scratch);
    if (params_.primitive) {
      weight_gradient_.Bind(t_.param_grads[0].raw, t_.scratch);
      if (g_.bias) bias_gradient_.Bind(t_.param_grads[1].raw, t_.scratch);
    }
    if (data_.primitive) data_weights_.Bind(t_.params[0].raw, t_.scratch);
    for (size_t i = 0; i < t_.bottoms.size(); ++i) BindPair(i);
  }

  void Forward(const Pass&) override {
    forward_weights_.Prepare();
    for (const DnnlArgs& args : forward_.args) Execute(forward_.primitive, args);
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    if (params_.primitive && (t_.param_grads[0] || (g_.bias && t_.param_grads[1])))
      BackwardParams(add);
    if (!data_.primitive) return;
    data_weights_.Prepare();
    for (size_t i = 0; i < t_.bottoms.size(); ++i) {
      if (!t_.bottom_grads[i]) continue;
      if (t_.top_grads[i]) {
        Execute(data_.primitive, data_.args[i]);
      } else {
        std::memset(t_.bottom_grads[i].raw, 0, static_cast<size_t>(t_.bottom_grads[i].bytes()));
      }
    }
  }

 private:
  struct Step {
    dnnl::primitive primitive;
    memory::desc scratchpad;
    int64_t offset = 0;
    std::vector<DnnlArgs> args;  // one for each pair of bottom and top
  };

  void BindPair(size_t i) {
    auto scratchpad = [this](const Step& step) {
      return MemoryAt(step.scratchpad, At(t_.scratch, step.offset));
    };
    DnnlArgs forward = {{DNNL_ARG_SRC, MemoryAt(src_, t_.bottoms[i].raw)},
                        {DNNL_ARG_WEIGHTS, forward_weights_.memory()},
                        {DNNL_ARG_DST, MemoryAt(dst_, t_.tops[i].raw)},
                        {DNNL_ARG_SCRATCHPAD, scratchpad(forward_)}};
    const memory::desc bias = PlainDesc(Shape{g_.out_channels});
    if (g_.bias) forward.emplace(DNNL_ARG_BIAS, MemoryAt(bias, t_.params[1].raw));
    forward_.args.push_back(forward);
    if (params_.primitive) {
      DnnlArgs args = {{DNNL_ARG_SRC, MemoryAt(src_, t_.bottoms[i].raw)},
                       {DNNL_ARG_DIFF_DST, MemoryAt(dst_, t_.top_grads[i].raw)},
                       {DNNL_ARG_DIFF_WEIGHTS, weight_gradient_.Target(false)},
                       {DNNL_ARG_SCRATCHPAD, scratchpad(params_)}};
      if (g_.bias) args.emplace(DNNL_ARG_DIFF_BIAS, bias_gradient_.Target(false));
      params_.args.push_back(args);
    }
    if (data_.primitive) {
      data_.args.push_back({{DNNL_ARG_DIFF_SRC, MemoryAt(src_, t_.bottom_grads[i].raw)},
                            {DNNL_ARG_WEIGHTS, data_weights_.memory()},
                            {DNNL_ARG_DIFF_DST, MemoryAt(dst_, t_.top_grads[i].raw)},
                            {DNNL_ARG_SCRATCHPAD, scratchpad(data_)}});
    }
  }

  void BackwardParams(const std::vector<bool>& add) {
    bool add_weights = add[0], add_bias = g_.bias && add[1];
    bool written = false;
    for (size_t i = 0; i < t_.bottoms.size(); ++i) {
      if (!t_.top_grads[i]) continue;
      DnnlArgs& args = params_.args[i];
      args[DNNL_ARG_DIFF_WEIGHTS] = weight_gradient_.Target(add_weights);
      if (g_.bias) args[DNNL_ARG_DIFF_BIAS] = bias_gradient_.Target(add_bias);
      Execute(params_.primitive, args);
      weight_gradient_.Finish(add_weights);
      if (g_.bias) bias_gradient_.Finish(add_bias);
      add_weights = add_bias = written = true;  // further pairs share the parameters
    }
    if (written) return;
    for (size_t p = 0; p < t_.param_grads.size(); ++p) {
      const Tensor& gradient = t_.param_grads[p];
      if (gradient && !add[p]) std::memset(gradient.raw, 0, static_cast<size_t>(gradient.bytes()));
    }
  }

  const ConvGeometry g_;
  memory::desc src_, dst_;
  Step forward_, params_, data_;
  ParamReader forward_weights_, data_weights_;
  GradientWriter weight_gradient_, bias_gradient_;
};

DOPPIO_REGISTER_KERNEL({"Convolution", DeviceKind::kCpu, "onednn", 10,
                        [](const KernelArgs& args) -> std::unique_ptr<Kernel> {
                          return std::make_unique<DnnlConvolution>(args);
                        },
                        &Declines});

}  // namespace
}  // namespace doppio
