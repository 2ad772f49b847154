// Chooses oneDNN's primitives for InnerProduct, always as products of two matrices, because
// oneDNN's kernels for those are the fastest.
#ifndef DOPPIO_LAYERS_INNER_PRODUCT_INNER_PRODUCT_CHOICE_H_
#define DOPPIO_LAYERS_INNER_PRODUCT_INNER_PRODUCT_CHOICE_H_

#include <algorithm>
#include <vector>

#include "layers/common/dnnl_support.h"
#include "layers/common/dnnl_ways.h"
#include "layers/elementwise/dnnl_tail.h"
#include "layers/inner_product/blocked_weights.h"
#include "layers/inner_product/inner_product_form.h"
#include "layers/inner_product/rounded_weights.h"

namespace doppio {

// Returns `make(cheap)`, the primitive for a layout of the weights that needs no reorder of its
// own, unless `make(any)` is more than one cost class faster. Notes the choice for `what`. Throws
// dnnl::error if oneDNN has no implementation.
template <class Make>
auto PreferLayout(const KernelArgs& args, const char* what, const Make& make,
                  const dnnl::memory::desc& cheap, const dnnl::memory::desc& any) {
  DnnlWays<decltype(make(any))> ways;
  const auto offer = [&](const char* name, double extra, const dnnl::memory::desc& weights) {
    ways.Add(
        name, extra, [&make, weights] { return make(weights); },
        [extra](const auto& made) {
          const char* const implementation = made.impl_info_str();
          return CandidateTrial{"", Slowness(implementation) + extra, implementation};
        });
  };
  offer("weights as kept", 0, cheap);
  offer("oneDNN's layout of weights", 1, any);
  auto best = ways.Best(what, args);
  if (!best) throw dnnl::error(dnnl_unimplemented, "no implementation of an inner product");
  return *best;
}

// The primitives of one layer, and their layouts. The bottom has the type of the top, and so have
// the weights that the primitives read. Sums, biases and the gradients of parameters are in single
// precision.
struct InnerProductChoice {
  using Desc = dnnl::memory::desc;
  using ForwardPd = dnnl::inner_product_forward::primitive_desc;

  // Throws dnnl::error if oneDNN has no implementation.
  explicit InnerProductChoice(const KernelArgs& args) : type(args.tops[0]) {
    const InnerProductForm& f = args.Form<InnerProductForm>();
    bias = f.bias ? PlainDesc(Shape{f.outputs}) : Desc();
    const Shape matrix = ChooseLayouts(args, f);
    const Desc any = AnyDesc(matrix, type);
    Desc cheap = type == DType::kFloat32 ? kept : any;
    if (type == DType::kBFloat16 && !PairedDesc(kept).is_zero()) cheap = PairedDesc(kept);
    forward = PreferLayout(
        args, "top", [&](const Desc& w) { return Forward(args, src, w, dst, kNoTail); }, cheap,
        any);
    with_tail = Forward(args, src, forward.weights_desc(), dst, ChainTail(args.chain));
    if (!args.backward) return;
    has_params = args.param_gradient.empty();
    for (bool wanted : args.param_gradient) has_params = has_params || wanted;
    if (has_params) ChooseParams(args, f.rows, matrix);
    has_data = args.bottom_gradient.empty() || args.bottom_gradient[0];
    if (has_data) {
      data = PreferLayout(
          args, "bottom's gradient",
          [&](const Desc& w) {
            return DescribeBackward<dnnl::inner_product_backward_data>(DnnlAttr(args.math), forward,
                                                                       src, w, dst);
          },
          type == DType::kFloat32 ? kept : forward.weights_desc(), any);
    }
  }

  // Returns the highest cost class of the primitives.
  double slowness() const {
    double most = Slowness(with_tail.impl_info_str());
    if (has_params) most = std::max(most, Slowness(params.impl_info_str()));
    if (has_data) most = std::max(most, Slowness(data.impl_info_str()));
    return most;
  }
  // Returns true if the chain's tail puts the forward primitive into a slower cost class.
  bool has_slow_tail() const {
    return Slowness(with_tail.impl_info_str()) > Slowness(forward.impl_info_str());
  }

  // Describes the primitive that computes the gradient of the parameters in this layout, for some
  // of the outputs: those of `top`.
  dnnl::inner_product_backward_weights::primitive_desc DescribeParams(
      const KernelArgs& args, const Desc& top, const Desc& weights, const Desc& bias_slice) const {
    const Desc any = AnyDesc(Shape(DimsOf(weights)), params_type);
    const dnnl::prop_kind kind = dnnl::prop_kind::forward_training;
    const auto hint = DescribeForward<dnnl::inner_product_forward>(DnnlAttr(args.math), kind, x,
                                                                   any, bias_slice, top);
    return DescribeBackward<dnnl::inner_product_backward_weights>(DnnlAttr(args.math), hint, x,
                                                                  weights, bias_slice, top);
  }

  DType type;
  Desc src, dst;         // the bottom and the top as matrices, in memory order
  Desc kept;             // the float32 layout in which the weights are kept, as a matrix
  Desc bias;             // empty if there is none
  Layout bottom, param;  // the layouts of the bottom and of the weights as tensors
  ForwardPd forward, with_tail;
  // The gradient of the parameters reads the bottom as `x` and the gradient of the top as `dy`.
  bool has_params = false, has_data = false;
  DType params_type = DType::kFloat32;
  Desc x, dy;
  dnnl::inner_product_backward_weights::primitive_desc params;
  dnnl::inner_product_backward_data::primitive_desc data;

 private:
  // With fewer rows, oneDNN computes the gradient of the weights faster from widened copies of the
  // bottom and of the top's gradient, which are small. Their products are the same.
  static constexpr int64_t kNarrowGradientRows = 64;

  // Sets src, dst, kept and the layouts for the plan. Returns the extents of the weights.
  Shape ChooseLayouts(const KernelArgs& args, const InnerProductForm& f) {
    const TensorSpec& given = args.bottoms[0];
    const bool placed = !args.param_placed.empty() && args.param_placed[0];
    // If the layout of the weights is already fixed, it decides the layout of the bottom, because
    // the bottom is the smaller of the two and cheaper to reorder.
    int64_t block = f.axis == 1 && !f.transpose ? BlockOf(given) : 0;
    if (placed) {
      kept = DescOf({args.param_shapes[0], DType::kFloat32, PlacedLayout(args, f)});
      block = DimsOf(kept).size() > 2 ? ChannelBlockOf(kept) : 0;
    }
    const BlockedWeights blocked(given.shape, f.outputs, std::max<int64_t>(1, block));
    const int64_t inputs = block > 0 ? blocked.padded_inputs() : f.inputs;
    src = PlainDesc(Shape{f.rows, inputs}, type);
    dst = PlainDesc(Shape{f.rows, f.outputs}, type);
    if (block > 0) bottom = LayoutOf(ChannelBlocked(given.shape, block));

    Shape matrix{f.outputs, inputs};
    if (f.transpose) {
      kept = Desc(DnnlDims(matrix), dnnl::memory::data_type::f32, dnnl::memory::format_tag::ba);
    } else if (placed) {
      if (block > 0) kept = blocked.Matrix(kept);
    } else {
      kept = Forward(args, WithType(src, DType::kFloat32), AnyDesc(matrix),
                     WithType(dst, DType::kFloat32), kNoTail)
                 .weights_desc();
      if (block > 0 && blocked.Tensor(kept).is_zero()) kept = PlainDesc(matrix);
    }
    if (!f.transpose) param = LayoutOf(block > 0 ? blocked.Tensor(kept) : kept);
    return matrix;
  }

  // Returns the layout of placed weights, or the plain layout if this layer cannot read them in the
  // order of the layer that placed them.
  static Layout PlacedLayout(const KernelArgs& args, const InnerProductForm& f) {
    const Layout& layout = args.param_layouts[0];
    const auto dims = DimsOf(DescOf({args.param_shapes[0], DType::kFloat32, layout}));
    const auto& bottom = args.bottoms[0].shape.dims();
    const bool same_volume = dims.size() == 2 || std::equal(dims.begin() + 1, dims.end(),
                                                            bottom.begin() + 1, bottom.end());
    return f.transpose || !same_volume ? Layout() : layout;
  }

  void ChooseParams(const KernelArgs& args, int64_t rows, const Shape& matrix) {
    params_type = rows < kNarrowGradientRows ? DType::kFloat32 : type;
    x = WithType(src, params_type);
    dy = WithType(dst, params_type);
    const ForwardPd hint =
        params_type == type ? forward : Forward(args, x, AnyDesc(matrix, params_type), dy, kNoTail);
    params = PreferLayout(
        args, "weights' gradient",
        [&](const Desc& w) {
          return DescribeBackward<dnnl::inner_product_backward_weights>(DnnlAttr(args.math), hint,
                                                                        x, w, bias, dy);
        },
        kept, AnyDesc(matrix));
  }

  ForwardPd Forward(const KernelArgs& args, const Desc& from, const Desc& weights, const Desc& to,
                    const ChainTail& tail) const {
    const dnnl::prop_kind kind =
        args.backward ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
    return DescribeForward<dnnl::inner_product_forward>(DnnlTailAttr(args.math, tail, to), kind,
                                                        from, weights, bias, to);
  }

  // Returns the number of channels per block of the weights; 1 if they are not blocked by channels.
  static int64_t ChannelBlockOf(const Desc& weights) {
    const Blocking blocking = BlockingOf(weights);
    int64_t block = 1;
    for (size_t i = 0; i < blocking.inner_blocks.size(); ++i) {
      if (blocking.inner_axes[i] == 1) block *= blocking.inner_blocks[i];
    }
    return block;
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_INNER_PRODUCT_INNER_PRODUCT_CHOICE_H_
