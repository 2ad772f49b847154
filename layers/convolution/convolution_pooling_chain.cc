// A convolution together with the MAX pooling that follows it, and with ReLU before or after the
// pooling, for convolutions of few channels. Threads share the batch in blocks of kImages images
// (image_lanes.h). A thread computes all layers of the chain for one block, so that everything
// between the bottom and the pooled top stays in its cache: the plan needs no memory for it.
//
// Forward saves the position of the largest element of each window. It computes ReLU after the
// pooling, which gives the same numbers, and saves kNoElement where ReLU's gradient is 0.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/net/plan/fusion.h"
#include "layers/common/chain.h"
#include "layers/common/room.h"
#include "layers/convolution/conv_geometry.h"
#include "layers/convolution/image_lanes.h"
#include "layers/convolution/winograd_rule.h"
#include "layers/pooling/pooling_form.h"

namespace doppio {
namespace {

using image_lanes::Images;
using image_lanes::kImages;

constexpr uint8_t kNoElement = 255;

struct ConvolutionPoolingForm {
  ConvGeometry conv;
  PoolingGeometry pool;
  bool relu = false;
};

std::optional<LayerShape> InferConvolutionPooling(const std::vector<ChainLink>& chain) {
  for (const ChainLink& link : chain) {
    if (link.bottoms != 1 || link.tops.size() != 1) return std::nullopt;
  }
  ConvolutionPoolingForm form;
  form.conv = chain.front().Form<ConvGeometry>();
  const ConvGeometry& g = form.conv;
  const bool fits = g.axis == 1 && g.spatial_rank() == 2 && g.group == 1 &&
                    g.kernel[0] == g.kernel[1] && (g.kernel[0] == 3 || g.kernel[0] == 5) &&
                    g.stride == std::vector<int64_t>{1, 1} &&
                    g.dilation == std::vector<int64_t>{1, 1};
  if (!fits) return std::nullopt;
  const PoolingForm& pooling = FindLink(&chain, "Pooling")->Form<PoolingForm>();
  form.pool = pooling.g;
  if (pooling.stochastic || !form.pool.max) return std::nullopt;
  if (form.pool.h.kernel * form.pool.w.kernel > kNoElement) return std::nullopt;
  if (const ChainLink* relu = FindLink(&chain, "ReLU")) {
    if (relu->Form<Relu>().slope != 0) return std::nullopt;
    form.relu = true;
  }
  LayerShape shape;
  shape.form = form;
  shape.tops = chain.back().tops;
  shape.backward_reads_tops = false;
  return shape;
}

// Sizes of the arrays in a kernel's scratch memory.
struct PlaneExtents {
  explicit PlaneExtents(const ConvolutionPoolingForm& form)
      : kernel(static_cast<int>(form.conv.kernel[0])),
        in_channels(form.conv.in_channels),
        out_channels(form.conv.out_channels),
        padded_inputs(RoundUp(in_channels, image_lanes::kInputs)),
        padded_outputs(RoundUp(out_channels, image_lanes::kOutputs)),
        height(form.conv.output[0]),
        width(form.conv.output[1]),
        x_height(height + kernel - 1),
        x_width(width + kernel - 1),
        pooled(form.pool.h.output * form.pool.w.output) {
    const int64_t tile = image_lanes::CorrelateOutputs(kernel);
    constexpr int64_t kChunkBytes = int64_t{1} << 19;
    const int64_t fitting = kChunkBytes / (plane() * kBytesOf<Images>) / tile * tile;
    chunk = std::min(std::max(fitting, tile), RoundUp(out_channels, tile));
  }

  static int64_t RoundUp(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }
  int64_t plane() const { return height * width; }
  int64_t x_plane() const { return x_height * x_width; }
  int64_t weights() const { return out_channels * in_channels * kernel * kernel; }

  int kernel;
  int64_t in_channels, out_channels;
  int64_t padded_inputs, padded_outputs;  // whole tiles
  int64_t height, width;                  // of the convolution's top
  int64_t x_height, x_width;              // of the bottom and its padding
  int64_t pooled;                         // windows per plane
  int64_t chunk;  // top planes whose gradients backward keeps in the cache together
};

// The scratch memory of one thread.
struct ThreadRoom {
  ThreadRoom(const PlaneExtents& e, bool backward, Room* room)
      : x(room->Take<Images>(e.in_channels * e.x_plane())),
        y(room->Take<Images>(std::max<int64_t>(image_lanes::kOutputs, backward ? e.chunk : 0) *
                             e.plane())),
        pooled(room->Take<Images>(image_lanes::kOutputs * e.pooled)) {
    if (!backward) return;
    dx = room->Take<Images>(e.padded_inputs * e.x_plane());
    weights = room->Take<float>(e.weights());
    bias = room->Take<float>(e.out_channels);
  }
  Images *x, *y, *pooled;
  Images* dx = nullptr;
  float *weights = nullptr, *bias = nullptr;  // this thread's part of the gradients
};

// Returns the scratch memory that one thread needs, in bytes.
int64_t ThreadBytes(const PlaneExtents& extents, bool backward) {
  Room room(nullptr);
  ThreadRoom(extents, backward, &room);
  return room.bytes();
}

std::string ConvolutionPoolingDeclines(const KernelArgs& args) {
  const auto& form = args.Form<ConvolutionPoolingForm>();
  if (args.dtype != DType::kFloat32) return "it computes in single precision";
  if (WinogradPays(form.conv, args.winograd) && form.conv.in_channels % 16 == 0 &&
      form.conv.out_channels % 16 == 0) {
    return "Winograd's filtering multiplies less";
  }
  if ((form.conv.batch + kImages - 1) / kImages < NumThreads()) {
    return "the batch is too small for all threads";
  }
  constexpr int64_t kCacheBytes = int64_t{2} << 20;
  if (ThreadBytes(PlaneExtents(form), args.backward) > kCacheBytes)
    return "its planes exceed a cache";
  return "";
}

// T is the type in which bottoms and tops are stored.
template <class T>
class ConvolutionPooling : public Kernel {
 public:
  explicit ConvolutionPooling(const KernelArgs& args)
      : form_(args.Form<ConvolutionPoolingForm>()),
        g_(form_.conv),
        pool_(form_.pool),
        e_(form_),
        blocks_((g_.batch + kImages - 1) / kImages),
        backward_(args.backward) {
    needs_.types.assign(1, args.tops[0]);
    if (backward_) needs_.saved_bytes = blocks_ * e_.out_channels * e_.pooled * kImages;
    needs_.scratch_bytes = PlaceScratch(nullptr);
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    threads_.clear();
    PlaceScratch(t_.scratch);
  }

  void Forward(const Pass&) override {
    const float* bias = g_.bias ? t_.params[1].data<float>() : nullptr;
    for (int64_t o = 0; o < e_.padded_outputs; ++o) {
      bias_[o] = bias != nullptr && o < e_.out_channels ? bias[o] : 0;
    }
    PackForForward();
    ParallelFor(blocks_, 1, [this](int64_t begin, int64_t end) {
      const ThreadRoom& room = threads_[omp_get_thread_num()];
      for (int64_t block = begin; block < end; ++block) {
        GatherBottom(block, room);
        for (int64_t o = 0; o < e_.out_channels; o += image_lanes::kOutputs) {
          ConvolvePlanes(o, room);
          for (int i = 0; i < image_lanes::kOutputs && o + i < e_.out_channels; ++i) {
            Pool(block, o + i, room.y + i * e_.plane(), room.pooled);
          }
        }
      }
    });
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    const bool data(t_.bottom_grads[0]), weights(t_.param_grads[0]),
        bias = g_.bias && t_.param_grads[1];
    if (data) PackForBackward();
    for (const ThreadRoom& room : threads_) {
      std::fill(room.weights, room.weights + e_.weights(), 0.0f);
      std::fill(room.bias, room.bias + e_.out_channels, 0.0f);
    }
    ParallelFor(blocks_, 1, [&, this](int64_t begin, int64_t end) {
      const ThreadRoom& room = threads_[omp_get_thread_num()];
      for (int64_t block = begin; block < end; ++block) {
        if (weights) GatherBottom(block, room);
        if (data) std::fill(room.dx, room.dx + e_.padded_inputs * e_.x_plane(), Images{});
        for (int64_t first = 0; first < e_.out_channels; first += e_.chunk) {
          const int64_t last = std::min(first + e_.chunk, e_.out_channels);
          ReturnToLargest(block, first, last, room);
          if (bias) SumBias(first, last, room);
          if (weights) CorrelatePlanes(first, last, room);
          if (data) SpreadPlanes(first, last, room);
        }
        if (data) ScatterBottomGradient(block, room);
      }
    });
    if (weights) AddParts(&ThreadRoom::weights, e_.weights(), add[0], t_.param_grads[0]);
    if (bias) AddParts(&ThreadRoom::bias, e_.out_channels, add[1], t_.param_grads[1]);
  }

 private:
  // Assigns the arrays in `scratch`. Returns the bytes that they need.
  int64_t PlaceScratch(void* scratch) {
    Room room(scratch);
    const int64_t k = e_.kernel * e_.kernel;
    packed_ = room.Take<float>(
        std::max(e_.padded_outputs * e_.in_channels * k, e_.padded_inputs * e_.out_channels * k));
    bias_ = room.Take<float>(e_.padded_outputs);
    for (int i = 0; i < NumThreads(); ++i) threads_.emplace_back(e_, backward_, &room);
    return room.bytes();
  }

  // Orders the weights as [tile of top planes][bottom plane][row][column][plane in the tile].
  void PackForForward() const {
    const float* w = t_.params[0].data<float>();
    const int64_t inner = e_.in_channels * e_.kernel * e_.kernel;
    float* to = packed_;
    for (int64_t tile = 0; tile < e_.out_channels; tile += image_lanes::kOutputs) {
      for (int64_t i = 0; i < inner; ++i) {
        for (int64_t o = tile; o < tile + image_lanes::kOutputs; ++o) {
          *to++ = o < e_.out_channels ? w[o * inner + i] : 0;
        }
      }
    }
  }

  // Orders the weights as [tile of bottom planes][top plane][row][column][plane in the tile].
  void PackForBackward() const {
    const float* w = t_.params[0].data<float>();
    const int64_t k = e_.kernel * e_.kernel;
    float* to = packed_;
    for (int64_t tile = 0; tile < e_.in_channels; tile += image_lanes::kInputs) {
      for (int64_t o = 0; o < e_.out_channels; ++o) {
        for (int64_t i = 0; i < k; ++i) {
          for (int64_t c = tile; c < tile + image_lanes::kInputs; ++c) {
            *to++ = c < e_.in_channels ? w[(o * e_.in_channels + c) * k + i] : 0;
          }
        }
      }
    }
  }

  int ImagesOf(int64_t block) const {
    return static_cast<int>(std::min<int64_t>(kImages, g_.batch - block * kImages));
  }

  // Copies a block of the bottom to room.x, with padding around each plane.
  void GatherBottom(int64_t block, const ThreadRoom& room) const {
    const int64_t height = g_.input[0], width = g_.input[1], plane = height * width;
    const T* x = t_.bottoms[0].data<T>() + block * kImages * e_.in_channels * plane;
    const int64_t step = e_.in_channels * plane;
    const bool padded = g_.pad[0] > 0 || g_.pad[1] > 0;
    if (padded) std::fill(room.x, room.x + e_.in_channels * e_.x_plane(), Images{});
    for (int64_t c = 0; c < e_.in_channels; ++c, x += plane) {
      Images* to = room.x + c * e_.x_plane() + g_.pad[0] * e_.x_width + g_.pad[1];
      if (!padded) {
        image_lanes::Gather(x, step, ImagesOf(block), plane, to);
        continue;
      }
      for (int64_t h = 0; h < height; ++h) {
        image_lanes::Gather(x + h * width, step, ImagesOf(block), width, to + h * e_.x_width);
      }
    }
  }

  // Calls f(std::integral_constant<int, n>()) with n = `value`, which is from 1 to kMost.
  template <int kMost, class F>
  static void WithConstant(int64_t value, const F& f) {
    if constexpr (kMost > 1) {
      if (value < kMost) return WithConstant<kMost - 1>(value, f);
    }
    f(std::integral_constant<int, kMost>());
  }
  // Calls f(kernel) with the kernel's extent as a constant.
  template <class F>
  void WithKernel(const F& f) const {
    if (e_.kernel == 3) {
      f(std::integral_constant<int, 3>());
    } else {
      f(std::integral_constant<int, 5>());
    }
  }

  // Computes kOutputs planes of the convolution, from plane `first` on.
  void ConvolvePlanes(int64_t first, const ThreadRoom& room) const {
    constexpr int kMost = image_lanes::kColumns;
    const int64_t tiles = (e_.width + kMost - 1) / kMost;
    const float* weights = packed_ + first * e_.in_channels * e_.kernel * e_.kernel;
    WithKernel([&](auto kernel) {
      for (int64_t h = 0; h < e_.height; ++h) {
        for (int64_t tile = 0; tile < tiles; ++tile) {
          const int64_t begin = e_.width * tile / tiles, end = e_.width * (tile + 1) / tiles;
          WithConstant<kMost>(end - begin, [&](auto wide) {
            image_lanes::Convolve<kernel, wide>(
                room.x + h * e_.x_width + begin, {e_.x_plane(), e_.x_width}, e_.in_channels,
                weights, bias_ + first, room.y + h * e_.width + begin, e_.plane());
          });
        }
      }
    });
  }

  uint8_t* Places(int64_t block, int64_t o) const {
    uint8_t* const saved = static_cast<uint8_t*>(t_.saved);
    return saved == nullptr ? nullptr : saved + (block * e_.out_channels + o) * e_.pooled * kImages;
  }

  // Takes the largest elements of the windows of plane `o`, whose elements are `y`, and writes them
  // to the top.
  void Pool(int64_t block, int64_t o, const Images* y, Images* pooled) const {
    using Index = Lanes<int32_t, kImages>;
    uint8_t* places = Places(block, o);
    Images* to = pooled;
    for (int64_t i = 0; i < pool_.h.output; ++i) {
      const int64_t top = i * pool_.h.stride - pool_.h.pad, h0 = pool_.h.Begin(i);
      for (int64_t j = 0; j < pool_.w.output; ++j, ++to) {
        const int64_t left = j * pool_.w.stride - pool_.w.pad, w0 = pool_.w.Begin(j);
        Images best = y[h0 * e_.width + w0];
        Index where = Index{} + static_cast<int32_t>((h0 - top) * pool_.w.kernel + w0 - left);
        for (int64_t h = h0; h < pool_.h.End(i); ++h) {
          for (int64_t w = w0; w < pool_.w.End(j); ++w) {
            const Images here = y[h * e_.width + w];
            const auto larger = here > best;
            best = larger ? here : best;
            where = larger ? Index{} + static_cast<int32_t>((h - top) * pool_.w.kernel + w - left)
                           : where;
          }
        }
        if (form_.relu) {
          where = best > 0 ? where : Index{} + kNoElement;
          best = best < 0 ? Images{} : best;  // NaN passes
        }
        *to = best;
        if (places == nullptr) continue;
        StoreLanes(places, ConvertLanes<uint8_t, kImages>(where));
        places += kImages;
      }
    }
    image_lanes::Scatter(
        pooled, e_.out_channels * e_.pooled, ImagesOf(block), e_.pooled,
        t_.tops[0].data<T>() + (block * kImages * e_.out_channels + o) * e_.pooled);
  }

  // Writes the gradients of planes [first, last) of the convolution's top to room.y: that of each
  // window goes to its largest element.
  void ReturnToLargest(int64_t block, int64_t first, int64_t last, const ThreadRoom& room) const {
    using Index = Lanes<int32_t, kImages>;
    std::fill(room.y, room.y + e_.chunk * e_.plane(), Images{});
    if (!t_.top_grads[0]) return;
    const T* dy =
        t_.top_grads[0].data<T>() + (block * kImages * e_.out_channels + first) * e_.pooled;
    for (int64_t o = first; o < last; ++o, dy += e_.pooled) {
      image_lanes::Gather(dy, e_.out_channels * e_.pooled, ImagesOf(block), e_.pooled, room.pooled);
      const uint8_t* places = Places(block, o);
      const Images* gradient = room.pooled;
      Images* to = room.y + (o - first) * e_.plane();
      for (int64_t i = 0; i < pool_.h.output; ++i) {
        const int64_t top = i * pool_.h.stride - pool_.h.pad;
        for (int64_t j = 0; j < pool_.w.output; ++j, ++gradient, places += kImages) {
          const int64_t left = j * pool_.w.stride - pool_.w.pad;
          const Index chosen = ConvertLanes<int32_t, kImages>(LoadLanes<kImages>(places));
          for (int64_t h = pool_.h.Begin(i); h < pool_.h.End(i); ++h) {
            for (int64_t w = pool_.w.Begin(j); w < pool_.w.End(j); ++w) {
              const auto k = static_cast<int32_t>((h - top) * pool_.w.kernel + w - left);
              to[h * e_.width + w] += chosen == k ? *gradient : Images{};
            }
          }
        }
      }
    }
  }

  void SumBias(int64_t first, int64_t last, const ThreadRoom& room) const {
    for (int64_t o = first; o < last; ++o) {
      const Images* dy = room.y + (o - first) * e_.plane();
      Images sum{};
      for (int64_t i = 0; i < e_.plane(); ++i) sum += dy[i];
      for (int n = 0; n < kImages; ++n) room.bias[o] += sum[n];
    }
  }

  void CorrelatePlanes(int64_t first, int64_t last, const ThreadRoom& room) const {
    WithKernel([&](auto kernel) {
      constexpr int kTile = image_lanes::CorrelateOutputs(kernel);
      const int64_t step = e_.in_channels * kernel * kernel;
      for (int64_t o = first; o < last; o += kTile) {
        const int outputs = static_cast<int>(std::min<int64_t>(kTile, last - o));
        for (int64_t c = 0; c < e_.in_channels; ++c) {
          for (int64_t kh = 0; kh < kernel; ++kh) {
            image_lanes::Correlate<kernel>(
                room.x + c * e_.x_plane() + kh * e_.x_width, e_.x_width,
                room.y + (o - first) * e_.plane(), e_.plane(), e_.height, e_.width, outputs,
                room.weights + o * step + (c * kernel + kh) * kernel, step);
          }
        }
      }
    });
  }

  // Adds what planes [first, last) of the convolution's top give to the bottom's gradient.
  void SpreadPlanes(int64_t first, int64_t last, const ThreadRoom& room) const {
    WithKernel([&](auto kernel) {
      constexpr int kMost = image_lanes::kSpreadColumns;
      const int64_t tiles = (e_.width + kMost - 1) / kMost;
      for (int64_t c = 0; c < e_.in_channels; c += image_lanes::kInputs) {
        const float* weights =
            packed_ + (c * e_.out_channels + first * image_lanes::kInputs) * kernel * kernel;
        for (int64_t h = 0; h < e_.x_height; ++h) {
          // Row h - kh of the top must exist.
          const int low = static_cast<int>(std::max<int64_t>(0, h - e_.height + 1));
          const int high = static_cast<int>(std::min<int64_t>(kernel, h + 1));
          for (int64_t tile = 0; tile < tiles; ++tile) {
            const int64_t begin = e_.width * tile / tiles, end = e_.width * (tile + 1) / tiles;
            WithConstant<kMost>(end - begin, [&](auto wide) {
              image_lanes::Spread<kernel, wide>(
                  room.y + h * e_.width + begin, {e_.plane(), e_.width}, last - first, low, high,
                  weights, room.dx + c * e_.x_plane() + h * e_.x_width + begin, e_.x_plane());
            });
          }
        }
      }
    });
  }

  void ScatterBottomGradient(int64_t block, const ThreadRoom& room) const {
    const int64_t height = g_.input[0], width = g_.input[1], plane = height * width;
    T* dx = t_.bottom_grads[0].data<T>() + block * kImages * e_.in_channels * plane;
    for (int64_t c = 0; c < e_.in_channels; ++c, dx += plane) {
      const Images* from = room.dx + c * e_.x_plane() + g_.pad[0] * e_.x_width + g_.pad[1];
      for (int64_t h = 0; h < height; ++h) {
        image_lanes::Scatter(from + h * e_.x_width, e_.in_channels * plane, ImagesOf(block), width,
                             dx + h * width);
      }
    }
  }

  // Adds the threads' parts of a gradient.
  void AddParts(float* ThreadRoom::*part, int64_t count, bool add, const Tensor& gradient) const {
    float* to = gradient.data<float>();
    if (!add) std::fill(to, to + count, 0.0f);
    for (const ThreadRoom& room : threads_) {
      const float* from = room.*part;
      for (int64_t i = 0; i < count; ++i) to[i] += from[i];
    }
  }

  const ConvolutionPoolingForm form_;
  const ConvGeometry& g_;
  const PoolingGeometry& pool_;
  const PlaneExtents e_;
  const int64_t blocks_;
  const bool backward_;
  float *packed_ = nullptr, *bias_ = nullptr;
  std::vector<ThreadRoom> threads_;
};

std::unique_ptr<Kernel> MakeConvolutionPooling(const KernelArgs& args) {
  return DispatchStored(args.tops[0], [&](auto zero) -> std::unique_ptr<Kernel> {
    return std::make_unique<ConvolutionPooling<decltype(zero)>>(args);
  });
}

[[maybe_unused]] const bool convolution_pooling_registered = [] {
  for (const char* chain :
       {"Convolution+Pooling", "Convolution+ReLU+Pooling", "Convolution+Pooling+ReLU"}) {
    FusionTypes::Get().Add(chain, {&InferConvolutionPooling});
    KernelTypes::Get().Add(KernelType(chain, &MakeConvolutionPooling)
                               .Engine("fused")
                               .Declines(&ConvolutionPoolingDeclines)
                               .Narrow());
  }
  return true;
}();

}  // namespace
}  // namespace doppio
