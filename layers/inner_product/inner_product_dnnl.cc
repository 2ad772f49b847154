// InnerProduct by oneDNN, always as a product of two matrices, for which it has its fastest
// kernels.
//
// A bottom in blocks of channels is taken as it lies; the weights live with their input axis in the
// same order.
#include <algorithm>
#include <memory>
#include <vector>

#include "core/net/graph/layer.h"
#include "layers/inner_product/blocked_weights.h"
#include "layers/common/dnnl_support.h"
#include "layers/common/dnnl_tail.h"

namespace doppio {
namespace {

using dnnl::memory;

using ForwardPd = dnnl::inner_product_forward::primitive_desc;

ForwardPd ForwardDesc(const KernelArgs& args, const memory::desc& src, const memory::desc& weights,
                      const memory::desc& dst, const ChainTail& tail) {
  const dnnl::prop_kind kind =
      args.backward ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  const InnerProductParameter& p = args.spec->param.inner_product_param();
  const memory::desc bias = p.bias_term() ? PlainDesc(Shape{p.num_output()}) : memory::desc();
  return DescribeForward<dnnl::inner_product_forward>(DnnlTailAttr(args.math, tail, dst), kind, src,
                                                      weights, bias, dst);
}

struct Step {
  dnnl::primitive primitive;
  memory::desc scratchpad;
  int64_t offset = 0;
  DnnlArgs args;
};

class DnnlInnerProduct : public Kernel {
 public:
  explicit DnnlInnerProduct(const KernelArgs& args)
      : bias_(args.spec->param.inner_product_param().bias_term()),
        outputs_(args.spec->param.inner_product_param().num_output()),
        tail_(args.chain) {
    const InnerProductParameter& p = args.spec->param.inner_product_param();
    const TensorSpec& bottom = args.bottoms[0];
    const int axis = bottom.shape.canonical_axis(p.axis());
    const bool placed = !args.param_placed.empty() && args.param_placed[0];
    // Weights that lie somewhere already say how the bottom has to come: it is the smaller of the
    // two.
    int64_t block = axis == 1 && !p.transpose() ? BlockOf(bottom) : 0;
    memory::desc kept;
    if (placed) {
      kept = DescOf({args.shape->params[0].shape, DType::kFloat32, args.param_layouts[0]});
      block = DimsOf(kept).size() > 2 ? ChannelBlockOf(kept) : 0;
    }
    const BlockedWeights blocked(bottom.shape, outputs_, std::max<int64_t>(1, block));
    const int64_t inputs = block > 0 ? blocked.padded_inputs() : bottom.shape.count(axis);
    src_ = PlainDesc(Shape{bottom.shape.count(0, axis), inputs});
    dst_ = PlainDesc(Shape{bottom.shape.count(0, axis), outputs_});
    needs_.bottoms = {block > 0 ? LayoutOf(ChannelBlocked(bottom.shape, block)) : Layout()};

    // How the weights are kept, as a matrix.
    const Shape matrix{outputs_, inputs};
    if (p.transpose()) {
      kept = memory::desc(DnnlDims(matrix), memory::data_type::f32, dnnl::memory::format_tag::ba);
    } else if (placed) {
      if (block > 0) kept = blocked.Matrix(kept);
    } else {
      kept = ForwardDesc(args, src_, AnyDesc(matrix), dst_, kNoTail).weights_desc();
      if (block > 0 && blocked.Tensor(kept).is_zero()) kept = PlainDesc(matrix);
    }
    needs_.params.push_back(p.transpose() ? Layout()
                                          : LayoutOf(block > 0 ? blocked.Tensor(kept) : kept));
    if (bias_) needs_.params.emplace_back();
    MakePrimitives(args, kept, AnyDesc(matrix));
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    auto scratchpad = [this](const Step& step) {
      return MemoryAt(step.scratchpad, At(t_.scratch, step.offset));
    };
    const memory::desc bias = PlainDesc(Shape{outputs_});
    forward_weights_.Bind(t_.params[0].raw, t_.scratch);
    forward_.args = {{DNNL_ARG_SRC, MemoryAt(src_, t_.bottoms[0].raw)},
                     {DNNL_ARG_WEIGHTS, forward_weights_.memory()},
                     {DNNL_ARG_DST, MemoryAt(dst_, t_.tops[0].raw)},
                     {DNNL_ARG_SCRATCHPAD, scratchpad(forward_)}};
    if (bias_) forward_.args.emplace(DNNL_ARG_BIAS, MemoryAt(bias, t_.params[1].raw));
    if (params_.primitive) {
      weight_gradient_.Bind(t_.param_grads[0].raw, t_.scratch);
      params_.args = {{DNNL_ARG_SRC, MemoryAt(src_, t_.bottoms[0].raw)},
                      {DNNL_ARG_DIFF_DST, MemoryAt(dst_, t_.top_grads[0].raw)},
                      {DNNL_ARG_DIFF_WEIGHTS, weight_gradient_.Target(false)},
                      {DNNL_ARG_SCRATCHPAD, scratchpad(params_)}};
      if (bias_) {
        bias_gradient_.Bind(t_.param_grads[1].raw, t_.scratch);
        params_.args.emplace(DNNL_ARG_DIFF_BIAS, bias_gradient_.Target(false));
      }
    }
    if (data_.primitive) {
      data_weights_.Bind(t_.params[0].raw, t_.scratch);
      data_.args = {{DNNL_ARG_DIFF_SRC, MemoryAt(src_, t_.bottom_grads[0].raw)},
                    {DNNL_ARG_WEIGHTS, data_weights_.memory()},
                    {DNNL_ARG_DIFF_DST, MemoryAt(dst_, t_.top_grads[0].raw)},
                    {DNNL_ARG_SCRATCHPAD, scratchpad(data_)}};
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
      if (bias_) params_.args[DNNL_ARG_DIFF_BIAS] = bias_gradient_.Target(add[1]);
      Execute(params_.primitive, params_.args);
      weight_gradient_.Finish(add[0]);
      if (bias_) bias_gradient_.Finish(add[1]);
    }
    if (data_.primitive && t_.bottom_grads[0]) {
      data_weights_.Prepare();
      Execute(data_.primitive, data_.args);
    }
  }

 private:
  static int64_t ChannelBlockOf(const memory::desc& weights) {
    const Blocking blocking = BlockingOf(weights);
    int64_t block = 1;
    for (size_t i = 0; i < blocking.inner_blocks.size(); ++i) {
      if (blocking.inner_axes[i] == 1) block *= blocking.inner_blocks[i];
    }
    return block;
  }

  // `make(weights)` with the weights as they are kept, unless another layout is a class faster.
  template <class MakeInnerProductDnnl>
  static auto Best(const MakeInnerProductDnnl& make, const memory::desc& kept,
                   const memory::desc& any) {
    auto free = make(any);
    try {
      auto own = make(kept);
      if (Slowness(own.impl_info_str()) <= Slowness(free.impl_info_str()) + 1) return own;
    } catch (const dnnl::error&) {
      // Its favourite layout, then, at the price of a reorder.
    }
    return free;
  }

  void MakePrimitives(const KernelArgs& args, const memory::desc& kept, const memory::desc& any) {
    Carver scratch;
    const ForwardPd forward =
        Best([&](const memory::desc& w) { return ForwardDesc(args, src_, w, dst_, kNoTail); }, kept,
             any);
    const ForwardPd with_tail = ForwardDesc(args, src_, forward.weights_desc(), dst_, tail_);
    forward_.primitive = dnnl::inner_product_forward(with_tail);
    forward_.scratchpad = with_tail.scratchpad_desc();
    forward_.offset = scratch.Take(forward_.scratchpad);
    forward_weights_ = ParamReader(kept, forward.weights_desc(), &scratch);
    needs_.scratch_bytes = scratch.bytes();
    if (!args.backward) return;

    bool params = args.param_gradient.empty();
    for (bool wanted : args.param_gradient) params = params || wanted;
    const memory::desc bias = bias_ ? PlainDesc(Shape{outputs_}) : memory::desc();
    if (params) {
      scratch = Carver();
      const auto desc = Best(
          [&](const memory::desc& w) {
            return DescribeBackward<dnnl::inner_product_backward_weights>(
                DnnlAttr(args.math), forward, src_, w, bias, dst_);
          },
          kept, any);
      params_.primitive = dnnl::inner_product_backward_weights(desc);
      params_.scratchpad = desc.scratchpad_desc();
      params_.offset = scratch.Take(params_.scratchpad);
      weight_gradient_ = GradientWriter(args, 0, kept, desc.diff_weights_desc(), &scratch);
      if (bias_) bias_gradient_ = GradientWriter(args, 1, bias, bias, &scratch);
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
      data_.primitive = dnnl::inner_product_backward_data(desc);
      data_.scratchpad = desc.scratchpad_desc();
      data_.offset = scratch.Take(data_.scratchpad);
      data_weights_ = ParamReader(kept, desc.weights_desc(), &scratch);
      needs_.scratch_bytes = std::max(needs_.scratch_bytes, scratch.bytes());
    }
  }

  const bool bias_;
  const int64_t outputs_;
  const ChainTail tail_;
  memory::desc src_, dst_;  // as matrices, in memory order
  Step forward_, params_, data_;
  ParamReader forward_weights_, data_weights_;
  GradientWriter weight_gradient_, bias_gradient_;
};

// Whether ReLU costs nothing more.
bool TakesTail(const KernelArgs& args) {
  const InnerProductParameter& p = args.spec->param.inner_product_param();
  const Shape& bottom = args.bottoms[0].shape;
  const int axis = bottom.canonical_axis(p.axis());
  const int64_t rows = bottom.count(0, axis), inputs = bottom.count(axis), outputs = p.num_output();
  const auto slowness = [&](const ChainTail& tail) {
    return Slowness(ForwardDesc(args, PlainDesc(Shape{rows, inputs}),
                                AnyDesc(Shape{outputs, inputs}), PlainDesc(Shape{rows, outputs}),
                                tail)
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
        DimsOf(DescOf({args.shape->params[0].shape, DType::kFloat32, args.param_layouts[0]}));
    const bool same_volume =
        dims.size() == 2 ||
        std::equal(dims.begin() + 1, dims.end(), bottom.dims().begin() + 1, bottom.dims().end());
    if (args.spec->param.inner_product_param().transpose() || !same_volume) {
      return "its weights are kept in the order of another layer that shares them";
    }
  }
  if (args.chain != nullptr && !TakesTail(args)) return "oneDNN is slower with ReLU than without";
  return "";
}

std::unique_ptr<Kernel> MakeInnerProductDnnl(const KernelArgs& args) {
  return std::make_unique<DnnlInnerProduct>(args);
}

DOPPIO_REGISTER_KERNEL({"InnerProduct", DeviceKind::kCpu, "onednn", 10, &MakeInnerProductDnnl,
                        &InnerProductDnnlDeclines});
DOPPIO_REGISTER_FUSION("InnerProduct+ReLU", {&InferTail});
DOPPIO_REGISTER_KERNEL({"InnerProduct+ReLU", DeviceKind::kCpu, "onednn", 10, &MakeInnerProductDnnl,
                        &InnerProductDnnlDeclines});

}  // namespace
}  // namespace doppio
