// Convolution by Winograd's minimal filtering, for kernels of 3x3 and 5x5. Images are in blocks of
// kChannels channels, and so are weights, in the order that oneDNN prefers as well. Each pass
// transforms the weights. The gradient of the bottom is the same computation as forward, from the
// gradient of the top and with turned weights.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "core/math/dnnl_isa.h"
#include "layers/common/dnnl_support.h"
#include "layers/common/room.h"
#include "layers/convolution/conv_geometry.h"
#include "layers/convolution/winograd_filter.h"
#include "layers/convolution/winograd_gradient.h"
#include "layers/convolution/winograd_rule.h"
#include "layers/elementwise/chain.h"

namespace doppio {
namespace {

using winograd::Channels;
using winograd::kChannels;
using winograd::Planes;
using winograd::VectorsOf;

// Returns the layout of a bottom or top.
Layout WinogradLayout(const Shape& shape) { return LayoutOf(ChannelBlocked(shape, kChannels)); }

// Returns the layout of weights of this shape: blocks of outputs and inputs (winograd_weights.h).
Layout WinogradWeightLayout(const Shape& shape) {
  Blocking blocking = BlockingOf(PlainDesc(shape));
  int64_t stride = winograd::kSquare;
  for (int axis = 3; axis >= 0; --axis) {
    int64_t& extent = blocking.padded_dims[axis];
    extent = axis < 2 ? VectorsOf(extent) * kChannels : extent;
    blocking.strides[axis] = stride;
    stride *= axis < 2 ? extent / kChannels : extent;
  }
  blocking.AddInner(kChannels, 1);
  blocking.AddInner(kChannels, 0);
  return LayoutOf(DescOf(blocking));
}

bool NeedsParamGradients(const KernelArgs& args) {
  const std::vector<bool>& wanted = args.param_gradient;
  return args.backward &&
         (wanted.empty() || std::find(wanted.begin(), wanted.end(), true) != wanted.end());
}

// Returns true if Winograd's filtering should compute images of the top's type on this CPU.
bool PaysHere(const ConvGeometry& g, const KernelArgs& args) {
  const DType type = args.tops[0];
  if (type == DType::kFloat32 || !WhyNoDnnlProducts(type).empty())
    return WinogradPays(g, WinogradOf(args));
  if (MultipliesInTiles(type) && WinogradOf(args) == Winograd::kAuto) return false;
  return WinogradPaysInBFloat16(g, WinogradOf(args));
}

std::string ConvolutionWinogradDeclines(const KernelArgs& args) {
  const auto& g = args.Form<ConvGeometry>();
  if (args.dtype != DType::kFloat32 || args.math != MathMode::kFloat32)
    return "it multiplies in single precision";
  if (args.tops[0] == DType::kFloat16) return "it reads no images in half precision";
  if (std::string why = WhyShortVectors(kFloatLanes); !why.empty()) return why;
  if (g.transposed || g.axis != 1 || args.top_shapes.size() != 1 || !PaysHere(g, args))
    return "Winograd's filtering does not pay";
  const int64_t in = g.in_channels / g.group, out = g.out_channels / g.group;
  if (std::min(in, out) < kChannels ||
      (g.group > 1 && (in % kChannels != 0 || out % kChannels != 0)))
    return "its channels do not fill vectors";
  if (!args.param_placed.empty() && args.param_placed[0] &&
      args.param_layouts[0] != WinogradWeightLayout(args.param_shapes[0]))
    return "its weights are shared in another layout";
  if (ChannelBlocked(args.bottoms[0].shape, kChannels).is_zero())
    return "oneDNN has no such layout";
  return "";
}

// T is the type of the images.
template <class T, int kTaps>
class WinogradConvolution : public Kernel {
 public:
  explicit WinogradConvolution(const KernelArgs& args)
      : g_(args.Form<ConvGeometry>()),
        tail_(args.chain),
        gradients_(NeedsParamGradients(args)),
        grid_(g_.batch, g_.output[0], g_.output[1], g_.pad[0], g_.pad[1]),
        filter_(
            g_.group, PaddedChannels(g_.in_channels), PaddedChannels(g_.out_channels), grid_,
            // The windows of the gradient slide over the top, padded such that the first one
            // ends with the top's first element.
            Grid(g_.batch, g_.input[0], g_.input[1], kTaps - 1 - g_.pad[0], kTaps - 1 - g_.pad[1])),
        weight_gradient_(g_.group, PaddedChannels(g_.in_channels), PaddedChannels(g_.out_channels),
                         grid_) {
    needs_.bottoms.assign(1, WinogradLayout(args.bottoms[0].shape));
    needs_.tops.assign(1, WinogradLayout(args.top_shapes[0]));
    if (tail_.sum) needs_.bottoms.push_back(needs_.tops[0]);
    needs_.types.assign(needs_.bottoms.size(), args.tops[0]);
    needs_.params.push_back(WinogradWeightLayout(args.param_shapes[0]));
    if (g_.bias) needs_.params.emplace_back();
    needs_.scratch_bytes = PlaceScratch(nullptr);
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    PlaceScratch(t_.scratch);
  }

  void Forward(const Pass&) override {
    std::fill(bias_, bias_ + VectorsOf(g_.out_channels) * kChannels, 0.0f);
    if (g_.bias) {
      const float* bias = ParamValues<float>(1);
      std::copy(bias, bias + g_.out_channels, bias_);
    }
    const T *y = TopValues<T>(0), *other = tail_.sum ? BottomValues<T>(1) : nullptr;
    const float slope = tail_.relu ? tail_.relu->slope : 1;
    filter_.Forward(ParamValues<float>(0), BottomPlanes(t_.bottoms[0]), TopPlanes(t_.tops[0]),
                    [=](Channels result, const T* element, int64_t channel) {
                      result += LoadLanes<kChannels>(bias_ + channel);
                      if (other != nullptr) result += LoadWide<kChannels>(other + (element - y));
                      if (slope == 1) return result;
                      return slope == 0 ? (result < 0 ? Channels{} : result)
                                        : (result < 0 ? slope * result : result);
                    });
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    if (t_.top_grads[0]) {
      tail_.MaskGradient<T>(t_);
      tail_.PassGradient<T>(t_);
      if (gradients_) BackwardParams(add);
      if (t_.bottom_grads[0]) {
        filter_.BackwardBottom(ParamValues<float>(0), TopPlanes(t_.top_grads[0]),
                               BottomPlanes(t_.bottom_grads[0]));
      }
      return;
    }
    if (t_.bottom_grads[0]) std::memset(t_.bottom_grads[0].raw, 0, t_.bottom_grads[0].bytes());
    for (size_t p = 0; p < t_.param_grads.size(); ++p) {
      const Tensor& gradient = t_.param_grads[p];
      if (gradient && !add[p]) std::memset(gradient.raw, 0, gradient.bytes());
    }
  }

 private:
  using Grid = winograd::TileGrid<kTaps>;

  // Returns the channels of a group in whole vectors, of `channels` channels of all groups.
  int64_t PaddedChannels(int64_t channels) const {
    return VectorsOf(channels / g_.group) * kChannels;
  }
  Planes<T> BottomPlanes(const Tensor& x) const {
    return {x.data<T>(), VectorsOf(g_.in_channels), g_.input[0], g_.input[1]};
  }
  Planes<T> TopPlanes(const Tensor& y) const {
    return {y.data<T>(), VectorsOf(g_.out_channels), g_.output[0], g_.output[1]};
  }

  // Assigns the arrays in `scratch`. Returns the bytes that they need.
  int64_t PlaceScratch(void* scratch) {
    Room room(scratch);
    bias_ = room.Take<float>(VectorsOf(g_.out_channels) * kChannels);
    // The passes share the rest, because none reads what another one has left there.
    Room gradient_room = room;
    filter_.Place(&room);
    if (gradients_) weight_gradient_.Place(&gradient_room);
    return std::max(room.bytes(), gradient_room.bytes());
  }

  void BackwardParams(const std::vector<bool>& add) const {
    const bool bias = g_.bias && t_.param_grads[1];
    float* weights = t_.param_grads[0] ? ParamGradient<float>(0) : nullptr;
    if (weights == nullptr && !bias) return;
    weight_gradient_.Compute(BottomPlanes(t_.bottoms[0]), TopPlanes(t_.top_grads[0]), weights,
                             add[0], bias ? bias_ : nullptr);
    if (!bias) return;
    // The parameter has no room for whole vectors.
    float* to = ParamGradient<float>(1);
    for (int64_t o = 0; o < g_.out_channels; ++o) to[o] = add[1] ? to[o] + bias_[o] : bias_[o];
  }

  const ConvGeometry g_;
  const ChainTail tail_;
  const bool gradients_;
  const Grid grid_;  // tiles of the top
  winograd::Filter<kTaps> filter_;
  winograd::WeightGradient<kTaps> weight_gradient_;
  float* bias_ = nullptr;  // the bias, or its gradient, in whole vectors
};

template <class T>
std::unique_ptr<Kernel> MakeWinogradFor(const KernelArgs& args) {
  if (args.Form<ConvGeometry>().kernel[0] == 3)
    return std::make_unique<WinogradConvolution<T, 3>>(args);
  return std::make_unique<WinogradConvolution<T, 5>>(args);
}

std::unique_ptr<Kernel> MakeWinogradConvolution(const KernelArgs& args) {
  if (args.tops[0] == DType::kBFloat16) return MakeWinogradFor<BFloat16>(args);
  return MakeWinogradFor<float>(args);
}

[[maybe_unused]] const bool convolution_winograd_registered =
    AddWithTails(KernelType("Convolution", &MakeWinogradConvolution)
                     .Engine("winograd")
                     .Rank(20)
                     .Narrow()
                     .Declines(&ConvolutionWinogradDeclines));

}  // namespace
}  // namespace doppio
