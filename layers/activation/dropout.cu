#include "core/device/elementwise.cuh"
#include "layers/common/channels_cuda.h"
#include "layers/activation/dropout_cuda.h"

namespace doppio {
namespace {

template <class T>
__host__ __device__ T Kept(uint32_t word, const DropoutForm& form, T value) {
  return static_cast<T>((IsKept(word, form.ratio) ? static_cast<float>(value) : 0.0f) * form.scale);
}

// Without an index into registers, which would put them into memory.
__host__ __device__ uint32_t Word(const Random4& words, int64_t element) {
  const int k = static_cast<int>(element % kDrawnTogether);
  return k < 2 ? (k == 0 ? words.v[0] : words.v[1]) : (k == 2 ? words.v[2] : words.v[3]);
}

// A thread for neighbours of one sample.
template <class T>
struct DropPlain {
  DropoutForm form;
  uint64_t first_sample;
  IndexDivider by_sample;
  int64_t per_sample;
  const T* from;
  T* to;

  // Packs begin at multiples of their size in a sample and do not reach into the next one.
  template <int kWidth>
  __host__ __device__ void Run(int64_t i) const {
    const int64_t sample = by_sample(i), element = i - sample * per_sample;
    const uint64_t row = first_sample + static_cast<uint64_t>(sample);
    const uint64_t call = static_cast<uint64_t>(element / kDrawnTogether);
    Pack<T, kWidth> pack = LoadPack<kWidth>(from + i);
    if constexpr (kWidth == 1) {
      pack.v[0] = Kept(Word(form.random.At(row, call), element), form, pack.v[0]);
    } else {
      static_assert(kWidth % kDrawnTogether == 0, "a pack is whole calls");
      for (int lane = 0; lane < kWidth; lane += kDrawnTogether) {
        const Random4 words = form.random.At(row, call + lane / kDrawnTogether);
        for (int k = 0; k < kDrawnTogether; ++k)
          pack.v[lane + k] = Kept(words.v[k], form, pack.v[lane + k]);
      }
    }
    StorePack(pack, to + i);
  }
};

// With channels last, the elements that share a call are neighbouring positions of one channel: a
// thread for so many positions of neighbouring channels.
template <class T>
struct DropLast {
  DropoutForm form;
  uint64_t first_sample;
  int64_t runs;  // in a sample, of kDrawnTogether positions
  IndexDivider by_channels, by_runs;
  const T* from;
  T* to;

  // Item `index` of samples x runs x channels.
  template <int kWidth>
  __host__ __device__ void Run(int64_t index) const {
    const int64_t run = by_channels(index), c = index - run * form.channels, sample = by_runs(run);
    const int64_t begin = (run - sample * runs) * kDrawnTogether;
    const int64_t left = form.positions - begin;
    const int count = left < kDrawnTogether ? static_cast<int>(left) : kDrawnTogether;
    const int64_t first = (sample * form.positions + begin) * form.channels + c;
    Pack<T, kWidth> packs[kDrawnTogether];
    for (int k = 0; k < kDrawnTogether; ++k) {
      if (k < count) packs[k] = LoadPack<kWidth>(from + first + k * form.channels);
    }
    const uint64_t row = first_sample + static_cast<uint64_t>(sample);
    for (int lane = 0; lane < kWidth; ++lane) {
      const int64_t element = (c + lane) * form.positions + begin;
      Random4 words = form.random.At(row, static_cast<uint64_t>(element / kDrawnTogether));
      for (int k = 0; k < kDrawnTogether; ++k) {
        const int64_t mine = element + k;
        if (k > 0 && mine % kDrawnTogether == 0) {  // the next call
          words = form.random.At(row, static_cast<uint64_t>(mine / kDrawnTogether));
        }
        if (k < count) packs[k].v[lane] = Kept(Word(words, mine), form, packs[k].v[lane]);
      }
    }
    for (int k = 0; k < kDrawnTogether; ++k) {
      if (k < count) StorePack(packs[k], to + first + k * form.channels);
    }
  }
};

// A thread for neighbours of one channel, or of one position where channels come last.
template <class T>
struct DropChannels {
  DropoutForm form;
  uint64_t first_sample;
  IndexDivider by_channels, by_positions;
  const T* from;
  T* to;

  // Packs do not reach into the next channel, or position.
  template <int kWidth>
  __host__ __device__ void Run(int64_t i) const {
    const int64_t row = form.channels_last ? by_channels(i) : by_positions(i);
    const int64_t sample = form.channels_last ? by_positions(row) : by_channels(row);
    const int64_t first =
        form.channels_last ? i - row * form.channels : row - sample * form.channels;
    const uint64_t drawn_for = first_sample + static_cast<uint64_t>(sample);
    Pack<T, kWidth> pack = LoadPack<kWidth>(from + i);
    Random4 words = form.random.At(drawn_for, static_cast<uint64_t>(first / kDrawnTogether));
    for (int lane = 0; lane < kWidth; ++lane) {
      const int64_t channel = form.channels_last ? first + lane : first;
      if (lane > 0 && form.channels_last && channel % kDrawnTogether == 0)
        words = form.random.At(drawn_for, static_cast<uint64_t>(channel / kDrawnTogether));
      pack.v[lane] = Kept(Word(words, channel), form, pack.v[lane]);
    }
    StorePack(pack, to + i);
  }
};

}  // namespace

void LaunchDropout(const Gpu& gpu, const DropoutForm& form, uint64_t first_sample, const void* from,
                   void* to) {
  DispatchStored(form.type, [&](auto zero) {
    using T = decltype(zero);
    constexpr int kWidth = kPackWidth<T>;
    const T* x = static_cast<const T*>(from);
    T* y = static_cast<T*>(to);
    const int64_t per_sample = form.per_sample();
    if (form.whole_channels) {
      const int64_t count = form.samples * per_sample;
      const int64_t run = form.channels_last ? form.channels : form.positions;
      ForEachPack<kWidth>(
          gpu, count, run % kWidth == 0 && PacksFit(x, y), "SpatialDropout",
          DropChannels<T>{
              form, first_sample, {form.channels, count}, {form.positions, count}, x, y});
      return;
    }
    // Of one channel or one position, both orders are the same.
    if (!form.channels_last || form.positions == 1 || form.channels == 1) {
      const int64_t count = form.samples * per_sample;
      ForEachPack<kWidth>(gpu, count, per_sample % kWidth == 0 && PacksFit(x, y), "Dropout",
                          DropPlain<T>{form, first_sample, {per_sample, count}, per_sample, x, y});
    } else {
      const int64_t runs = (form.positions + kDrawnTogether - 1) / kDrawnTogether;
      const int64_t items = form.samples * runs * form.channels;
      ForEachPack<kWidth>(
          gpu, items, form.channels % kWidth == 0 && PacksFit(x, y), "Dropout",
          DropLast<T>{
              form, first_sample, runs, {form.channels, items}, {runs, form.samples * runs}, x, y});
    }
  });
}

}  // namespace doppio
