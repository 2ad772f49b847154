// LRN across contiguous channels: each thread processes a pack of channels and reads the packs
// before and after it.
#ifndef DOPPIO_LAYERS_NORMALIZATION_LRN_NEIGHBOURS_CUH_
#define DOPPIO_LAYERS_NORMALIZATION_LRN_NEIGHBOURS_CUH_

#include <cstdint>
#include <utility>

#include "core/device/elementwise.cuh"
#include "layers/common/divider.h"
#include "layers/normalization/lrn_ops.h"

namespace doppio {

// A pack of channels between its two neighbouring packs, which are zeros beyond the first and the
// last channel.
template <int kWidth>
struct Neighbourhood {
  Lanes<kWidth> packs[3];

  // Adds to every lane the element `d` lanes after it.
  template <int d>
  DOPPIO_HD void AddAt(Lanes<kWidth>* sum) const {
    for (int k = 0; k < kWidth; ++k) {
      const int m = kWidth + k + d;
      sum->v[k] += packs[m / kWidth].v[m % kWidth];
    }
  }
  // Returns the sum of lane kLane of the three packs and of all lanes up to `half` lanes away.
  // `half` is at most (sizeof...(d) - 1) / 2.
  template <int kLane, int... d>
  DOPPIO_HD float SumAround(int64_t half, std::integer_sequence<int, d...>) const {
    constexpr int kMost = (static_cast<int>(sizeof...(d)) - 1) / 2;
    float sum = 0;
    ((d - kMost < -half || d - kMost > half ? void() : AddLane<kLane + d - kMost>(&sum)), ...);
    return sum;
  }
  template <int kLane>
  DOPPIO_HD void AddLane(float* sum) const {
    *sum += packs[kLane / kWidth].v[kLane % kWidth];
  }
  // Returns, for each lane of the middle pack, the sum of the lanes up to `half` lanes away. The
  // distances are constants, because an index would move the registers to local memory.
  template <int... d>
  DOPPIO_HD Lanes<kWidth> Sum(int64_t half, std::integer_sequence<int, d...>) const {
    Lanes<kWidth> sum{};
    ((d - kWidth < -half || d - kWidth > half ? void() : AddAt<d - kWidth>(&sum)), ...);
    return sum;
  }
};

// LRN across channels for tensors with channels last. Computes a pack of neighbouring channels.
template <class Value, class Result>
struct AcrossNeighbours {
  Value value;
  Result result;
  int64_t channels, half;
  IndexDivider by_channels;

  // For packs, `half` must be at most kWidth, so that windows end within the neighbouring packs.
  template <int kWidth>
  DOPPIO_HD void Run(int64_t i) const {
    const int64_t c = i - by_channels(i) * channels;
    if constexpr (kWidth == 1) {
      const int64_t from = c > half ? -half : -c,
                    to = c + half < channels ? half : channels - 1 - c;
      float sum = 0;
      for (int64_t m = from; m <= to; ++m) sum += value.template At<1>(i + m).v[0];
      result.Put(i, Lanes<1>{{sum}});
    } else {
      const Lanes<kWidth> zero{};
      const Neighbourhood<kWidth> all{
          {c == 0 ? zero : value.template At<kWidth>(i - kWidth), value.template At<kWidth>(i),
           c + kWidth == channels ? zero : value.template At<kWidth>(i + kWidth)}};
      result.Put(i, all.Sum(half, std::make_integer_sequence<int, 2 * kWidth + 1>()));
    }
  }
};

// Backward for windows that reach up to kReach channels to both sides. It recomputes the scales of
// forward, with the same bits, from the pack and its neighbours. Saving them would move twice as
// much memory as the gradient itself in 16 bits.
template <class T>
struct GradientOfNeighbours {
  static constexpr int kReach = 2;
  LrnOps<float> ops;
  const T *x, *dy;
  T* dx;
  int64_t channels, half;
  IndexDivider by_channels;

  template <int kWidth>
  DOPPIO_HD void Run(int64_t i) const {
    const int64_t c = i - by_channels(i) * channels;
    if constexpr (kWidth == 1) {
      RunOne(i, c);
    } else {
      static_assert(kWidth >= 2 * kReach, "windows of windows end in the packs beside");
      RunPack<kWidth>(i, c > 0, c + kWidth < channels);
    }
  }

 private:
  static DOPPIO_HD float ValueAt(const T* from) { return Lanes<1>::Of(from).v[0]; }

  DOPPIO_HD void RunOne(int64_t i, int64_t c) const {
    const auto first = [&](int64_t at) { return at > half ? at - half : 0; };
    const auto last = [&](int64_t at) { return at + half < channels ? at + half : channels - 1; };
    const T *const values = x + (i - c), *const gradients = dy + (i - c);
    const auto scale_at = [&](int64_t at) {
      float sum = 0;
      for (int64_t m = first(at); m <= last(at); ++m) {
        sum += ValueAt(values + m) * ValueAt(values + m);
      }
      return ops.Scale(sum);
    };
    float sum = 0;
    for (int64_t m = first(c); m <= last(c); ++m) {
      sum += ops.Ratio(ValueAt(values + m), ValueAt(gradients + m),
                       ops.Powers(scale_at(m)).over_scale);
    }
    const float power = ops.Power(scale_at(c));
    Lanes<1>{{ops.Gradient(ValueAt(x + i), ValueAt(dy + i), power, sum)}}.Store(dx + i);
  }

  template <int kWidth>
  struct Pack {
    Neighbourhood<kWidth> values, gradients, squares, ratios;
    Lanes<kWidth> powers;  // powers of the scales of the middle pack

    // Computes the power and the ratio of lane kLane of the three packs. The ratio is 0 if the
    // lane's channel does not exist.
    template <int kLane>
    DOPPIO_HD void Form(const LrnOps<float>& ops, int64_t half, bool exists) {
      constexpr int kPack = kLane / kWidth, kAt = kLane % kWidth;
      const auto of = ops.Powers(ops.Scale(squares.template SumAround<kLane>(
          half, std::make_integer_sequence<int, 2 * kReach + 1>())));
      if constexpr (kPack == 1) powers.v[kAt] = of.power;
      ratios.packs[kPack].v[kAt] = exists ? ops.Ratio(values.packs[kPack].v[kAt],
                                                      gradients.packs[kPack].v[kAt], of.over_scale)
                                          : 0;
    }
    template <int... k>
    DOPPIO_HD void FormAll(const LrnOps<float>& ops, int64_t half, bool before, bool behind,
                           std::integer_sequence<int, k...>) {
      (Form<kWidth - kReach + k>(ops, half,
                                 k < kReach             ? before
                                 : k >= kReach + kWidth ? behind
                                                        : true),
       ...);
    }
  };

  // `before` and `behind` are true if the pixel has channels before and after the pack.
  template <int kWidth>
  DOPPIO_HD void RunPack(int64_t i, bool before, bool behind) const {
    const Lanes<kWidth> zero{};
    Pack<kWidth> all{};
    const auto load = [&](const T* from) {
      return Neighbourhood<kWidth>{{before ? Lanes<kWidth>::Of(from + i - kWidth) : zero,
                                    Lanes<kWidth>::Of(from + i),
                                    behind ? Lanes<kWidth>::Of(from + i + kWidth) : zero}};
    };
    all.values = load(x);
    all.gradients = load(dy);
    all.squares = all.values;
    for (Lanes<kWidth>& pack : all.squares.packs) {
      for (int k = 0; k < kWidth; ++k) pack.v[k] *= pack.v[k];
    }
    all.FormAll(ops, half, before, behind, std::make_integer_sequence<int, kWidth + 2 * kReach>());
    Lanes<kWidth> sum = all.ratios.Sum(half, std::make_integer_sequence<int, 2 * kWidth + 1>());
    for (int k = 0; k < kWidth; ++k) {
      sum.v[k] = ops.Gradient(all.values.packs[1].v[k], all.gradients.packs[1].v[k],
                              all.powers.v[k], sum.v[k]);
    }
    sum.Store(dx + i);
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_NORMALIZATION_LRN_NEIGHBOURS_CUH_
