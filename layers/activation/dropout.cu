// Dropout, SpatialDropout and SeLuDropout on a GPU, plain or channels last, for every stored type.
// Backward draws the numbers of its forward again, which is cheaper than saving which elements were
// dropped.
#include "core/device/elementwise.cuh"
#include "layers/activation/dropout_form.h"
#include "layers/common/divider.h"
#include "layers/common/stored_form_cuda.h"

namespace doppio {
namespace {

// The random numbers, and the shape and layout of the tensor that they apply to.
struct DropoutDraw {
  Random random;
  float ratio;
  DropoutMap<float> map;
  int64_t samples, channels, positions;
  // True if a sample is stored as positions x channels, false if as channels x positions.
  bool channels_last;
  uint64_t first_sample;  // the global index of sample 0
  int64_t per_sample() const { return channels * positions; }
  int64_t count() const { return samples * per_sample(); }
};

template <class T>
__host__ __device__ T Kept(uint32_t word, const DropoutDraw& draw, T value) {
  return static_cast<T>(draw.map(IsKept(word, draw.ratio), static_cast<float>(value)));
}

// Returns the word of `element`. Does not index `words`, because an index would move the words from
// registers to local memory.
__host__ __device__ uint32_t Word(const Random4& words, int64_t element) {
  const int k = static_cast<int>(element % kDrawnTogether);
  return k < 2 ? (k == 0 ? words.v[0] : words.v[1]) : (k == 2 ? words.v[2] : words.v[3]);
}

// Each thread processes a pack of neighbouring elements of one sample.
template <class T>
struct DropPlain {
  DropoutDraw draw;
  IndexDivider by_sample;
  int64_t per_sample;
  const T* from;
  T* to;

  // Processes kWidth elements from index `i` on. Packs begin at multiples of their size within a
  // sample and do not cross into the next sample.
  template <int kWidth>
  __host__ __device__ void Run(int64_t i) const {
    const int64_t sample = by_sample(i), element = i - sample * per_sample;
    const uint64_t row = draw.first_sample + static_cast<uint64_t>(sample);
    const uint64_t call = static_cast<uint64_t>(element / kDrawnTogether);
    Pack<T, kWidth> pack = LoadPack<kWidth>(from + i);
    if constexpr (kWidth == 1) {
      pack.v[0] = Kept(Word(draw.random.At(row, call), element), draw, pack.v[0]);
    } else {
      static_assert(kWidth % kDrawnTogether == 0, "a pack is whole calls");
      for (int lane = 0; lane < kWidth; lane += kDrawnTogether) {
        const Random4 words = draw.random.At(row, call + lane / kDrawnTogether);
        for (int k = 0; k < kDrawnTogether; ++k)
          pack.v[lane + k] = Kept(words.v[k], draw, pack.v[lane + k]);
      }
    }
    StorePack(pack, to + i);
  }
};

// With channels last, the elements that share a Philox call are neighbouring positions of one
// channel. So each thread processes kDrawnTogether positions of a pack of neighbouring channels.
template <class T>
struct DropLast {
  DropoutDraw draw;
  int64_t runs;  // in a sample, each of kDrawnTogether positions
  IndexDivider by_channels, by_runs;
  const T* from;
  T* to;

  // Processes kWidth channels from item `index` on, counted in samples x runs x channels.
  template <int kWidth>
  __host__ __device__ void Run(int64_t index) const {
    const int64_t run = by_channels(index), c = index - run * draw.channels, sample = by_runs(run);
    const int64_t begin = (run - sample * runs) * kDrawnTogether;
    const int64_t left = draw.positions - begin;
    const int count = left < kDrawnTogether ? static_cast<int>(left) : kDrawnTogether;
    const int64_t first = (sample * draw.positions + begin) * draw.channels + c;
    Pack<T, kWidth> packs[kDrawnTogether];
    for (int k = 0; k < kDrawnTogether; ++k) {
      if (k < count) packs[k] = LoadPack<kWidth>(from + first + k * draw.channels);
    }
    const uint64_t row = draw.first_sample + static_cast<uint64_t>(sample);
    for (int lane = 0; lane < kWidth; ++lane) {
      const int64_t element = (c + lane) * draw.positions + begin;
      Random4 words = draw.random.At(row, static_cast<uint64_t>(element / kDrawnTogether));
      for (int k = 0; k < kDrawnTogether; ++k) {
        const int64_t mine = element + k;
        if (k > 0 && mine % kDrawnTogether == 0) {  // the next Philox call
          words = draw.random.At(row, static_cast<uint64_t>(mine / kDrawnTogether));
        }
        if (k < count) packs[k].v[lane] = Kept(Word(words, mine), draw, packs[k].v[lane]);
      }
    }
    for (int k = 0; k < kDrawnTogether; ++k) {
      if (k < count) StorePack(packs[k], to + first + k * draw.channels);
    }
  }
};

// Each thread processes a pack of neighbours: positions of one channel, or channels of one position
// if channels are last.
template <class T>
struct DropChannels {
  DropoutDraw draw;
  IndexDivider by_channels, by_positions;
  const T* from;
  T* to;

  // Processes kWidth elements from index `i` on. Packs do not cross into the next channel, or into
  // the next position if channels are last.
  template <int kWidth>
  __host__ __device__ void Run(int64_t i) const {
    const int64_t row = draw.channels_last ? by_channels(i) : by_positions(i);
    const int64_t sample = draw.channels_last ? by_positions(row) : by_channels(row);
    const int64_t first =
        draw.channels_last ? i - row * draw.channels : row - sample * draw.channels;
    const uint64_t drawn_for = draw.first_sample + static_cast<uint64_t>(sample);
    Pack<T, kWidth> pack = LoadPack<kWidth>(from + i);
    Random4 words = draw.random.At(drawn_for, static_cast<uint64_t>(first / kDrawnTogether));
    for (int lane = 0; lane < kWidth; ++lane) {
      const int64_t channel = draw.channels_last ? first + lane : first;
      if (lane > 0 && draw.channels_last && channel % kDrawnTogether == 0)
        words = draw.random.At(drawn_for, static_cast<uint64_t>(channel / kDrawnTogether));
      pack.v[lane] = Kept(Word(words, channel), draw, pack.v[lane]);
    }
    StorePack(pack, to + i);
  }
};

// Draws one number per channel of each sample.
template <class T>
static void DropWholeChannels(const Gpu& gpu, const DropoutDraw& draw, const T* from, T* to) {
  constexpr int kWidth = kPackWidth<T>;
  const int64_t count = draw.count();
  const int64_t run = draw.channels_last ? draw.channels : draw.positions;
  ForEachPack<kWidth>(
      gpu, count, run % kWidth == 0 && PacksAligned(from, to), kSpatialDropout,
      DropChannels<T>{draw, {draw.channels, count}, {draw.positions, count}, from, to});
}

// Draws one number per element.
template <class T>
static void DropElements(const Gpu& gpu, const DropoutDraw& draw, const T* from, T* to) {
  constexpr int kWidth = kPackWidth<T>;
  // With one channel or one position, plain and channels last have the same order.
  if (!draw.channels_last || draw.positions == 1 || draw.channels == 1) {
    const int64_t count = draw.count(), per_sample = draw.per_sample();
    ForEachPack<kWidth>(gpu, count, per_sample % kWidth == 0 && PacksAligned(from, to), "Dropout",
                        DropPlain<T>{draw, {per_sample, count}, per_sample, from, to});
    return;
  }
  const int64_t runs = (draw.positions + kDrawnTogether - 1) / kDrawnTogether;
  const int64_t items = draw.samples * runs * draw.channels;
  ForEachPack<kWidth>(
      gpu, items, draw.channels % kWidth == 0 && PacksAligned(from, to), "Dropout",
      DropLast<T>{draw, runs, {draw.channels, items}, {runs, draw.samples * runs}, from, to});
}

class CudaDropout : public FormKernel<DropoutForm> {
 public:
  explicit CudaDropout(const KernelArgs& args)
      : FormKernel(args),
        // With one channel, both layouts have the same order.
        channels_last_(args.bottoms[0].layout.channels_last() && form_.channels > 1) {
    AskForOneForm(args, &needs_);
  }

  void Forward(const Pass& pass) override {
    Run(pass, form_.values<float>(), t_.bottoms[0], t_.tops[0]);
  }
  void Backward(const Pass& pass, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    Run(pass, form_.gradients<float>(), t_.top_grads[0], t_.bottom_grads[0]);
  }

 private:
  // Draws the same numbers in every call of a step, so that values and their gradients are dropped
  // together. `to` may be `from`.
  void Run(const Pass& pass, const DropoutMap<float>& map, const Tensor& from,
           const Tensor& to) const {
    const DropoutDraw draw{form_.random,
                           form_.ratio,
                           map,
                           form_.samples,
                           form_.channels,
                           form_.positions,
                           channels_last_,
                           pass.FirstSample(form_.samples)};
    DispatchStored(to.dtype, [&](auto zero) {
      using T = decltype(zero);
      const T* x = from.data<T>();
      if (form_.whole_channels) {
        DropWholeChannels(GpuOf(device_), draw, x, to.data<T>());
      } else {
        DropElements(GpuOf(device_), draw, x, to.data<T>());
      }
    });
  }

  const bool channels_last_;
};

DOPPIO_REGISTER_KERNEL(CudaKernel<CudaDropout>("Dropout").Narrow());
DOPPIO_REGISTER_KERNEL(CudaKernel<CudaDropout>(kSpatialDropout).Narrow());
DOPPIO_REGISTER_KERNEL(CudaKernel<CudaDropout>(kSeluDropout).Narrow());

}  // namespace
}  // namespace doppio
