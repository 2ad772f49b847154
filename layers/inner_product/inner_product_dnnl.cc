// InnerProduct with oneDNN. A bottom in a channel-blocked layout is not reordered; the input axis
// of the weights has the same order instead.
//
// If the top is stored in 16 bits and the CPU multiplies this type, so are the factors of all
// products. Forward rounds the weights, and backward reads the same rounded weights.
#include <algorithm>
#include <memory>
#include <vector>

#include "core/math/dnnl_isa.h"
#include "core/net/contract/fusion.h"
#include "layers/inner_product/gradient_slices.h"
#include "layers/inner_product/inner_product_choice.h"

namespace doppio {
namespace {

// A step with its arguments.
struct Step : DnnlStep {
  using DnnlStep::DnnlStep;
  DnnlArgs args;
};

class DnnlInnerProduct : public Kernel {
 public:
  explicit DnnlInnerProduct(const KernelArgs& args)
      : c_(args),
        has_bias_(args.Form<InnerProductForm>().bias),
        tail_(args.chain),
        shares_weights_(c_.type != DType::kFloat32 && c_.has_data &&
                        c_.data.weights_desc() == c_.with_tail.weights_desc()) {
    needs_.bottoms = {c_.bottom};
    needs_.types = {c_.type};
    needs_.params = {c_.param};
    if (has_bias_) needs_.params.emplace_back();

    Carver forward, saved;
    forward_ = Step(dnnl::inner_product_forward(c_.with_tail), c_.with_tail, &forward);
    forward_weights_ =
        RoundedWeights(c_.kept, c_.with_tail.weights_desc(), shares_weights_ ? &saved : &forward);
    needs_.saved_bytes = saved.bytes();
    needs_.scratch_bytes = forward.bytes();
    if (c_.has_params) {
      Carver scratch;
      params_ = Step(dnnl::inner_product_backward_weights(c_.params), c_.params, &scratch);
      x_ = InputReader(c_.src, c_.x, &scratch);
      dy_ = InputReader(c_.dst, c_.dy, &scratch);
      weight_gradient_ = GradientWriter(args, 0, c_.kept, c_.params.diff_weights_desc(), &scratch);
      if (has_bias_) bias_gradient_ = GradientWriter(args, 1, c_.bias, c_.bias, &scratch);
      slices_ = GradientSlices(c_, args, &scratch);
      needs_.gradient_slice = slices_.elements();
      needs_.scratch_bytes = std::max(needs_.scratch_bytes, scratch.bytes());
    }
    if (c_.has_data) {
      Carver scratch;
      data_ = Step(dnnl::inner_product_backward_data(c_.data), c_.data, &scratch);
      if (!shares_weights_)
        data_weights_ = RoundedWeights(c_.kept, c_.data.weights_desc(), &scratch);
      needs_.scratch_bytes = std::max(needs_.scratch_bytes, scratch.bytes());
    }
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    forward_weights_.Bind(t_.params[0].raw, shares_weights_ ? t_.saved : t_.scratch);
    forward_.args = {{DNNL_ARG_SRC, MemoryAt(c_.src, t_.bottoms[0].raw)},
                     {DNNL_ARG_WEIGHTS, forward_weights_.memory()},
                     {DNNL_ARG_DST, MemoryAt(c_.dst, t_.tops[0].raw)},
                     {DNNL_ARG_SCRATCHPAD, forward_.ScratchpadAt(t_.scratch)}};
    if (has_bias_) forward_.args.emplace(DNNL_ARG_BIAS, MemoryAt(c_.bias, t_.params[1].raw));
    if (params_.primitive) BindParams();
    if (data_.primitive) {
      if (!shares_weights_) data_weights_.Bind(t_.params[0].raw, t_.scratch);
      data_.args = {
          {DNNL_ARG_DIFF_SRC, MemoryAt(c_.src, t_.bottom_grads[0].raw)},
          {DNNL_ARG_WEIGHTS, (shares_weights_ ? forward_weights_ : data_weights_).memory()},
          {DNNL_ARG_DIFF_DST, MemoryAt(c_.dst, t_.top_grads[0].raw)},
          {DNNL_ARG_SCRATCHPAD, data_.ScratchpadAt(t_.scratch)}};
    }
  }

  void Forward(const Pass&) override {
    forward_weights_.Prepare();
    Execute(forward_.primitive, forward_.args);
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    DispatchStored(c_.type, [&](auto zero) { tail_.MaskGradient<decltype(zero)>(t_); });
    if (params_.primitive && slices_.elements() == 0) {
      x_.Prepare();
      dy_.Prepare();
      params_.args[DNNL_ARG_DIFF_WEIGHTS] = weight_gradient_.Target(add[0]);
      if (has_bias_) params_.args[DNNL_ARG_DIFF_BIAS] = bias_gradient_.Target(add[1]);
      Execute(params_.primitive, params_.args);
      weight_gradient_.Finish(add[0]);
      if (has_bias_) bias_gradient_.Finish(add[1]);
    }
    if (data_.primitive && t_.bottom_grads[0]) {
      if (!shares_weights_) data_weights_.Prepare();
      Execute(data_.primitive, data_.args);
    }
  }

  void BackwardSlice(int64_t slice) override {
    if (slice == 0) {
      x_.Prepare();
      dy_.Prepare();
    }
    slices_.Run(slice);
  }

 private:
  void BindParams() {
    x_.Bind(t_.bottoms[0].raw, t_.scratch);
    dy_.Bind(t_.top_grads[0].raw, t_.scratch);
    if (slices_.elements() > 0) {
      float* bias = has_bias_ ? ParamGradient<float>(1) : nullptr;
      return slices_.Bind(x_.memory(), dy_.memory(), t_.param_grads[0].raw, bias, t_.scratch);
    }
    weight_gradient_.Bind(t_.param_grads[0].raw, t_.scratch);
    params_.args = {{DNNL_ARG_SRC, x_.memory()},
                    {DNNL_ARG_DIFF_DST, dy_.memory()},
                    {DNNL_ARG_DIFF_WEIGHTS, weight_gradient_.Target(false)},
                    {DNNL_ARG_SCRATCHPAD, params_.ScratchpadAt(t_.scratch)}};
    if (!has_bias_) return;
    bias_gradient_.Bind(t_.param_grads[1].raw, t_.scratch);
    params_.args.emplace(DNNL_ARG_DIFF_BIAS, bias_gradient_.Target(false));
  }

  const InnerProductChoice c_;
  const bool has_bias_;
  const ChainTail tail_;
  // True if backward reads the rounded weights of forward.
  const bool shares_weights_;
  Step forward_, params_, data_;
  RoundedWeights forward_weights_, data_weights_;
  InputReader x_, dy_;
  GradientWriter weight_gradient_, bias_gradient_;
  GradientSlices slices_;
};

// Returns why rounding the weights costs more time than 16-bit products save, or "".
std::string WhyNoRoundedWeights(const KernelArgs& args) {
  // In training, backward reads the rounded weights once more.
  const int64_t rows = args.Form<InnerProductForm>().rows, least = args.backward ? 8 : 64;
  if (rows >= least) return "";
  return StrCat("rounding the weights to ", Name(args.tops[0]), " pays from ", least,
                " rows on, and there are ", rows);
}

std::string InnerProductDnnlDeclines(const KernelArgs& args) {
  const DType type = args.tops[0];
  std::string why = WhyNoDnnlProducts(type);
  if (why.empty() && Is16Bit(type)) why = WhyNoRoundedWeights(args);
  if (!why.empty()) return why;
  if (args.bottoms[0].shape.count() == 0) return "the bottom is empty";
  try {
    const InnerProductChoice choice(args);
    if (choice.has_slow_tail()) return "oneDNN is slower with ReLU than without";
    if (Is16Bit(type) && choice.slowness() > 1)
      return std::string("oneDNN has no fast products of ") + Name(type) + " for this layer";
  } catch (const dnnl::error&) {
    return "oneDNN has no implementation of this layer";
  }
  return "";
}

KernelType DnnlInnerProductKernel(const std::string& layers) {
  return KernelType(layers, &MakeKernel<DnnlInnerProduct>)
      .Engine("onednn")
      .Rank(10)
      .Declines(&InnerProductDnnlDeclines)
      .Narrow();
}

DOPPIO_REGISTER_KERNEL(DnnlInnerProductKernel("InnerProduct"));
DOPPIO_REGISTER_FUSION("InnerProduct+ReLU", {&InferTail});
DOPPIO_REGISTER_KERNEL(DnnlInnerProductKernel("InnerProduct+ReLU"));

}  // namespace
}  // namespace doppio
