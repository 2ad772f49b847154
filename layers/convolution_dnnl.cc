// Convolution by oneDNN. Weights live in the layout that the forward primitive reads; images stay
// in blocks of channels between layers, except that the first convolution of a net reads its few
// channels plain. Of a chain's tail, ReLU and the sum are part of the forward primitive.
#include <algorithm>
#include <memory>
#include <vector>

#include "layers/convolution_choice.h"

namespace doppio {
namespace {

using dnnl::memory;

std::string Declines(const KernelArgs& args) {
  if (args.dtype != DType::kFloat32) return "oneDNN trains in float32 only";
  const ConvGeometry g = ReadConvGeometry(*args.spec, args.bottoms[0].shape, false);
  if (g.spatial_rank() < 1 || g.spatial_rank() > 3) return "oneDNN has 1 to 3 spatial axes";
  if (args.bottoms[0].shape.count() == 0) return "the bottom is empty";
  if (ConvChooser(args, g).Best() != nullptr) return "";
  return std::string("oneDNN has no implementation of this ") +
         (args.chain == nullptr ? "convolution" : "chain as fast as that of its convolution");
}

std::optional<LayerShape> Infer(const std::vector<ChainLink>& chain) {
  if (chain.front().spec->param.bottom_size() != 1) return std::nullopt;
  return InferTail(chain);
}

class DnnlConvolution : public Kernel {
 public:
  explicit DnnlConvolution(const KernelArgs& args)
      : g_(ReadConvGeometry(*args.spec, args.bottoms[0].shape, false)), tail_(args.chain) {
    const ConvChooser chooser(args, g_);
    const std::unique_ptr<ConvChoice> choice = chooser.Best();
    DOPPIO_CHECK(choice != nullptr, "a convolution that was declined");
    src_ = choice->forward.src_desc();
    dst_ = choice->forward.dst_desc();
    if (g_.axis == 1) {
      needs_.bottoms.assign(args.bottoms.size(), LayoutOf(src_));
      needs_.tops.assign(args.bottoms.size(), LayoutOf(dst_));
      if (tail_.sum) needs_.bottoms[1] = LayoutOf(dst_);
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
    for (size_t i = 0; i < t_.tops.size(); ++i) BindPair(i);
    if (tail_.sum) forward_.args[0].emplace(kDnnlOther, MemoryAt(dst_, t_.bottoms[1].raw));
  }

  void Forward(const Pass&) override {
    forward_weights_.Prepare();
    for (const DnnlArgs& args : forward_.args) Execute(forward_.primitive, args);
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    tail_.MaskGradient<float>(t_);
    tail_.PassGradient<float>(t_);
    if (params_.primitive && (t_.param_grads[0] || (g_.bias && t_.param_grads[1])))
      BackwardParams(add);
    if (!data_.primitive) return;
    data_weights_.Prepare();
    for (size_t i = 0; i < t_.tops.size(); ++i) {
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
    for (size_t i = 0; i < t_.tops.size(); ++i) {
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
  const ChainTail tail_;
  memory::desc src_, dst_;
  Step forward_, params_, data_;
  ParamReader forward_weights_, data_weights_;
  GradientWriter weight_gradient_, bias_gradient_;
};

std::unique_ptr<Kernel> Make(const KernelArgs& args) {
  return std::make_unique<DnnlConvolution>(args);
}

DOPPIO_REGISTER_KERNEL({"Convolution", DeviceKind::kCpu, "onednn", 10, &Make, &Declines});

bool RegisterChains() {
  for (const char* chain :
       {"Convolution+ReLU", "Convolution+Eltwise", "Convolution+Eltwise+ReLU"}) {
    FusionTypes::Get().Add(chain, {&Infer});
    KernelTypes::Get().Add({chain, DeviceKind::kCpu, "onednn", 10, &Make, &Declines});
  }
  return true;
}
[[maybe_unused]] const bool registered = RegisterChains();

}  // namespace
}  // namespace doppio
