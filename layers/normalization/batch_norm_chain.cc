// BatchNorm together with the layers that mostly follow it: Scale, the sum of a residual block,
// ReLU. Forward makes one pass over memory for the statistics and one that writes the top. Backward
// makes one pass for the sums and one that writes the gradient.
//
// The kernel saves no values between x and y: backward recomputes them from x, including the sign
// for ReLU. After a sum, whose other summand backward does not read, the sign comes from y.
#include "core/net/contract/fusion.h"
#include "layers/common/stored_kernel.h"
#include "layers/elementwise/chain.h"
#include "layers/elementwise/scale_bias_form.h"
#include "layers/normalization/batch_norm_stats.h"

namespace doppio {
namespace {

std::optional<LayerShape> InferBatchNormChain(const std::vector<ChainLink>& chain) {
  std::optional<LayerShape> shape = InferTail(chain);
  if (!shape || shape->tops[0].rank() < 2) return std::nullopt;
  const ChainLink* scale = FindLink(&chain, "Scale");
  BatchNormForm form = chain.front().Form<BatchNormForm>();
  if (scale != nullptr) {
    const ScaleBiasForm& of_scale = scale->Form<ScaleBiasForm>();
    // The chain needs one learned factor per channel.
    if (of_scale.axis != 1 || of_scale.num_axes != 1) return std::nullopt;
    form.has_scale = true;
    form.has_bias = of_scale.bias_term;
  }
  shape->form = form;
  shape->backward_reads_bottoms = true;
  const bool sum = !shape->passes_gradient.empty();
  shape->backward_reads_tops = shape->overwrites_top_gradients = sum && ChainTail(&chain).relu;
  shape->in_place_ok = true;
  return shape;
}

template <class T>
class BatchNormChain : public Kernel {
  using Wide = ComputeType<T>;

 public:
  explicit BatchNormChain(const KernelArgs& args)
      : stats_(args),
        channels_(stats_.channels()),
        tail_(args.chain),
        has_scale_(args.Form<BatchNormForm>().has_scale),
        has_bias_(args.Form<BatchNormForm>().has_bias) {
    const size_t padded = channels_.padded();
    factor_room_.assign(padded, Wide(1));
    // Adding -0 changes no number.
    bias_room_.assign(padded, Wide(-0.0));
    needs_.bottoms.assign(args.bottoms.size(), stats_.layout());
    needs_.tops = {stats_.layout()};
    needs_.saved_bytes = 2 * stats_.per_channel_bytes();  // mean_, scale_
    // The sums, then along_one_, along_x_ and slope_.
    needs_.scratch_bytes = ChannelSumsBytes(channels_) + 3 * stats_.per_channel_bytes();
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    mean_ = static_cast<Wide*>(t_.saved);
    scale_ = mean_ + channels_.padded();
    along_one_ =
        reinterpret_cast<Wide*>(static_cast<char*>(t_.scratch) + ChannelSumsBytes(channels_));
    along_x_ = along_one_ + channels_.padded();
    slope_ = along_x_ + channels_.padded();
    x_ = BottomValues<T>(0);
    y_ = TopValues<T>(0);
  }

  void Forward(const Pass& pass) override {
    stats_.Take(pass, x_, t_.params, t_.scratch, along_one_, mean_, scale_);
    const T* other = tail_.sum ? BottomValues<T>(1) : nullptr;
    if (tail_.sum && tail_.relu) {
      Write([other, relu = *tail_.relu](Wide z, int64_t i) {
        return relu.Forward(z + Widen(other[i]));
      });
    } else if (tail_.sum) {
      Write([other](Wide z, int64_t i) { return z + Widen(other[i]); });
    } else if (tail_.relu) {
      Write([relu = *tail_.relu](Wide z, int64_t) { return relu.Forward(z); });
    } else {
      Write([](Wide z, int64_t) { return z; });
    }
  }

  void Backward(const Pass& pass, const std::vector<bool>& add) override {
    T* dy = TopGradient<T>(0);
    auto plain = [dy](Wide, int64_t i) { return Widen(dy[i]); };
    if (!tail_.relu) {
      Backward(pass, plain, plain, add);
    } else if (tail_.sum) {
      auto mask = [dy, y = y_, relu = *tail_.relu](Wide, int64_t i) {
        dy[i] = static_cast<T>(relu.Gradient(Widen(y[i]), Widen(dy[i])));
        return Widen(dy[i]);
      };
      Backward(pass, mask, plain, add);
    } else {
      auto masked = [dy, relu = *tail_.relu](Wide z, int64_t i) {
        return relu.Gradient(z, Widen(dy[i]));
      };
      Backward(pass, masked, masked, add);
    }
  }

 private:
  // Writes finish(z, i) to each element i of the top, where z is the normalised and scaled value
  // before the sum and ReLU.
  template <class Finish>
  void Write(const Finish& finish) {
    ForEachElement(
        channels_,
        [x = x_, y = y_, finish](int64_t i, Wide mean, Wide scale, Wide factor, Wide bias) {
          y[i] = static_cast<T>(finish((Widen(x[i]) - mean) * scale * factor + bias, i));
        },
        mean_, scale_, Factor(), Bias());
  }

  // Computes all gradients. first(z, i) in the first pass and then(z, i) in the second return the
  // gradient of z, which includes the effects of the sum and ReLU.
  template <class First, class Then>
  void Backward(const Pass& pass, const First& first, const Then& then,
                const std::vector<bool>& add) {
    const Tensor factor_grad = has_scale_ ? t_.param_grads[kScaleParam] : Tensor();
    const Tensor bias_grad = has_bias_ ? t_.param_grads[kBiasParam] : Tensor();
    T* dx = BottomGradient<T>(0);
    std::fill(along_one_, along_one_ + 2 * channels_.padded(), Wide(0));
    if (factor_grad || bias_grad || (dx != nullptr && !stats_.global())) {
      const double* sums = Sum(first);
      if (factor_grad) StoreSums<Wide>(channels_, sums, add[kScaleParam], factor_grad);
      if (bias_grad) {
        StoreSums<Wide>(channels_, sums + channels_.padded(), add[kBiasParam], bias_grad);
      }
      // The batch's mean and variance depend on x; the running ones do not.
      if (!stats_.global()) stats_.Average(pass, sums, along_x_, along_one_);
    } else if (tail_.sum) {
      tail_.template MaskGradient<T>(t_);
    }
    tail_.template PassGradient<T>(t_);
    if (dx == nullptr) return;
    const Wide* factor = Factor();
    for (int64_t c = 0; c < channels_.padded(); ++c) slope_[c] = scale_[c] * factor[c];
    ForEachElement(
        channels_,
        [x = x_, dx, then](int64_t i, Wide mean, Wide scale, Wide factor, Wide bias, Wide along_one,
                           Wide along_x, Wide slope) {
          const Wide normal = (Widen(x[i]) - mean) * scale;
          const Wide dz = then(normal * factor + bias, i);
          dx[i] = static_cast<T>((dz - along_one - along_x * normal) * slope);
        },
        mean_, scale_, factor, Bias(), along_one_, along_x_, slope_);
  }

  // Returns the sums per channel of the gradient times the normalised value, and of the gradient.
  template <class Gradient>
  const double* Sum(const Gradient& gradient) {
    return SumPerChannel<Wide>(
        channels_, t_.scratch,
        [x = x_, gradient](Wide& dot, Wide& sum, int64_t i, Wide mean, Wide scale, Wide factor,
                           Wide bias) {
          const Wide normal = (Widen(x[i]) - mean) * scale;
          const Wide dz = gradient(normal * factor + bias, i);
          dot += normal * dz;
          sum += dz;
        },
        mean_, scale_, Factor(), Bias());
  }

  const Wide* Factor() {
    if (!has_scale_) return factor_room_.data();
    return PadChannels(channels_, ParamValues<Wide>(kScaleParam), factor_room_.data());
  }
  const Wide* Bias() {
    if (!has_bias_) return bias_room_.data();
    return PadChannels(channels_, ParamValues<Wide>(kBiasParam), bias_room_.data());
  }

  const BatchNormStats<Wide> stats_;
  const ChannelBlocks channels_;
  const ChainTail tail_;
  const bool has_scale_, has_bias_;
  std::vector<Wide> factor_room_,
      bias_room_;  // padded parameters of Scale; 1 and -0 if it has none
  const T* x_ = nullptr;
  T* y_ = nullptr;
  Wide *mean_ = nullptr, *scale_ = nullptr;
  Wide *along_one_ = nullptr, *along_x_ = nullptr, *slope_ = nullptr;
};

[[maybe_unused]] const bool batch_norm_chain_registered = [] {
  for (const char* chain : kBatchNormChains) {
    FusionTypes::Get().Add(chain, {&InferBatchNormChain});
    KernelTypes::Get().Add(StoredKernelType<BatchNormChain>(chain, "fused"));
  }
  return true;
}();

}  // namespace
}  // namespace doppio
