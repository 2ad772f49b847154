// PReLU: y = x where x is positive, else slope * x. There is one learned slope per channel (axis
// 1), or one for all channels.
#include "core/net/contract/layer.h"
#include "layers/activation/prelu_form.h"
#include "layers/common/bottom_checks.h"
#include "layers/common/channel_blocks.h"

namespace doppio {
namespace {

LayerShape InferPrelu(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const PReLUParameter& param = spec.param.prelu_param();
  CheckChannels(spec, bottoms[0]);
  ParamShape slope;
  if (!param.channel_shared()) slope.shape = {bottoms[0][1]};
  slope.filler = param.filler();
  if (!param.has_filler()) slope.filler.set_value(0.25f);

  LayerShape shape;
  shape.form = PreluForm{param.channel_shared() ? 1 : 2};
  shape.tops = {bottoms[0]};
  shape.params = {slope};
  shape.backward_reads_tops = false;
  shape.in_place_ok = true;
  return shape;
}

template <class T>
class PReLU : public Kernel {
 public:
  explicit PReLU(const KernelArgs& args) {
    const int end = args.Form<PreluForm>().channel_end;
    const Layout layout = ChannelLayout(args.bottoms[0], 1, end);
    needs_.bottoms = needs_.tops = {layout};
    FindChannelBlocks({args.bottoms[0].shape, args.dtype, layout}, 1, end, &channels_);
    // The padded slopes follow the sums.
    needs_.scratch_bytes = ChannelSumsBytes(channels_) + channels_.padded() * kBytesOf<T>;
  }

  void Forward(const Pass&) override {
    const T* x = BottomValues<T>(0);
    const T* slope = Slopes();
    T* y = TopValues<T>(0);
    ForEachElement(
        channels_,
        [=](int64_t i, T factor) {
          y[i] = (x[i] > 0 ? x[i] : T(0)) + factor * (x[i] > 0 ? T(0) : x[i]);
        },
        slope);
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    const T* x = BottomValues<T>(0);
    const T* slope = Slopes();
    const T* dy = TopGradient<T>(0);
    if (t_.param_grads[0]) {
      const double* sums = SumPerChannel<T>(channels_, t_.scratch, [=](T& sum, T&, int64_t i) {
        sum += (x[i] > 0 ? T(0) : x[i]) * dy[i];
      });
      StoreSums<T>(channels_, sums, add[0], t_.param_grads[0]);
    }
    if (!t_.bottom_grads[0]) return;
    T* dx = BottomGradient<T>(0);
    ForEachElement(
        channels_,
        [=](int64_t i, T factor) {
          dx[i] = dy[i] * ((x[i] > 0 ? T(1) : T(0)) + factor * (x[i] > 0 ? T(0) : T(1)));
        },
        slope);
  }

 private:
  // Returns one slope per channel, padded to whole blocks.
  const T* Slopes() const {
    void* room = static_cast<char*>(t_.scratch) + ChannelSumsBytes(channels_);
    return PadChannels(channels_, ParamValues<T>(0), static_cast<T*>(room));
  }

  ChannelBlocks channels_;
};

DOPPIO_REGISTER_LAYER("PReLU", LayerType(&InferPrelu)
                                   .Bottoms(1)
                                   .Tops(1)
                                   .KeepsCoordinates()
                                   .Params({"weight"}, [](const LayerParameter&) { return 1; })
                                   .RowByRow());
DOPPIO_REGISTER_KERNEL(ReferenceKernel<PReLU>("PReLU"));

}  // namespace
}  // namespace doppio
