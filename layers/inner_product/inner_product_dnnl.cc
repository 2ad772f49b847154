// InnerProduct with oneDNN, always as a product of two matrices, because oneDNN's kernels for that
// are the fastest.
//
// A bottom in a channel-blocked layout is not reordered; the input axis of the weights has the same
// order instead.
#include <algorithm>
#include <memory>
#include <vector>

#include "core/net/plan/fusion.h"
#include "layers/common/dnnl_support.h"
#include "layers/common/dnnl_tail.h"
#include "layers/inner_product/blocked_weights.h"
#include "layers/inner_product/inner_product_form.h"

namespace doppio {
namespace {

using dnnl::memory;

using ForwardPd = dnnl::inner_product_forward::primitive_desc;

// Returns the description of the forward primitive for these memory layouts.
ForwardPd ForwardDesc(const KernelArgs& args, const memory::desc& src, const memory::desc& weights,
                      const memory::desc& dst, const ChainTail& tail) {
  const dnnl::prop_kind kind =
      args.backward ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  const InnerProductForm& form = args.Form<InnerProductForm>();
  const memory::desc bias = form.bias ? PlainDesc(Shape{form.outputs}) : memory::desc();
  return DescribeForward<dnnl::inner_product_forward>(DnnlTailAttr(args.math, tail, dst), kind, src,
                                                      weights, bias, dst);
}

// A step with its arguments.
struct Step : DnnlStep {
  using DnnlStep::DnnlStep;
  DnnlArgs args;
};

class DnnlInnerProduct : public Kernel {
 public:
  explicit DnnlInnerProduct(const KernelArgs& args)
      : f_(args.Form<InnerProductForm>()), tail_(args.chain) {
    const TensorSpec& bottom = args.bottoms[0];
    const bool placed = !args.param_placed.empty() && args.param_placed[0];
    // If the layout of the weights is already fixed, it decides the layout of the bottom, because
    // the bottom is the smaller of the two and cheaper to reorder.
    int64_t block = f_.axis == 1 && !f_.transpose ? BlockOf(bottom) : 0;
    memory::desc kept;
    if (placed) {
      kept = DescOf({args.param_shapes[0], DType::kFloat32, args.param_layouts[0]});
      block = DimsOf(kept).size() > 2 ? ChannelBlockOf(kept) : 0;
    }
    const BlockedWeights blocked(bottom.shape, f_.outputs, std::max<int64_t>(1, block));
    const int64_t inputs = block > 0 ? blocked.padded_inputs() : f_.inputs;
    src_ = PlainDesc(Shape{f_.rows, inputs});
    dst_ = PlainDesc(Shape{f_.rows, f_.outputs});
    needs_.bottoms = {block > 0 ? LayoutOf(ChannelBlocked(bottom.shape, block)) : Layout()};

    // The layout in which the weights are kept, as a matrix.
    const Shape matrix{f_.outputs, inputs};
    if (f_.transpose) {
      kept = memory::desc(DnnlDims(matrix), memory::data_type::f32, dnnl::memory::format_tag::ba);
    } else if (placed) {
      if (block > 0) kept = blocked.Matrix(kept);
    } else {
      kept = ForwardDesc(args, src_, AnyDesc(matrix), dst_, kNoTail).weights_desc();
      if (block > 0 && blocked.Tensor(kept).is_zero()) kept = PlainDesc(matrix);
    }
    needs_.params.push_back(f_.transpose ? Layout()
                                         : LayoutOf(block > 0 ? blocked.Tensor(kept) : kept));
    if (f_.bias) needs_.params.emplace_back();
    MakePrimitives(args, kept, AnyDesc(matrix));
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    const memory::desc bias = PlainDesc(Shape{f_.outputs});
    forward_weights_.Bind(t_.params[0].raw, t_.scratch);
    forward_.args = {{DNNL_ARG_SRC, MemoryAt(src_, t_.bottoms[0].raw)},
                     {DNNL_ARG_WEIGHTS, forward_weights_.memory()},
                     {DNNL_ARG_DST, MemoryAt(dst_, t_.tops[0].raw)},
                     {DNNL_ARG_SCRATCHPAD, forward_.ScratchpadAt(t_.scratch)}};
    if (f_.bias) forward_.args.emplace(DNNL_ARG_BIAS, MemoryAt(bias, t_.params[1].raw));
    if (params_.primitive) {
      weight_gradient_.Bind(t_.param_grads[0].raw, t_.scratch);
      params_.args = {{DNNL_ARG_SRC, MemoryAt(src_, t_.bottoms[0].raw)},
                      {DNNL_ARG_DIFF_DST, MemoryAt(dst_, t_.top_grads[0].raw)},
                      {DNNL_ARG_DIFF_WEIGHTS, weight_gradient_.Target(false)},
                      {DNNL_ARG_SCRATCHPAD, params_.ScratchpadAt(t_.scratch)}};
      if (f_.bias) {
        bias_gradient_.Bind(t_.param_grads[1].raw, t_.scratch);
        params_.args.emplace(DNNL_ARG_DIFF_BIAS, bias_gradient_.Target(false));
      }
    }
    if (data_.primitive) {
      data_weights_.Bind(t_.params[0].raw, t_.scratch);
      data_.args = {{DNNL_ARG_DIFF_SRC, MemoryAt(src_, t_.bottom_grads[0].raw)},
                    {DNNL_ARG_WEIGHTS, data_weights_.memory()},
                    {DNNL_ARG_DIFF_DST, MemoryAt(dst_, t_.top_grads[0].raw)},
                    {DNNL_ARG_SCRATCHPAD, data_.ScratchpadAt(t_.scratch)}};
    }
  }

  void Forward(const Pass&) override {
    forward_weights_.Prepare();
    Execute(forward_.primitive, forward_.args);
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    tail_.MaskGradient<float>(t_);
    if (params_.primitive) {
      params_.args[DNNL_ARG_DIFF_WEIGHTS] = weight_gradient_.Target(add[0]);
      if (f_.bias) params_.args[DNNL_ARG_DIFF_BIAS] = bias_gradient_.Target(add[1]);
      Execute(params_.primitive, params_.args);
      weight_gradient_.Finish(add[0]);
      if (f_.bias) bias_gradient_.Finish(add[1]);
    }
    if (data_.primitive && t_.bottom_grads[0]) {
      data_weights_.Prepare();
      Execute(data_.primitive, data_.args);
    }
  }

 private:
  // Returns the number of channels per block of the weights; 1 if they are not blocked by channels.
  static int64_t ChannelBlockOf(const memory::desc& weights) {
    const Blocking blocking = BlockingOf(weights);
    int64_t block = 1;
    for (size_t i = 0; i < blocking.inner_blocks.size(); ++i) {
      if (blocking.inner_axes[i] == 1) block *= blocking.inner_blocks[i];
    }
    return block;
  }

  // Returns `make(kept)`, which reads the weights in the layout in which they are kept, unless
  // `make(any)` is more than one cost class faster.
  template <class MakeInnerProductDnnl>
  static auto Best(const MakeInnerProductDnnl& make, const memory::desc& kept,
                   const memory::desc& any) {
    auto free = make(any);
    try {
      auto own = make(kept);
      if (Slowness(own.impl_info_str()) <= Slowness(free.impl_info_str()) + 1) return own;
    } catch (const dnnl::error&) {
      // oneDNN has no implementation for `kept`. Its preferred layout costs a reorder.
    }
    return free;
  }

  void MakePrimitives(const KernelArgs& args, const memory::desc& kept, const memory::desc& any) {
    Carver scratch;
    const ForwardPd forward =
        Best([&](const memory::desc& w) { return ForwardDesc(args, src_, w, dst_, kNoTail); }, kept,
             any);
    const ForwardPd with_tail = ForwardDesc(args, src_, forward.weights_desc(), dst_, tail_);
    forward_ = Step(dnnl::inner_product_forward(with_tail), with_tail, &scratch);
    forward_weights_ = ParamReader(kept, forward.weights_desc(), &scratch);
    needs_.scratch_bytes = scratch.bytes();
    if (!args.backward) return;

    bool params = args.param_gradient.empty();
    for (bool wanted : args.param_gradient) params = params || wanted;
    const memory::desc bias = f_.bias ? PlainDesc(Shape{f_.outputs}) : memory::desc();
    if (params) {
      scratch = Carver();
      const auto desc = Best(
          [&](const memory::desc& w) {
            return DescribeBackward<dnnl::inner_product_backward_weights>(
                DnnlAttr(args.math), forward, src_, w, bias, dst_);
          },
          kept, any);
      params_ = Step(dnnl::inner_product_backward_weights(desc), desc, &scratch);
      weight_gradient_ = GradientWriter(args, 0, kept, desc.diff_weights_desc(), &scratch);
      if (f_.bias) bias_gradient_ = GradientWriter(args, 1, bias, bias, &scratch);
      needs_.scratch_bytes = std::max(needs_.scratch_bytes, scratch.bytes());
    }
    if (args.bottom_gradient.empty() || args.bottom_gradient[0]) {
      scratch = Carver();
      const auto desc = Best(
          [&](const memory::desc& w) {
            return DescribeBackward<dnnl::inner_product_backward_data>(DnnlAttr(args.math), forward,
                                                                       src_, w, dst_);
          },
          kept, any);
      data_ = Step(dnnl::inner_product_backward_data(desc), desc, &scratch);
      data_weights_ = ParamReader(kept, desc.weights_desc(), &scratch);
      needs_.scratch_bytes = std::max(needs_.scratch_bytes, scratch.bytes());
    }
  }

  const InnerProductForm f_;
  const ChainTail tail_;
  memory::desc src_, dst_;  // the bottom and the top as matrices, in memory order
  Step forward_, params_, data_;
  ParamReader forward_weights_, data_weights_;
  GradientWriter weight_gradient_, bias_gradient_;
};

// Returns true if the primitive with ReLU is in no slower cost class than the one without.
bool TakesTail(const KernelArgs& args) {
  const InnerProductForm& f = args.Form<InnerProductForm>();
  const auto slowness = [&](const ChainTail& tail) {
    return Slowness(ForwardDesc(args, PlainDesc(Shape{f.rows, f.inputs}),
                                AnyDesc(Shape{f.outputs, f.inputs}),
                                PlainDesc(Shape{f.rows, f.outputs}), tail)
                        .impl_info_str());
  };
  try {
    return slowness(ChainTail(args.chain)) <= slowness(kNoTail);
  } catch (const dnnl::error&) {
    return false;
  }
}

std::string InnerProductDnnlDeclines(const KernelArgs& args) {
  if (args.dtype != DType::kFloat32) return "oneDNN trains in float32 only";
  const Shape& bottom = args.bottoms[0].shape;
  if (bottom.count() == 0) return "the bottom is empty";
  if (!args.param_placed.empty() && args.param_placed[0] && !args.param_layouts[0].plain()) {
    const memory::dims dims =
        DimsOf(DescOf({args.param_shapes[0], DType::kFloat32, args.param_layouts[0]}));
    const bool same_volume =
        dims.size() == 2 ||
        std::equal(dims.begin() + 1, dims.end(), bottom.dims().begin() + 1, bottom.dims().end());
    if (args.Form<InnerProductForm>().transpose || !same_volume) {
      return "its weights are kept in the order of another layer that shares them";
    }
  }
  if (args.chain != nullptr && !TakesTail(args)) return "oneDNN is slower with ReLU than without";
  return "";
}

KernelType DnnlInnerProductKernel(const std::string& layers) {
  return KernelType(layers, &MakeKernel<DnnlInnerProduct>)
      .Engine("onednn")
      .Rank(10)
      .Declines(&InnerProductDnnlDeclines);
}

DOPPIO_REGISTER_KERNEL(DnnlInnerProductKernel("InnerProduct"));
DOPPIO_REGISTER_FUSION("InnerProduct+ReLU", {&InferTail});
DOPPIO_REGISTER_KERNEL(DnnlInnerProductKernel("InnerProduct+ReLU"));

}  // namespace
}  // namespace doppio
