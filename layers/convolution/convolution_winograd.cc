// Convolution by Winograd's minimal filtering, for kernels of 3x3 and 5x5. Images are in blocks of
// kChannels channels; the weights stay in plain layout, and each pass transforms them.
//
// Threads share the tiles of the batch. A thread transforms some tiles at a time, so that what lies
// between its transforms stays in its cache. The gradient of the bottom is the same computation,
// from the gradient of the top and with turned weights. For the gradient of the weights, each
// thread sums the products of its tiles, and the last transform follows the sum over the threads.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/base/threads.h"
#include "core/math/dnnl_isa.h"
#include "layers/common/chain.h"
#include "layers/common/dnnl_support.h"
#include "layers/common/room.h"
#include "layers/convolution/conv_geometry.h"
#include "layers/convolution/winograd_grid.h"
#include "layers/convolution/winograd_products.h"
#include "layers/convolution/winograd_rule.h"

namespace doppio {
namespace {

using winograd::Channels;
using winograd::kChannels;
using winograd::kPoints;
using winograd::Planes;
using winograd::TileGrid;
using winograd::VectorsOf;

// Returns the layout of a bottom or top.
Layout WinogradLayout(const Shape& shape) { return LayoutOf(ChannelBlocked(shape, kChannels)); }

// Sizes of the work of one convolution, in floats. The steps between the points avoid powers of
// two, which would place all points of a tile in the same lines of a cache.
struct WinogradSizes {
  explicit WinogradSizes(const ConvGeometry& g)
      : in(VectorsOf(g.in_channels / g.group) * kChannels),
        out(VectorsOf(g.out_channels / g.group) * kChannels) {
    constexpr int64_t kCacheBytes = int64_t{1} << 20, kMaxBlocks = 8;
    const int64_t block_bytes = kPoints * (in + out) * winograd::kRows * kBytesOf<float>;
    tiles = winograd::kRows * std::clamp<int64_t>(kCacheBytes / block_bytes, 1, kMaxBlocks);
  }
  // The distance between the points of one group's weights, and of a thread's transformed tiles.
  int64_t weights_step() const { return in * out + kChannels; }
  int64_t in_step() const { return tiles * in + kChannels; }
  int64_t out_step() const { return tiles * out + kChannels; }
  // The weights of one group.
  int64_t weights() const { return kPoints * weights_step(); }

  int64_t in, out;  // channels of one group, in whole vectors
  int64_t tiles;    // that a thread transforms together
};

// The scratch memory of one thread.
struct WinogradRoom {
  WinogradRoom(const WinogradSizes& sizes, int64_t groups, bool sums, Room* room)
      : in(room->Take<float>(kPoints * sizes.in_step())),
        out(room->Take<float>(kPoints * sizes.out_step())) {
    if (!sums) return;
    weights = room->Take<float>(groups * sizes.weights());
    bias = room->Take<float>(groups * sizes.out);
  }
  float *in, *out;                            // transformed tiles of either side
  float *weights = nullptr, *bias = nullptr;  // sums over this thread's tiles
};

bool NeedsParamGradients(const KernelArgs& args) {
  const std::vector<bool>& wanted = args.param_gradient;
  return args.backward &&
         (wanted.empty() || std::find(wanted.begin(), wanted.end(), true) != wanted.end());
}

// Returns the number of threads whose sums of `weights` products fit into 128 MiB, at least 1.
int SummingThreads(int64_t weights) {
  constexpr int64_t kMaxSums = int64_t{1} << 25;
  return static_cast<int>(std::clamp<int64_t>(kMaxSums / weights, 1, NumThreads()));
}

std::string ConvolutionWinogradDeclines(const KernelArgs& args) {
  const auto& g = args.Form<ConvGeometry>();
  if (args.dtype != DType::kFloat32 || args.math != MathMode::kFloat32)
    return "it multiplies in single precision";
  if (std::string why = WhyShortVectors(kFloatLanes); !why.empty()) return why;
  if (g.transposed || g.axis != 1 || args.top_shapes.size() != 1 || !WinogradPays(g, args.winograd))
    return "Winograd's filtering does not pay";
  // With kernels of 3x3, small residual nets would round more than with direct convolution.
  if (g.kernel[0] == 3 && args.winograd == Winograd::kAuto) return "oneDNN computes kernels of 3x3";
  const int64_t in = g.in_channels / g.group, out = g.out_channels / g.group;
  if (std::min(in, out) < kChannels ||
      (g.group > 1 && (in % kChannels != 0 || out % kChannels != 0)))
    return "its channels do not fill vectors";
  // Each thread reads all weights again for every few tiles.
  const WinogradSizes sizes(g);
  if (sizes.in * sizes.out > 256 * 256) return "its transformed weights exceed a cache";
  if (!args.param_placed.empty() && args.param_placed[0] && args.param_layouts[0] != Layout())
    return "its weights are shared in another layout";
  if (ChannelBlocked(args.bottoms[0].shape, kChannels).is_zero())
    return "oneDNN has no such layout";
  return "";
}

template <int kTaps>
class WinogradConvolution : public Kernel {
 public:
  explicit WinogradConvolution(const KernelArgs& args)
      : g_(args.Form<ConvGeometry>()),
        sizes_(g_),
        tail_(args.chain),
        summing_threads_(NeedsParamGradients(args) ? SummingThreads(sizes_.weights() * g_.group)
                                                   : 0),
        grid_(g_.batch, g_.output[0], g_.output[1], g_.pad[0], g_.pad[1]),
        // The windows of the gradient slide over the top, padded such that the first one ends with
        // the top's first element.
        back_grid_(g_.batch, g_.input[0], g_.input[1], kTaps - 1 - g_.pad[0],
                   kTaps - 1 - g_.pad[1]) {
    needs_.bottoms.assign(1, WinogradLayout(args.bottoms[0].shape));
    needs_.tops.assign(1, WinogradLayout(args.top_shapes[0]));
    if (tail_.sum) needs_.bottoms.push_back(needs_.tops[0]);
    needs_.scratch_bytes = PlaceScratch(nullptr);
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    PlaceScratch(t_.scratch);
  }

  void Forward(const Pass&) override {
    std::fill(bias_, bias_ + sizes_.out * g_.group, 0.0f);
    if (g_.bias) {
      const float* bias = t_.params[1].data<float>();
      std::copy(bias, bias + g_.out_channels, bias_);
    }
    TransformWeights<false>();
    const float *y = t_.tops[0].data<float>(),
                *other = tail_.sum ? t_.bottoms[1].data<float>() : nullptr;
    const float slope = tail_.relu ? tail_.relu->slope : 1;
    const auto finish = [=](Channels result, const float* element, int64_t channel) {
      result += LoadLanes<kChannels>(bias_ + channel);
      if (other != nullptr) result += LoadLanes<kChannels>(other + (element - y));
      if (slope == 1) return result;
      return slope == 0 ? (result < 0 ? Channels{} : result)
                        : (result < 0 ? slope * result : result);
    };
    Convolve(grid_, BottomPlanes(t_.bottoms[0]), sizes_.in, sizes_.in_step(), &WinogradRoom::in,
             TopPlanes(t_.tops[0]), sizes_.out, sizes_.out_step(), &WinogradRoom::out, finish);
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    if (t_.top_grads[0]) {
      tail_.MaskGradient<float>(t_);
      tail_.PassGradient<float>(t_);
      if (summing_threads_ > 0) BackwardParams(add);
      if (t_.bottom_grads[0]) BackwardBottom();
      return;
    }
    if (t_.bottom_grads[0]) std::memset(t_.bottom_grads[0].raw, 0, t_.bottom_grads[0].bytes());
    for (size_t p = 0; p < t_.param_grads.size(); ++p) {
      const Tensor& gradient = t_.param_grads[p];
      if (gradient && !add[p]) std::memset(gradient.raw, 0, gradient.bytes());
    }
  }

 private:
  Planes BottomPlanes(const Tensor& x) const {
    return {x.data<float>(), VectorsOf(g_.in_channels), g_.input[0], g_.input[1]};
  }
  Planes TopPlanes(const Tensor& y) const {
    return {y.data<float>(), VectorsOf(g_.out_channels), g_.output[0], g_.output[1]};
  }

  // Assigns the arrays in `scratch`. Returns the bytes that they need.
  int64_t PlaceScratch(void* scratch) {
    Room room(scratch);
    weights_ = room.Take<float>(sizes_.weights() * g_.group);
    bias_ = room.Take<float>(sizes_.out * g_.group);
    threads_.clear();
    for (int i = 0; i < NumThreads(); ++i) {
      threads_.emplace_back(sizes_, g_.group, i < summing_threads_, &room);
    }
    return room.bytes();
  }

  // Transforms the weights to [group][point][vector of outputs][input][lane]. If kTurned is true,
  // to those of the gradient: [group][point][vector of inputs][output][lane], with the rows and
  // columns of the kernel in reverse order.
  template <bool kTurned>
  void TransformWeights() const {
    constexpr int kCount = kTaps * kTaps;
    const float* weights = t_.params[0].data<float>();
    const int64_t in = g_.in_channels / g_.group, out = g_.out_channels / g_.group;
    const int64_t lanes = kTurned ? in : out, depth = kTurned ? out : in;
    const int64_t room = kTurned ? sizes_.out : sizes_.in;
    const int64_t lane_step = kTurned ? kCount : in * kCount;
    const int64_t depth_step = kTurned ? in * kCount : kCount;
    const int64_t vectors = VectorsOf(lanes);
    ParallelFor(g_.group * vectors * room, 64, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t group = i / (vectors * room), vector = i / room % vectors, k = i % room;
        const float* from =
            weights + group * in * out * kCount + k * depth_step + vector * kChannels * lane_step;
        const int64_t filled =
            k < depth ? std::min<int64_t>(kChannels, lanes - vector * kChannels) : 0;
        float elements[kCount][kChannels] = {};
        for (int64_t lane = 0; lane < filled; ++lane) {
          for (int e = 0; e < kCount; ++e) {
            elements[kTurned ? kCount - 1 - e : e][lane] = from[lane * lane_step + e];
          }
        }
        winograd::TransformFactorTile<kTaps>(
            [&elements](int h, int w) { return LoadLanes<kChannels>(elements[h * kTaps + w]); },
            weights_ + group * sizes_.weights() + (vector * room + k) * kChannels,
            sizes_.weights_step());
      }
    });
  }

  // Calls f(begin, end, room) for ranges of at most sizes_.tiles tiles, in parallel by the first
  // `threads` threads.
  template <class F>
  void ForEachRange(const TileGrid<kTaps>& grid, int64_t threads, const F& f) const {
    const int64_t ranges = (grid.count() + sizes_.tiles - 1) / sizes_.tiles;
    const int64_t shares = std::min(ranges, threads);
    ParallelFor(shares, 1, [&, this](int64_t begin, int64_t end) {
      const WinogradRoom& room = threads_[omp_get_thread_num()];
      for (int64_t i = ranges * begin / shares; i < ranges * end / shares; ++i) {
        f(i * sizes_.tiles, std::min((i + 1) * sizes_.tiles, grid.count()), room);
      }
    });
  }

  // Convolves x, with `depth` channels per group, by the transformed weights; y has `channels`
  // channels per group. The transformed tiles lie in the given arrays of each thread.
  template <class Finish>
  void Convolve(const TileGrid<kTaps>& grid, const Planes& x, int64_t depth, int64_t x_step,
                float* WinogradRoom::*x_room, const Planes& y, int64_t channels, int64_t y_step,
                float* WinogradRoom::*y_room, const Finish& finish) const {
    ForEachRange(
        grid, NumThreads(), [&, this](int64_t begin, int64_t end, const WinogradRoom& room) {
          for (int64_t group = 0; group < g_.group; ++group) {
            float *tiles = room.*x_room, *products = room.*y_room;
            grid.TransformBottoms(x, group * depth, depth, begin, end, tiles, x_step);
            const float* weights = weights_ + group * sizes_.weights();
            for (int point = 0; point < kPoints; ++point) {
              winograd::Multiply<winograd::kRows, false>(
                  {tiles + point * x_step, depth, 1}, end - begin, depth,
                  {weights + point * sizes_.weights_step(), depth * kChannels},
                  channels / kChannels, {products + point * y_step, sizes_.tiles * kChannels});
            }
            grid.TransformProducts(products, y_step, sizes_.tiles, begin, end, y, group * channels,
                                   channels, finish);
          }
        });
  }

  void BackwardBottom() {
    TransformWeights<true>();
    Convolve(back_grid_, TopPlanes(t_.top_grads[0]), sizes_.out, sizes_.out_step(),
             &WinogradRoom::out, BottomPlanes(t_.bottom_grads[0]), sizes_.in, sizes_.in_step(),
             &WinogradRoom::in,
             [](const Channels& result, const float*, int64_t) { return result; });
  }

  void BackwardParams(const std::vector<bool>& add) const {
    const bool weights(t_.param_grads[0]), bias = g_.bias && t_.param_grads[1];
    if (!weights && !bias) return;
    for (int i = 0; i < summing_threads_; ++i) {
      const WinogradRoom& room = threads_[i];
      std::fill(room.weights, room.weights + sizes_.weights() * g_.group, 0.0f);
      std::fill(room.bias, room.bias + sizes_.out * g_.group, 0.0f);
    }
    const Planes x = BottomPlanes(t_.bottoms[0]), dy = TopPlanes(t_.top_grads[0]);
    ForEachRange(
        grid_, summing_threads_, [&, this](int64_t begin, int64_t end, const WinogradRoom& room) {
          for (int64_t group = 0; group < g_.group; ++group) {
            grid_.TransformTopGradients(dy, group * sizes_.out, sizes_.out, begin, end,
                                        sizes_.tiles, room.out, sizes_.out_step());
            SumBias(group, end - begin, room);
            if (!weights) continue;
            grid_.TransformBottoms(x, group * sizes_.in, sizes_.in, begin, end, room.in,
                                   sizes_.in_step());
            for (int point = 0; point < kPoints; ++point) {
              winograd::Multiply<winograd::kSumRows, true>(
                  {room.in + point * sizes_.in_step(), 1, sizes_.in}, sizes_.in, end - begin,
                  {room.out + point * sizes_.out_step(), sizes_.tiles * kChannels},
                  sizes_.out / kChannels,
                  {room.weights + group * sizes_.weights() + point * sizes_.weights_step(),
                   sizes_.in * kChannels});
            }
          }
        });
    if (weights) WriteWeightGradient(add[0]);
    if (bias) WriteBiasGradient(add[1]);
  }

  // Adds the top's gradient to the bias of this thread. At the point (1, 1), the transform has
  // summed the elements of a tile and divided the sum by 36.
  void SumBias(int64_t group, int64_t tiles, const WinogradRoom& room) const {
    constexpr int kOnes = winograd::kTile + 1;
    for (int64_t c = 0; c < sizes_.out; c += kChannels) {
      const float* from = room.out + kOnes * sizes_.out_step() + c * sizes_.tiles;
      float* to = room.bias + group * sizes_.out + c;
      Channels sum{};
      for (int64_t i = 0; i < tiles; ++i) sum += LoadLanes<kChannels>(from + i * kChannels);
      StoreLanes(to, LoadLanes<kChannels>(to) + 36 * sum);
    }
  }

  // Sums the products of all threads, transforms them, and writes the gradient of the weights.
  void WriteWeightGradient(bool add) const {
    constexpr int kCount = kTaps * kTaps;
    const int64_t in = g_.in_channels / g_.group, out = g_.out_channels / g_.group;
    const int64_t vectors = VectorsOf(out), step = sizes_.weights_step();
    float* gradient = t_.param_grads[0].data<float>();
    ParallelFor(g_.group * vectors * in, 16, [&, this](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t group = i / (vectors * in), vector = i / in % vectors, k = i % in;
        const int64_t at = group * sizes_.weights() + (vector * sizes_.in + k) * kChannels;
        float products[kPoints * kChannels];
        for (int point = 0; point < kPoints; ++point) {
          Channels sum{};
          for (int thread = 0; thread < summing_threads_; ++thread) {
            sum += LoadLanes<kChannels>(threads_[thread].weights + at + point * step);
          }
          StoreLanes(products + point * kChannels, sum);
        }
        const int64_t lanes = std::min<int64_t>(kChannels, out - vector * kChannels);
        float* to = gradient + (group * out + vector * kChannels) * in * kCount + k * kCount;
        winograd::TransformProductTile<kTaps>(
            products, kChannels, [=](int h, int w, const Channels& result) {
              float* element = to + h * kTaps + w;
              for (int64_t lane = 0; lane < lanes; ++lane, element += in * kCount) {
                *element = add ? *element + result[lane] : result[lane];
              }
            });
      }
    });
  }

  void WriteBiasGradient(bool add) const {
    float* to = t_.param_grads[1].data<float>();
    for (int64_t o = 0; o < g_.out_channels; ++o) {
      float sum = add ? to[o] : 0;
      for (int thread = 0; thread < summing_threads_; ++thread) sum += threads_[thread].bias[o];
      to[o] = sum;
    }
  }

  const ConvGeometry g_;
  const WinogradSizes sizes_;
  const ChainTail tail_;
  const int summing_threads_;  // the first threads, which have sums of the gradients of parameters
  const TileGrid<kTaps> grid_, back_grid_;
  float *weights_ = nullptr, *bias_ = nullptr;
  std::vector<WinogradRoom> threads_;
};

std::unique_ptr<Kernel> MakeWinogradConvolution(const KernelArgs& args) {
  if (args.Form<ConvGeometry>().kernel[0] == 3)
    return std::make_unique<WinogradConvolution<3>>(args);
  return std::make_unique<WinogradConvolution<5>>(args);
}

[[maybe_unused]] const bool convolution_winograd_registered = [] {
  for (const char* tail : {"", "+ReLU", "+Eltwise", "+Eltwise+ReLU"}) {
    KernelTypes::Get().Add(KernelType(std::string("Convolution") + tail, &MakeWinogradConvolution)
                               .Engine("winograd")
                               .Rank(20)
                               .Declines(&ConvolutionWinogradDeclines));
  }
  return true;
}();

}  // namespace
}  // namespace doppio
