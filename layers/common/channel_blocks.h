// Per-channel loops (Scale, Bias, BatchNorm, PReLU) over plain, channels-last and channel-blocked
// (nChw16c) memory. Each of these layouts is seen as one dense array [outer][blocks][inner][block],
// in which channel c is lane c % block of block c / block. So none of these layers forces a
// reorder, and each writes its formula only once.
#ifndef DOPPIO_LAYERS_COMMON_CHANNEL_BLOCKS_H_
#define DOPPIO_LAYERS_COMMON_CHANNEL_BLOCKS_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "core/base/threads.h"
#include "core/tensor/tensor.h"

namespace doppio {

struct ChannelBlocks {
  int64_t outer = 1, blocks = 1, inner = 1, block = 1;
  int64_t channels = 1;

  // Returns the number of channels, including those that pad the last block.
  int64_t padded() const { return blocks * block; }
  // Returns the number of elements per channel.
  int64_t positions() const { return outer * inner; }
};

// Views axes [begin, end) of `tensor` as its channels; an empty range means one channel for all
// elements, padding included. Returns false if the layout does not allow this view; the plain
// layout always does.
bool FindChannelBlocks(const TensorSpec& tensor, int begin, int end, ChannelBlocks* blocks);

// Returns the layout that a kernel should request for `tensor`: its own if FindChannelBlocks
// accepts it, else plain.
Layout ChannelLayout(const TensorSpec& tensor, int begin, int end);

// Returns the layout that orders the axes of a tensor of shape `to` as `layout` orders those of
// shape `from`. The shapes differ only in their spatial extents. FindChannelBlocks must accept
// `layout`.
Layout WithSpatial(const Shape& from, const Layout& layout, const Shape& to);

// Returns one value per channel, padded with zeros to v.padded() values. Returns `values` itself if
// there is no padding; otherwise copies it to `room`, which has space for v.padded() values.
template <class T>
const T* PadChannels(const ChannelBlocks& v, const T* values, T* room) {
  if (v.padded() == v.channels) return values;
  std::copy(values, values + v.channels, room);
  std::fill(room + v.channels, room + v.padded(), T(0));
  return room;
}

namespace internal {
// A separate function, because compilers vectorise a simple loop over its own copies of values.
template <class F, class... Value>
[[gnu::noinline]] void ForRange(int64_t begin, int64_t end, const F& f, Value... values) {
  const F local = f;
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) local(i, values...);
}
}  // namespace internal

// Calls f(i, values...) for every element i, in parallel. The values are those of the element's
// channel in `factors`, each of which has v.padded() elements. They are arguments instead of
// look-ups in f, so that the compiler knows that stores do not change them.
template <class F, class... Factor>
void ForEachElement(const ChannelBlocks& v, const F& f, const Factor*... factors) {
  constexpr int64_t kGrain = 8192;
  if (v.block == 1) {
    ParallelFor(v.outer * v.blocks * v.inner, kGrain, [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t run = begin / v.inner;
        [[maybe_unused]] const int64_t c = run % v.blocks;
        const int64_t stop = std::min(end, (run + 1) * v.inner);
        internal::ForRange(begin, stop, f, factors[c]...);
        begin = stop;
      }
    });
    return;
  }
  auto rows = [&](auto block) {
    const int64_t grain = std::max<int64_t>(1, kGrain / block);
    ParallelFor(v.outer * v.blocks * v.inner, grain, [&](int64_t begin, int64_t end) {
      // A copy, so that the compiler knows that stores do not change the values in f.
      const F local = f;
      while (begin < end) {
        const int64_t run = begin / v.inner, c = run % v.blocks * block;
        const int64_t stop = std::min(end, (run + 1) * v.inner);
        for (; begin < stop; ++begin) {
          const int64_t first = begin * block;
#pragma omp simd
          for (int64_t lane = 0; lane < block; ++lane) local(first + lane, factors[c + lane]...);
        }
      }
    });
  };
  if (v.block == 16) return rows(std::integral_constant<int64_t, 16>());
  if (v.block == 8) return rows(std::integral_constant<int64_t, 8>());
  rows(v.block);
}

// Two sums per channel. The work is split into units of up to kLanes channels and parts of the
// positions, so that many threads have enough pieces. The split, and so the result, does not depend
// on the number of threads.
namespace channel_sums {
constexpr int64_t kLanes = 16;
constexpr int64_t kMaxParts = 16;
constexpr int64_t kSegment = 4096;  // positions summed in T before their sum is added to a double

// Adds the terms of the positions [begin, end) of one channel, whose element at position i is
// `base` + i, to its two sums. Each lane sums other positions.
template <class T, class F, class... Value>
void SumPositions(int64_t base, int64_t begin, int64_t end, const F& f, double* sum_a,
                  double* sum_b, Value... values) {
  T a[kLanes] = {}, b[kLanes] = {};
  const F local = f;
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
#pragma omp simd
    for (int64_t lane = 0; lane < kLanes; ++lane)
      local(a[lane], b[lane], base + i + lane, values...);
  }
  for (; i < end; ++i) local(a[i % kLanes], b[i % kLanes], base + i, values...);
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    *sum_a += a[lane];
    *sum_b += b[lane];
  }
}

// Adds the terms of the positions [begin, end) of neighbouring channels to their sums, one lane
// for each of `lanes` channels. Position i begins at element `base` + i * `stride`; `factors` point
// to those of the first channel.
template <class T, class F, class Lanes, class... Factor>
void SumRows(Lanes lanes, int64_t stride, int64_t base, int64_t begin, int64_t end, const F& f,
             double* sum_a, double* sum_b, const Factor*... factors) {
  T a[kLanes] = {}, b[kLanes] = {};
  const F local = f;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t row = base + i * stride;
#pragma omp simd
    for (int64_t lane = 0; lane < lanes; ++lane)
      local(a[lane], b[lane], row + lane, factors[lane]...);
  }
  for (int64_t lane = 0; lane < lanes; ++lane) {
    sum_a[lane] += a[lane];
    sum_b[lane] += b[lane];
  }
}
}  // namespace channel_sums

// Returns the size of the scratch memory that SumPerChannel needs, in bytes.
inline int64_t ChannelSumsBytes(const ChannelBlocks& v) {
  return channel_sums::kMaxParts * 2 * v.padded() * kBytesOf<double>;
}

// Sums two values per channel, in parallel. f(a, b, i, values...) adds the terms of element i to
// its channel's sums a and b, and may also write an output at i; `values` are as in ForEachElement.
// Returns the first sums in `room`, which has ChannelSumsBytes(v) bytes; the second sums begin
// v.padded() elements later.
template <class T, class F, class... Factor>
const double* SumPerChannel(const ChannelBlocks& v, void* room, const F& f,
                            const Factor*... factors) {
  using channel_sums::kLanes;
  const int64_t units_per_block = (v.block + kLanes - 1) / kLanes;
  const int64_t units = v.blocks * units_per_block;
  const int64_t segments = (v.inner + channel_sums::kSegment - 1) / channel_sums::kSegment;
  const int64_t pieces = v.outer * segments, parts = std::min(pieces, channel_sums::kMaxParts);
  double* const sums = static_cast<double*>(room);
  std::fill(sums, sums + parts * 2 * v.padded(), 0.0);

  // Adds piece `p` of unit `u` to the sums of `part`.
  auto add_piece = [&](int64_t part, int64_t u, int64_t p) {
    const int64_t n = p / segments, begin = p % segments * channel_sums::kSegment;
    const int64_t end = std::min(v.inner, begin + channel_sums::kSegment);
    const int64_t block = u / units_per_block, first_lane = u % units_per_block * kLanes;
    const int64_t base = (n * v.blocks + block) * v.inner * v.block + first_lane;
    const int64_t c = block * v.block + first_lane;
    double* const sum_a = sums + part * 2 * v.padded() + c;
    double* const sum_b = sum_a + v.padded();
    if (v.block == 1)
      return channel_sums::SumPositions<T>(base, begin, end, f, sum_a, sum_b, factors[c]...);
    const int64_t count = std::min(kLanes, v.block - first_lane);
    auto rows = [&](auto lanes) {
      channel_sums::SumRows<T>(lanes, v.block, base, begin, end, f, sum_a, sum_b, (factors + c)...);
    };
    if (count == kLanes) return rows(std::integral_constant<int64_t, kLanes>());
    if (count == 8) return rows(std::integral_constant<int64_t, 8>());
    rows(count);
  };

  const int64_t elements_per_item =
      std::max<int64_t>(1, v.outer * v.inner * v.padded() / (parts * units));
  const int64_t grain = std::max<int64_t>(1, 8192 / elements_per_item);
  ParallelForEach(parts * units, grain, [&](int64_t item) {
    const int64_t part = item / units, u = item % units;
    const int64_t stop = pieces * (part + 1) / parts;
    for (int64_t p = pieces * part / parts; p < stop; ++p) add_piece(part, u, p);
  });
  for (int64_t part = 1; part < parts; ++part) {
    const double* more = sums + part * 2 * v.padded();
    for (int64_t c = 0; c < 2 * v.padded(); ++c) sums[c] += more[c];
  }
  return sums;
}

// Writes one sum per channel to a parameter's gradient, or adds them if `add` is true.
template <class T>
void StoreSums(const ChannelBlocks& v, const double* sums, bool add, const Tensor& gradient) {
  T* to = gradient.data<T>();
  for (int64_t c = 0; c < v.channels; ++c) {
    to[c] = static_cast<T>(add ? to[c] + sums[c] : sums[c]);
  }
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_COMMON_CHANNEL_BLOCKS_H_
