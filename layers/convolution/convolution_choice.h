// Chooses one of oneDNN's convolutions. oneDNN has many, each for certain layouts, and some are a
// hundred times slower than others.
#ifndef DOPPIO_LAYERS_CONVOLUTION_CONVOLUTION_CHOICE_H_
#define DOPPIO_LAYERS_CONVOLUTION_CONVOLUTION_CHOICE_H_

#include <optional>
#include <type_traits>

#include "core/math/dnnl_isa.h"
#include "core/net/contract/kernel.h"
#include "layers/common/dnnl_support.h"
#include "layers/common/dnnl_ways.h"
#include "layers/convolution/conv_geometry.h"
#include "layers/convolution/winograd_rule.h"
#include "layers/elementwise/dnnl_tail.h"

namespace doppio {

// The primitives for one choice of layouts.
struct ConvChoice {
  dnnl::convolution_forward::primitive_desc forward;  // includes the tail of a chain
  dnnl::convolution_backward_data::primitive_desc backward_data;
  dnnl::convolution_backward_weights::primitive_desc backward_weights;
  // The float32 layout in which the layer keeps its weights.
  dnnl::memory::desc kept;
  // The costs of the three primitives (see Cost), plus kReorderSlowness per reorder.
  double slowness = 0;
};

class ConvChooser {
 public:
  // Bottoms and tops have type `type`, and so have the factors of all products. Sums, biases and
  // the gradients of parameters are in single precision.
  ConvChooser(const KernelArgs& args, const ConvGeometry& g, DType type)
      : args_(args), g_(g), type_(type), stride_(g.stride), dilation_(g.dilation), pad_(g.pad) {
    for (int64_t& d : dilation_) --d;  // oneDNN counts the gaps: 0 is dense
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
      // Another layer with these weights has other groups, or is no convolution.
      if (DimsOf(placed_) != weights_) placed_ = PlainDesc(weights_shape);
    }
    data_ = args.bottom_gradient.empty() ? args.backward : false;
    // A chain has further bottoms, but the backward primitives do not see them.
    const size_t bottoms = args.chain != nullptr ? 1 : args.bottom_gradient.size();
    for (size_t i = 0; i < bottoms; ++i) {
      data_ = data_ || (args.backward && args.bottom_gradient[i]);
    }
    params_ = args.param_gradient.empty() ? args.backward : false;
    for (bool wanted : args.param_gradient) params_ = params_ || (args.backward && wanted);
  }

  bool backward_data() const { return data_; }
  bool backward_params() const { return params_; }
  // Returns the fastest primitives. Returns nullopt if oneDNN has none, or if those with the
  // chain's tail are slower than those without.
  std::optional<ConvChoice> Best() const {
    if (type_ != DType::kFloat32 && params_ && !HasSafeNarrowGradients()) return std::nullopt;
    std::optional<ConvChoice> best = BestAlone();
    if (best && args_.chain != nullptr && !AddTail(&*best)) return std::nullopt;
    if (best && UsesWinograd()) ReplaceByWinograd(&*best);
    return best;
  }

 private:
  // Returns false where oneDNN 2.6 computes wrong 16-bit gradients of weights: it reads scratch
  // memory that it has not written if an element of the kernel sees only padding, and also in
  // volumes, where it may write out of bounds as well.
  bool HasSafeNarrowGradients() const {
    if (g_.kernel.size() > 2) return false;
    for (size_t axis = 0; axis < g_.kernel.size(); ++axis) {
      for (int64_t k = 0; k < g_.kernel[axis]; ++k) {
        bool sees_input = false;
        for (int64_t out = 0; out < g_.output[axis] && !sees_input; ++out) {
          const int64_t in = out * g_.stride[axis] - g_.pad[axis] + k * g_.dilation[axis];
          sees_input = in >= 0 && in < g_.input[axis];
        }
        if (!sees_input) return false;
      }
    }
    return true;
  }

  // Returns the cost class of an implementation. On a CPU with tiles, an implementation without
  // them costs more than a reorder to the layout of one that has them.
  double Cost(const char* implementation) const {
    const bool tiles = std::string(implementation).find("amx") != std::string::npos;
    return Slowness(implementation) + (MultipliesInTiles(type_) && !tiles ? 2 : 0);
  }

  // Adds the chain's tail to the forward primitive. Returns false if this makes it slower.
  bool AddTail(ConvChoice* choice) const {
    try {
      const auto& alone = choice->forward;
      const auto with_tail =
          Forward(kDirect, alone.src_desc(), alone.weights_desc(), alone.dst_desc(),
                  DnnlTailAttr(args_.math, ChainTail(args_.chain), alone.dst_desc()));
      if (Cost(with_tail.impl_info_str()) > Cost(alone.impl_info_str())) return false;
      choice->forward = with_tail;
      return true;
    } catch (const dnnl::error&) {
      return false;
    }
  }

  bool UsesWinograd() const {
    return type_ == DType::kFloat32 && args_.math == MathMode::kFloat32 &&
           DnnlWinogradPays(g_, WinogradOf(args_));
  }

  // Replaces each primitive for which oneDNN has Winograd's filtering with the weights in the
  // layout of forward. (oneDNN 2.6 has it for AVX-512 and whole blocks of channels.)
  void ReplaceByWinograd(ConvChoice* choice) const {
    const auto replace = [this](const char* what, const auto& make, auto* primitive) {
      DnnlWays<std::decay_t<decltype(*primitive)>> ways;
      ways.Add("Winograd's filtering", 0, make, [](const auto& made) {
        return CandidateTrial{"", 0, made.impl_info_str()};
      });
      ways.Add(
          "direct", 1, [primitive] { return *primitive; },
          [](const auto& made) {
            return CandidateTrial{"", 1, made.impl_info_str()};
          });
      *primitive = *ways.Best(what, args_);
    };
    const dnnl::algorithm winograd = dnnl::algorithm::convolution_winograd;
    const dnnl::memory::desc x = choice->forward.src_desc(), y = choice->forward.dst_desc();
    const dnnl::memory::desc w = choice->forward.weights_desc();
    if (data_) {
      replace(
          "bottom's gradient", [&] { return BackwardData(winograd, *choice, x, w, y); },
          &choice->backward_data);
    }
    if (params_) {
      replace(
          "weights' gradient", [&] { return BackwardWeights(winograd, *choice, x, w, y); },
          &choice->backward_weights);
    }
    replace(
        "top",
        [&] {
          return Forward(winograd, x, w, y,
                         args_.chain == nullptr
                             ? DnnlAttr(args_.math)
                             : DnnlTailAttr(args_.math, ChainTail(args_.chain), y));
        },
        &choice->forward);
  }

  // Returns the fastest primitives without a chain's tail, or nullopt if oneDNN has none.
  std::optional<ConvChoice> BestAlone() const {
    DnnlWays<ConvChoice> ways;
    const auto offer = [&](const std::string& name, const dnnl::memory::desc& src,
                           const dnnl::memory::desc& dst) {
      for (bool placed : {true, false}) {
        if (placed && (placed_.is_zero() || type_ != DType::kFloat32)) continue;
        const dnnl::memory::desc weights = placed ? placed_ : Any(weights_);
        ways.Add(
            name + (placed ? ", weights as placed" : ""), 0,
            [this, src, dst, weights] { return Make(src, dst, weights); },
            [](const ConvChoice& made) {
              return CandidateTrial{"", made.slowness, made.forward.impl_info_str()};
            });
      }
    };
    // A batch of several axes has no blocked layout of the bottom's own rank.
    if (g_.axis == 1) {
      offer("oneDNN's layouts", Any(src_), Any(dst_));
      offer("the bottom's layout", Bottom(), Any(dst_));
      for (int64_t block : {16, 8}) {
        offer("blocks of " + std::to_string(block) + " channels",
              ChannelBlocked(Shape(src_), block, type_), ChannelBlocked(Shape(dst_), block, type_));
      }
    }
    offer("plain layout", PlainDesc(Shape(src_), type_), PlainDesc(Shape(dst_), type_));
    return ways.Best("layouts", args_);
  }

  dnnl::memory::desc Any(const dnnl::memory::dims& dims) const {
    return AnyDesc(Shape(dims), type_);
  }
  // Returns the bottom in its own layout.
  dnnl::memory::desc Bottom() const { return WithType(DescOf(args_.bottoms[0]), type_); }

  dnnl::convolution_forward::primitive_desc Forward(dnnl::algorithm algorithm,
                                                    const dnnl::memory::desc& src,
                                                    const dnnl::memory::desc& weights,
                                                    const dnnl::memory::desc& dst,
                                                    const dnnl::primitive_attr& attr) const {
    const dnnl::prop_kind kind =
        args_.backward ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
    return Fastest([&] {
      return DescribeForward<dnnl::convolution_forward>(
          attr, kind, algorithm, src, weights, BiasDesc(), dst, stride_, dilation_, pad_, pad_);
    });
  }

  dnnl::convolution_backward_data::primitive_desc BackwardData(dnnl::algorithm algorithm,
                                                               const ConvChoice& choice,
                                                               const dnnl::memory::desc& x,
                                                               const dnnl::memory::desc& weights,
                                                               const dnnl::memory::desc& y) const {
    return Fastest([&] {
      return DescribeBackward<dnnl::convolution_backward_data>(DnnlAttr(args_.math), choice.forward,
                                                               algorithm, x, weights, y, stride_,
                                                               dilation_, pad_, pad_);
    });
  }

  dnnl::convolution_backward_weights::primitive_desc BackwardWeights(
      dnnl::algorithm algorithm, const ConvChoice& choice, const dnnl::memory::desc& x,
      const dnnl::memory::desc& weights, const dnnl::memory::desc& y) const {
    return Fastest([&] {
      return DescribeBackward<dnnl::convolution_backward_weights>(
          DnnlAttr(args_.math), choice.forward, algorithm, x, weights, BiasDesc(), y, stride_,
          dilation_, pad_, pad_);
    });
  }

  dnnl::memory::desc BiasDesc() const {
    return g_.bias ? PlainDesc(Shape{g_.out_channels}) : dnnl::memory::desc();
  }

  // Returns the primitives for these layouts. Throws dnnl::error if oneDNN has none.
  ConvChoice Make(const dnnl::memory::desc& src, const dnnl::memory::desc& dst,
                  const dnnl::memory::desc& weights) const {
    ConvChoice choice;
    choice.forward = Forward(kDirect, src, weights, dst, DnnlAttr(args_.math));
    choice.slowness = Cost(choice.forward.impl_info_str());
    // Gradients have the layouts of their values.
    const dnnl::memory::desc x = choice.forward.src_desc(), y = choice.forward.dst_desc();
    if (g_.axis == 1 && x != Bottom()) choice.slowness += kReorderSlowness;
    const dnnl::memory::desc own = WithType(choice.forward.weights_desc(), DType::kFloat32);
    choice.kept = placed_.is_zero() ? own : placed_;
    if (choice.kept != own) choice.slowness += kReorderSlowness;
    if (data_) {
      choice.backward_data = BackwardData(kDirect, choice, x, Any(weights_), y);
      choice.slowness += Cost(choice.backward_data.impl_info_str());
    }
    if (params_) {
      choice.backward_weights = DirectBackwardWeights(choice, x, y);
      // With 16-bit factors, the primitives read rounded copies of the weights in any case.
      if (placed_.is_zero() && type_ != DType::kFloat32)
        choice.kept = choice.backward_weights.diff_weights_desc();
      choice.slowness += Cost(choice.backward_weights.impl_info_str());
    }
    return choice;
  }

  // Returns a primitive that writes the layout in which the weights are kept, unless another layout
  // is faster.
  dnnl::convolution_backward_weights::primitive_desc DirectBackwardWeights(
      const ConvChoice& choice, const dnnl::memory::desc& x, const dnnl::memory::desc& y) const {
    auto any = BackwardWeights(kDirect, choice, x, AnyDesc(Shape(weights_)), y);
    if (any.diff_weights_desc() == choice.kept) return any;
    try {
      auto own = BackwardWeights(kDirect, choice, x, choice.kept, y);
      if (Cost(own.impl_info_str()) <= Cost(any.impl_info_str())) return own;
    } catch (const dnnl::error&) {
      // oneDNN does not write the parameter's own layout.
    }
    return any;
  }

  static constexpr dnnl::algorithm kDirect = dnnl::algorithm::convolution_direct;

  const KernelArgs& args_;
  const ConvGeometry& g_;
  const DType type_;
  dnnl::memory::dims stride_, dilation_, pad_, src_, dst_, weights_;
  dnnl::memory::desc placed_;
  bool data_ = false, params_ = false;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_CONVOLUTION_CONVOLUTION_CHOICE_H_
