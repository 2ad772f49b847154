// Convolution by oneDNN. Weights are stored in the layout that the forward primitive reads. Between
// layers, images stay in blocks of channels; only the first convolution of a net reads its few
// channels from plain layout. ReLU and the sum of a chain's tail are part of the forward primitive.
//
// If the bottom and the top are stored in 16 bits and the CPU multiplies this type, so are the
// factors of all products: the kernel rounds the weights before each pass. Sums, and the gradients
// of the parameters, are in single precision.
//
// A Deconvolution runs the primitives of the convolution from its top to its bottom in the opposite
// direction. They do not compute its bias, which takes a separate pass.
#include <algorithm>
#include <memory>
#include <vector>

#include "core/math/dnnl_isa.h"
#include "core/net/contract/fusion.h"
#include "layers/common/channel_blocks.h"
#include "layers/convolution/convolution_choice.h"

namespace doppio {
namespace {

using dnnl::memory;

// The arguments and geometry of the convolution whose primitives a layer runs. For a Deconvolution,
// this is the convolution from its top to its bottom.
struct DnnlProblem {
  explicit DnnlProblem(const KernelArgs& from)
      : args(from), g(from.Form<ConvGeometry>()), type(from.tops[0]) {
    if (!g.transposed) return;
    g.bias = false;
    args.bottoms = {{from.top_shapes[0], type, Layout()}};
    args.bottom_gradient = {true};
    args.backward = true;
    if (!from.backward) args.param_gradient = {false};
  }
  KernelArgs args;
  ConvGeometry g;
  DType type;  // of the bottoms, the tops and the factors of products
};

// Describes the channels of the side that the windows slide over. Returns false if
// FindChannelBlocks does not support the layout.
bool SeeInputChannels(const ConvGeometry& g, const memory::desc& src, ChannelBlocks* channels) {
  Shape shape{g.batch, g.in_channels};
  for (int64_t extent : g.input) shape.push_back(extent);
  return FindChannelBlocks({shape, DType::kFloat32, LayoutOf(src)}, 1, 2, channels);
}

std::string ConvolutionDnnlDeclines(const KernelArgs& args) {
  const DnnlProblem problem(args);
  std::string why = WhyNoDnnlProducts(problem.type);
  if (!why.empty()) return why;
  for (DType top : args.tops) {
    if (top != problem.type) return "its tops are stored in different types";
  }
  const ConvGeometry& g = problem.g;
  if (g.spatial_rank() < 1 || g.spatial_rank() > 3) return "oneDNN has 1 to 3 spatial axes";
  if (args.bottoms[0].shape.count() == 0) return "the bottom is empty";
  ChannelBlocks channels;
  const std::optional<ConvChoice> choice = ConvChooser(problem.args, g, problem.type).Best();
  if (choice && (!g.transposed || SeeInputChannels(g, choice->forward.src_desc(), &channels))) {
    return "";
  }
  return std::string("oneDNN has no implementation of this ") +
         (args.chain == nullptr ? "convolution" : "chain as fast as that of its convolution");
}

std::optional<LayerShape> InferConvolutionDnnl(const std::vector<ChainLink>& chain) {
  if (chain.front().bottoms != 1) return std::nullopt;
  return InferTail(chain);
}

class DnnlConvolution : public Kernel {
 public:
  explicit DnnlConvolution(const KernelArgs& from)
      : problem_(from),
        g_(problem_.g),
        type_(problem_.type),
        own_bias_(g_.transposed && from.param_shapes.size() > 1),
        tail_(from.chain) {
    const KernelArgs& args = problem_.args;
    const ConvChooser chooser(args, g_, type_);
    const std::optional<ConvChoice> choice = chooser.Best();
    DOPPIO_CHECK(choice.has_value(), "a convolution that was declined");
    src_ = choice->forward.src_desc();
    dst_ = choice->forward.dst_desc();
    if (g_.axis == 1) {
      needs_.bottoms.assign(from.bottoms.size(), LayoutOf(g_.transposed ? dst_ : src_));
      needs_.tops.assign(from.bottoms.size(), LayoutOf(g_.transposed ? src_ : dst_));
      if (tail_.sum) needs_.bottoms[1] = LayoutOf(dst_);
    }
    const memory::desc weights = choice->forward.weights_desc(), kept = choice->kept;
    needs_.types.assign(from.bottoms.size(), type_);
    needs_.params.push_back(LayoutOf(kept));
    if (g_.bias || own_bias_) needs_.params.emplace_back();

    Carver forward;
    forward_ = Step(dnnl::convolution_forward(choice->forward), choice->forward, &forward);
    forward_weights_ = InputReader(kept, weights, &forward);
    needs_.scratch_bytes = forward.bytes();
    if (chooser.backward_params()) {
      Carver scratch;
      const auto& desc = choice->backward_weights;
      params_ = Step(dnnl::convolution_backward_weights(desc), desc, &scratch);
      weight_gradient_ = GradientWriter(args, 0, kept, desc.diff_weights_desc(), &scratch);
      const memory::desc bias = PlainDesc(Shape{g_.out_channels});
      if (g_.bias) bias_gradient_ = GradientWriter(args, 1, bias, bias, &scratch);
      needs_.scratch_bytes = std::max(needs_.scratch_bytes, scratch.bytes());
    }
    if (chooser.backward_data()) {
      Carver scratch;
      const auto& desc = choice->backward_data;
      data_ = Step(dnnl::convolution_backward_data(desc), desc, &scratch);
      data_weights_ = InputReader(kept, desc.weights_desc(), &scratch);
      needs_.scratch_bytes = std::max(needs_.scratch_bytes, scratch.bytes());
    }
    if (!own_bias_) return;
    SeeInputChannels(g_, src_, &top_channels_);
    const int64_t padded_bytes = top_channels_.padded() * kBytesOf<float>;
    needs_.scratch_bytes =
        std::max({needs_.scratch_bytes, padded_bytes, ChannelSumsBytes(top_channels_)});
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
    if (!g_.transposed) {
      forward_weights_.Prepare();
      for (const DnnlArgs& args : forward_.args) Execute(forward_.primitive, args);
      return;
    }
    data_weights_.Prepare();
    for (const DnnlArgs& args : data_.args) Execute(data_.primitive, args);
    if (!own_bias_) return;
    DispatchStored(type_, [&](auto zero) {
      for (const Tensor& top : t_.tops) AddBias(top.data<decltype(zero)>());
    });
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    DispatchStored(type_, [&](auto zero) {
      tail_.MaskGradient<decltype(zero)>(t_);
      tail_.PassGradient<decltype(zero)>(t_);
      if (own_bias_ && t_.param_grads[1]) BackwardBias<decltype(zero)>(add[1]);
    });
    if (params_.primitive && (t_.param_grads[0] || (g_.bias && t_.param_grads[1])))
      BackwardParams(add);
    const Step& step = g_.transposed ? forward_ : data_;
    if (!step.primitive) return;
    (g_.transposed ? forward_weights_ : data_weights_).Prepare();
    for (size_t i = 0; i < t_.tops.size(); ++i) {
      if (!t_.bottom_grads[i]) continue;
      if (t_.top_grads[i]) {
        Execute(step.primitive, step.args[i]);
      } else {
        std::memset(t_.bottom_grads[i].raw, 0, t_.bottom_grads[i].bytes());
      }
    }
  }

 private:
  struct Step : DnnlStep {
    using DnnlStep::DnnlStep;
    std::vector<DnnlArgs> args;  // one per pair of bottom and top
  };

  void BindPair(size_t i) {
    const Tensor &x = t_.bottoms[i], &y = t_.tops[i], &dx = t_.bottom_grads[i],
                 &dy = t_.top_grads[i];
    DnnlArgs forward = {{DNNL_ARG_SRC, MemoryAt(src_, (g_.transposed ? dy : x).raw)},
                        {DNNL_ARG_WEIGHTS, forward_weights_.memory()},
                        {DNNL_ARG_DST, MemoryAt(dst_, (g_.transposed ? dx : y).raw)},
                        {DNNL_ARG_SCRATCHPAD, forward_.ScratchpadAt(t_.scratch)}};
    const memory::desc bias = PlainDesc(Shape{g_.out_channels});
    if (g_.bias) forward.emplace(DNNL_ARG_BIAS, MemoryAt(bias, t_.params[1].raw));
    forward_.args.push_back(forward);
    if (params_.primitive) {
      DnnlArgs args = {{DNNL_ARG_SRC, MemoryAt(src_, (g_.transposed ? dy : x).raw)},
                       {DNNL_ARG_DIFF_DST, MemoryAt(dst_, (g_.transposed ? x : dy).raw)},
                       {DNNL_ARG_DIFF_WEIGHTS, weight_gradient_.Target(false)},
                       {DNNL_ARG_SCRATCHPAD, params_.ScratchpadAt(t_.scratch)}};
      if (g_.bias) args.emplace(DNNL_ARG_DIFF_BIAS, bias_gradient_.Target(false));
      params_.args.push_back(args);
    }
    if (data_.primitive) {
      data_.args.push_back({{DNNL_ARG_DIFF_SRC, MemoryAt(src_, (g_.transposed ? y : dx).raw)},
                            {DNNL_ARG_WEIGHTS, data_weights_.memory()},
                            {DNNL_ARG_DIFF_DST, MemoryAt(dst_, (g_.transposed ? x : dy).raw)},
                            {DNNL_ARG_SCRATCHPAD, data_.ScratchpadAt(t_.scratch)}});
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
      add_weights = add_bias = written = true;  // further pairs add to the same parameter gradients
    }
    if (written) return;
    for (size_t p = 0; p < t_.param_grads.size(); ++p) {
      const Tensor& gradient = t_.param_grads[p];
      if (gradient && !add[p]) std::memset(gradient.raw, 0, gradient.bytes());
    }
  }

  template <class T>
  void AddBias(T* top) const {
    const float* bias =
        PadChannels(top_channels_, ParamValues<float>(1), static_cast<float*>(t_.scratch));
    ForEachElement(
        top_channels_,
        [top](int64_t i, float of_channel) {
          top[i] = static_cast<T>(static_cast<float>(top[i]) + of_channel);
        },
        bias);
  }

  template <class T>
  void BackwardBias(bool add) const {
    bool written = false;
    for (const Tensor& gradient : t_.top_grads) {
      if (!gradient) continue;
      const T* dy = gradient.data<T>();
      const double* sums = SumPerChannel<float>(
          top_channels_, t_.scratch,
          [dy](float& sum, float&, int64_t i) { sum += static_cast<float>(dy[i]); });
      StoreSums<float>(top_channels_, sums, add || written, t_.param_grads[1]);
      written = true;
    }
    if (written || add) return;
    std::memset(t_.param_grads[1].raw, 0, t_.param_grads[1].bytes());
  }

  const DnnlProblem problem_;
  const ConvGeometry& g_;
  const DType type_;
  const bool own_bias_;  // a Deconvolution's bias, which no primitive computes
  const ChainTail tail_;
  memory::desc src_, dst_;
  ChannelBlocks top_channels_;  // blocks of a Deconvolution's top
  Step forward_, params_, data_;
  InputReader forward_weights_, data_weights_;
  GradientWriter weight_gradient_, bias_gradient_;
};

bool RegisterConvolutionDnnl() {
  KernelType type = KernelType("Deconvolution", &MakeKernel<DnnlConvolution>)
                        .Engine("onednn")
                        .Rank(10)
                        .Declines(&ConvolutionDnnlDeclines)
                        .Narrow();
  KernelTypes::Get().Add(type);
  for (const std::string name : kConvolutionTypes) {
    for (const char* tail : kTails) FusionTypes::Get().Add(name + tail, {&InferConvolutionDnnl});
    type.layer = name;
    AddWithTails(type);
  }
  return true;
}
[[maybe_unused]] const bool convolution_dnnl_registered = RegisterConvolutionDnnl();

}  // namespace
}  // namespace doppio
