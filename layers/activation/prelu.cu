// PReLU on a GPU, plain or channels last, for every stored type. Forward and backward each take one
// pass over memory.
#include "core/net/contract/kernel.h"
#include "layers/activation/prelu_form.h"
#include "layers/common/channel_sums.cuh"
#include "layers/common/stored_form_cuda.h"

namespace doppio {
namespace {

constexpr char kName[] = "PReLU";

// Computes y from {x}, and dx from {x, dy}. The third operator also returns the element's term of
// the slope's gradient.
struct Slope {
  float slope;
  DOPPIO_HD float operator()(const float (&in)[1]) const {
    return in[0] > 0 ? in[0] : slope * in[0];
  }
  DOPPIO_HD float operator()(const float (&in)[2]) const {
    return in[1] * (in[0] > 0 ? 1.0f : slope);
  }
  DOPPIO_HD TwoTerms operator()(const float (&in)[2], float* dx) const {
    *dx = (*this)(in);
    return {(in[0] > 0 ? 0.0f : in[0]) * in[1], 0};
  }
};
struct Slopes {
  static constexpr bool kWrites = true;
  const float* slopes;
  DOPPIO_HD Slope operator()(int64_t c) const { return {slopes[c]}; }
};
class CudaPrelu : public Kernel {
 public:
  explicit CudaPrelu(const KernelArgs& args)
      : device_(args.device),
        type_(args.tops[0]),
        channels_(args.bottoms[0], 1, args.Form<PreluForm>().channel_end) {
    const int end = args.Form<PreluForm>().channel_end;
    needs_.bottoms = needs_.tops = {Channels::LayoutFor(args.bottoms[0], 1, end)};
    needs_.types = {type_};
    needs_.scratch_bytes = DispatchStored(
        type_, [&](auto zero) { return SumChannelsBytes<decltype(zero)>(channels_); });
  }

  void Forward(const Pass&) override {
    DispatchStored(type_, [&](auto zero) {
      using T = decltype(zero);
      MapChannels(GpuOf(device_), channels_, kName, TopValues<T>(0), OfParam(), BottomValues<T>(0));
    });
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    DispatchStored(type_, [&](auto zero) {
      using T = decltype(zero);
      const T *x = BottomValues<T>(0), *dy = TopGradient<T>(0);
      T* dx = BottomGradient<T>(0);
      if (float* to = ParamGradient<float>(0)) {
        SumChannels(GpuOf(device_), channels_, kName, dx, OfParam(), StoreFirst{{to, add[0]}},
                    t_.scratch, x, dy);
      } else if (dx != nullptr) {
        MapChannels(GpuOf(device_), channels_, kName, dx, OfParam(), x, dy);
      }
    });
  }

  bool same_every_pass() const override { return true; }

 private:
  Slopes OfParam() const { return {ParamValues<float>(0)}; }

  Device* const device_;
  const DType type_;
  const Channels channels_;
};

DOPPIO_REGISTER_KERNEL(CudaKernel<CudaPrelu>("PReLU").Narrow());

}  // namespace
}  // namespace doppio
