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

#include "core/math/dnnl_isa.h"
#include "core/net/contract/fusion.h"
#include "layers/common/room.h"
#include "layers/convolution/conv_geometry.h"
#include "layers/convolution/plane_convolution.h"
#include "layers/convolution/winograd_rule.h"
#include "layers/elementwise/chain.h"
#include "layers/pooling/pooling_form.h"
#include "layers/pooling/window_lanes.h"

namespace doppio {
namespace {

using image_lanes::Images;
using image_lanes::kImages;
using Index = Lanes<int32_t, kImages>;

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
  if (!PlaneConvolution::Fits(form.conv)) return std::nullopt;
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

// Returns the number of top planes whose gradients backward keeps in the cache together: whole
// tiles.
int64_t ChunkOf(const PlaneConvolution& conv) {
  constexpr int64_t kBytes = int64_t{1} << 19;
  const int64_t fitting = kBytes / (conv.plane() * kBytesOf<Images>) / conv.tile * conv.tile;
  return std::min(std::max(fitting, conv.tile),
                  PlaneConvolution::RoundUp(conv.out_channels, conv.tile));
}

// The scratch memory of one thread.
struct ThreadRoom {
  ThreadRoom(const PlaneConvolution& conv, const PoolingGeometry& pool, bool backward, Room* room)
      : x(room->Take<Images>(conv.in_channels * conv.x_plane())),
        y(room->Take<Images>(
            conv.plane() * std::max<int64_t>(image_lanes::kOutputs, backward ? ChunkOf(conv) : 0))),
        pooled(room->Take<Images>(pool.h.output * pool.w.output)) {
    if (!backward) return;
    dx = room->Take<Images>(conv.padded_inputs() * conv.x_plane());
    weights = room->Take<float>(conv.weights());
    bias = room->Take<float>(conv.out_channels);
  }
  Images *x, *y, *pooled;
  Images* dx = nullptr;
  float *weights = nullptr, *bias = nullptr;  // this thread's part of the gradients
};

// Returns the scratch memory that one thread needs, in bytes.
int64_t ThreadBytes(const ConvolutionPoolingForm& form, bool backward) {
  Room room(nullptr);
  ThreadRoom(PlaneConvolution(form.conv), form.pool, backward, &room);
  return room.bytes();
}

std::string ConvolutionPoolingDeclines(const KernelArgs& args) {
  const auto& form = args.Form<ConvolutionPoolingForm>();
  if (args.dtype != DType::kFloat32) return "it computes in single precision";
  if (std::string why = WhyShortVectors(kImages); !why.empty()) return why;
  if (WinogradPays(form.conv, WinogradOf(args))) return "Winograd's filtering multiplies less";
  const int64_t blocks = (form.conv.batch + kImages - 1) / kImages;
  if (blocks < NumThreads()) return "the batch is too small for all threads";
  // Empty lanes cost as much as the lanes that oneDNN wastes on few channels.
  if (form.conv.batch * 10 < blocks * kImages * 7) return "too many lanes would be empty";
  constexpr int64_t kCacheBytes = int64_t{2} << 20;
  if (ThreadBytes(form, args.backward) > kCacheBytes) return "its planes exceed a cache";
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
        conv_(g_),
        chunk_(ChunkOf(conv_)),
        pooled_(pool_.h.output * pool_.w.output),
        blocks_((g_.batch + kImages - 1) / kImages),
        backward_(args.backward) {
    needs_.types.assign(1, args.tops[0]);
    if (backward_) needs_.saved_bytes = blocks_ * conv_.out_channels * pooled_ * kImages;
    needs_.scratch_bytes = PlaceScratch(nullptr);
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    threads_.clear();
    PlaceScratch(t_.scratch);
  }

  void Forward(const Pass&) override {
    const float* bias = g_.bias ? ParamValues<float>(1) : nullptr;
    for (int64_t o = 0; o < conv_.padded_outputs(); ++o) {
      bias_[o] = bias != nullptr && o < conv_.out_channels ? bias[o] : 0;
    }
    conv_.PackForConvolve(ParamValues<float>(0), packed_);
    constexpr int kTile = image_lanes::kOutputs;
    ForEachPart(PartsOf(kTile), kTile, true, [this](const Part& part, const ThreadRoom& room) {
      for (int64_t o = part.first; o < part.last; o += kTile) {
        conv_.Convolve(o, room.x, packed_, bias_, room.y);
        for (int64_t i = 0; i < std::min<int64_t>(kTile, part.last - o); ++i) {
          Pool(part.block, o + i, room.y + i * conv_.plane(), room.pooled);
        }
      }
    });
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    const bool data(t_.bottom_grads[0]), weights(t_.param_grads[0]),
        bias = g_.bias && t_.param_grads[1];
    if (data) conv_.PackForSpread(ParamValues<float>(0), packed_);
    for (const ThreadRoom& room : threads_) {
      if (weights) std::fill(room.weights, room.weights + conv_.weights(), 0.0f);
      if (bias) std::fill(room.bias, room.bias + conv_.out_channels, 0.0f);
    }
    // The gradient of the bottom sums over all planes of a block.
    const int64_t parts = data ? 1 : PartsOf(conv_.tile);
    ForEachPart(parts, conv_.tile, weights, [&, this](const Part& part, const ThreadRoom& room) {
      if (data) std::fill(room.dx, room.dx + conv_.padded_inputs() * conv_.x_plane(), Images{});
      for (int64_t first = part.first; first < part.last; first += chunk_) {
        const int64_t last = std::min(first + chunk_, part.last);
        ReturnToLargest(part.block, first, last, room);
        if (bias) SumBias(first, last, room);
        if (weights) conv_.Correlate(first, last, room.x, room.y, room.weights);
        if (data) conv_.Spread(first, last, room.y, packed_, room.dx);
      }
      if (data) ScatterBottomGradient(part.block, room);
    });
    if (weights) AddParts(&ThreadRoom::weights, conv_.weights(), add[0], t_.param_grads[0]);
    if (bias) AddParts(&ThreadRoom::bias, conv_.out_channels, add[1], t_.param_grads[1]);
  }

 private:
  // Planes [first, last) of the top of one block of images.
  struct Part {
    int64_t block, first, last;
  };

  // Returns into how many parts to divide the planes of each block, in tiles of `tile` planes, so
  // that all threads get the same work.
  int64_t PartsOf(int64_t tile) const {
    const int64_t tiles = (conv_.out_channels + tile - 1) / tile;
    return blocks_ % NumThreads() == 0 ? 1 : std::min<int64_t>(NumThreads(), tiles);
  }

  // Calls f(part, room) for all parts, in parallel. If `bottom` is true, room.x then contains the
  // bottom of the part's block.
  template <class F>
  void ForEachPart(int64_t parts, int64_t tile, bool bottom, const F& f) const {
    const int64_t tiles = (conv_.out_channels + tile - 1) / tile;
    ParallelFor(blocks_ * parts, 1, [&, this](int64_t begin, int64_t end) {
      const ThreadRoom& room = threads_[omp_get_thread_num()];
      int64_t gathered = -1;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t block = i / parts, part = i % parts;
        if (bottom && block != gathered) GatherBottom(block, room);
        gathered = block;
        f(Part{block, tiles * part / parts * tile,
               std::min(tiles * (part + 1) / parts * tile, conv_.out_channels)},
          room);
      }
    });
  }

  // Assigns the arrays in `scratch`. Returns the bytes that they need.
  int64_t PlaceScratch(void* scratch) {
    Room room(scratch);
    packed_ = room.Take<float>(conv_.packed());
    bias_ = room.Take<float>(conv_.padded_outputs());
    for (int i = 0; i < NumThreads(); ++i) threads_.emplace_back(conv_, pool_, backward_, &room);
    return room.bytes();
  }

  int ImagesOf(int64_t block) const {
    return static_cast<int>(std::min<int64_t>(kImages, g_.batch - block * kImages));
  }

  // Copies a block of the bottom to room.x, with padding around each plane.
  void GatherBottom(int64_t block, const ThreadRoom& room) const {
    const int64_t height = g_.input[0], width = g_.input[1], plane = height * width;
    const T* x = BottomValues<T>(0) + block * kImages * conv_.in_channels * plane;
    const int64_t step = conv_.in_channels * plane;
    const bool padded = g_.pad[0] > 0 || g_.pad[1] > 0;
    if (padded) std::fill(room.x, room.x + conv_.in_channels * conv_.x_plane(), Images{});
    for (int64_t c = 0; c < conv_.in_channels; ++c, x += plane) {
      Images* to = room.x + c * conv_.x_plane() + g_.pad[0] * conv_.x_width + g_.pad[1];
      if (!padded) {
        image_lanes::Gather(x, step, ImagesOf(block), plane, to);
        continue;
      }
      for (int64_t h = 0; h < height; ++h) {
        image_lanes::Gather(x + h * width, step, ImagesOf(block), width, to + h * conv_.x_width);
      }
    }
  }

  uint8_t* Places(int64_t block, int64_t o) const {
    uint8_t* const saved = static_cast<uint8_t*>(t_.saved);
    return saved == nullptr ? nullptr
                            : saved + (block * conv_.out_channels + o) * pooled_ * kImages;
  }

  // Takes the largest elements of the windows of plane `o`, whose elements are `y`, and writes them
  // to the top.
  void Pool(int64_t block, int64_t o, const Images* y, Images* pooled) const {
    uint8_t* places = Places(block, o);
    Images* to = pooled;
    for (int64_t i = 0; i < pool_.h.output; ++i) {
      for (int64_t j = 0; j < pool_.w.output; ++j, ++to) {
        auto [best, where] =
            LargestOf<kImages, float>(pool_, i, j, [y](int64_t element) { return y[element]; });
        if (form_.relu) {
          where = best > Images{} ? where : Index{} + int32_t{kNoElement};
          best = best < Images{} ? Images{} : best;  // NaN passes
        }
        *to = best;
        if (places == nullptr) continue;
        StoreLanes(places, ConvertLanes<uint8_t, kImages>(where));
        places += kImages;
      }
    }
    image_lanes::Scatter(pooled, conv_.out_channels * pooled_, ImagesOf(block), pooled_,
                         TopValues<T>(0) + (block * kImages * conv_.out_channels + o) * pooled_);
  }

  // Writes the gradients of planes [first, last) of the convolution's top to room.y: that of each
  // window goes to its largest element.
  void ReturnToLargest(int64_t block, int64_t first, int64_t last, const ThreadRoom& room) const {
    std::fill(room.y, room.y + chunk_ * conv_.plane(), Images{});
    if (!t_.top_grads[0]) return;
    const T* dy = TopGradient<T>(0) + (block * kImages * conv_.out_channels + first) * pooled_;
    for (int64_t o = first; o < last; ++o, dy += pooled_) {
      image_lanes::Gather(dy, conv_.out_channels * pooled_, ImagesOf(block), pooled_, room.pooled);
      const uint8_t* places = Places(block, o);
      const Images* gradient = room.pooled;
      Images* to = room.y + (o - first) * conv_.plane();
      for (int64_t i = 0; i < pool_.h.output; ++i) {
        for (int64_t j = 0; j < pool_.w.output; ++j, ++gradient, places += kImages) {
          const Index chosen = ConvertLanes<int32_t, kImages>(LoadLanes<kImages>(places));
          ForEachPlace(pool_, i, j, [&](int32_t k, int64_t element) {
            to[element] += chosen == k ? *gradient : Images{};
          });
        }
      }
    }
  }

  void SumBias(int64_t first, int64_t last, const ThreadRoom& room) const {
    for (int64_t o = first; o < last; ++o) {
      const Images* dy = room.y + (o - first) * conv_.plane();
      Images sum{};
      for (int64_t i = 0; i < conv_.plane(); ++i) sum += dy[i];
      for (int n = 0; n < kImages; ++n) room.bias[o] += sum[n];
    }
  }

  void ScatterBottomGradient(int64_t block, const ThreadRoom& room) const {
    const int64_t height = g_.input[0], width = g_.input[1], plane = height * width;
    T* dx = BottomGradient<T>(0) + block * kImages * conv_.in_channels * plane;
    for (int64_t c = 0; c < conv_.in_channels; ++c, dx += plane) {
      const Images* from = room.dx + c * conv_.x_plane() + g_.pad[0] * conv_.x_width + g_.pad[1];
      for (int64_t h = 0; h < height; ++h) {
        image_lanes::Scatter(from + h * conv_.x_width, conv_.in_channels * plane, ImagesOf(block),
                             width, dx + h * width);
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
  const PlaneConvolution conv_;
  const int64_t chunk_, pooled_;  // pooled_: windows per plane
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
