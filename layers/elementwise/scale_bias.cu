// Scale and Bias on a GPU, plain or channels last, for every stored type. Forward and backward each
// take one pass over memory. Factors are stored as float.
#include "layers/common/channel_sums.cuh"
#include "layers/common/stored_form_cuda.h"
#include "layers/elementwise/scale_bias_form.h"

namespace doppio {
namespace {

constexpr char kName[] = "Scale";

struct Affine {
  float scale, bias;
  DOPPIO_HD float operator()(const float (&in)[1]) const { return in[0] * scale + bias; }
};
struct Affines {
  const float *scale, *bias;
  // A missing bias is -0, because adding -0 changes no number, not even -0.
  DOPPIO_HD Affine operator()(int64_t c) const {
    return {scale == nullptr ? 1.0f : scale[c], bias == nullptr ? -0.0f : bias[c]};
  }
};

// The terms of an element for the sums of x * dy and of dy, from {x, dy}.
struct Terms {
  float scale;
  DOPPIO_HD TwoTerms operator()(const float (&in)[2], float* dx) const {
    *dx = in[1] * scale;
    return {in[0] * in[1], in[1]};
  }
};
struct TermsBy {
  static constexpr bool kWrites = true;
  const float* scale;
  DOPPIO_HD Terms operator()(int64_t c) const { return {scale == nullptr ? 1.0f : scale[c]}; }
};
struct StoreSums {
  SumTarget scale_grad, bias_grad;
  DOPPIO_HD void operator()(int64_t c, const TwoSums& sums) const {
    scale_grad.Store(c, sums.first);
    bias_grad.Store(c, sums.second);
  }
};

class CudaScaleBias : public FormKernel<ScaleBiasForm> {
 public:
  explicit CudaScaleBias(const KernelArgs& args)
      : FormKernel(args), type_(args.tops[0]), channels_(args.bottoms[0], form_.axis, form_.end) {
    const Layout layout = Channels::LayoutFor(args.bottoms[0], form_.axis, form_.end);
    needs_.bottoms = needs_.tops = {layout};
    needs_.types = {type_};
    if (args.bottoms.size() == 2) {  // bottom 1 holds the factors
      needs_.bottoms.push_back(Layout());
      needs_.types.push_back(DType::kFloat32);
    }
    needs_.scratch_bytes = DispatchStored(
        type_, [&](auto zero) { return SumChannelsBytes<decltype(zero)>(channels_); });
  }

  void Forward(const Pass&) override { Apply(t_.bottoms[0], {Scale(), Bias()}, t_.tops[0]); }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    const StoreSums store{TargetAt(form_.scale_bottom, form_.scale_param, add),
                          TargetAt(form_.bias_bottom, form_.bias_param, add)};
    const Tensor &dy = t_.top_grads[0], &dx = t_.bottom_grads[0];
    const float* scale = Scale();
    if (store.scale_grad.to != nullptr || store.bias_grad.to != nullptr) {
      Sum(scale, store);
    } else if (scale != nullptr && dx) {
      Apply(dy, {scale, nullptr}, dx);
    }
    if (scale == nullptr && dx && dx.raw != dy.raw)
      CopyOnDevice(device_, dx.raw, dy.raw, dx.bytes());
  }

  bool same_every_pass() const override { return true; }

 private:
  // y = x * scale + bias. `y` may be `x`.
  void Apply(const Tensor& x, const Affines& affines, const Tensor& y) const {
    DispatchStored(type_, [&](auto zero) {
      using T = decltype(zero);
      MapChannels(GpuOf(device_), channels_, kName, y.data<T>(), affines, x.data<T>());
    });
  }

  // Stores the sums of x * dy and of dy, and writes dx = dy * scale in the same pass. Does not read
  // x if the scale needs no gradient. Does not write dx if there is no scale. dx may be dy.
  void Sum(const float* scale, const StoreSums& store) const {
    DispatchStored(type_, [&](auto zero) {
      using T = decltype(zero);
      const T* x = store.scale_grad.to == nullptr ? nullptr : BottomValues<T>(0);
      const T* dy = TopGradient<T>(0);
      T* dx = scale == nullptr ? nullptr : BottomGradient<T>(0);
      SumChannels(GpuOf(device_), channels_, kName, dx, TermsBy{scale}, store, t_.scratch, x, dy);
    });
  }

  const float* FactorAt(bool bottom, int param) const {
    if (bottom) return BottomValues<float>(1);
    return param >= 0 ? ParamValues<float>(param) : nullptr;
  }
  const float* Scale() const { return FactorAt(form_.scale_bottom, form_.scale_param); }
  const float* Bias() const { return FactorAt(form_.bias_bottom, form_.bias_param); }

  SumTarget TargetAt(bool bottom, int param, const std::vector<bool>& add) const {
    if (bottom) return {BottomGradient<float>(1), false};
    if (param < 0) return {};
    const size_t p = param;
    return {ParamGradient<float>(p), add[p]};
  }

  const DType type_;
  const Channels channels_;
};

DOPPIO_REGISTER_KERNEL(CudaKernel<CudaScaleBias>("Scale").Narrow());
DOPPIO_REGISTER_KERNEL(CudaKernel<CudaScaleBias>("Bias").Narrow());

}  // namespace
}  // namespace doppio
