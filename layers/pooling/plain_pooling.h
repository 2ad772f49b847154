// Pooling over plain planes, as functions for all devices: one thread per window in forward and one
// per bottom element in backward. It serves the methods that are too rare to need a faster
// implementation: STOCHASTIC pooling, and the levels of SPP. In backward, each element gathers from
// the windows that contain it, so there are no atomics and the order of additions is fixed.
//
// STOCHASTIC (Zeiler and Fergus, "Stochastic Pooling for Regularization of Deep Convolutional
// Neural Networks", 2013) draws an element of each window in training; an element's probability is
// its share of the window's sum. In testing, it takes the mean of the elements, weighted by their
// shares. Elements must be at least 0.
#ifndef DOPPIO_LAYERS_POOLING_PLAIN_POOLING_H_
#define DOPPIO_LAYERS_POOLING_PLAIN_POOLING_H_

#include <cstdint>

#include "core/base/random.h"
#include "layers/pooling/pooling_windows.h"

namespace doppio {

enum class PoolBy { kMax, kMean, kDraw, kShares };

// Returns how to pool. `max` and `mean` are true for the methods MAX and AVE; otherwise the method
// is STOCHASTIC.
inline PoolBy PoolByMethod(bool max, bool mean, bool train) {
  return max ? PoolBy::kMax : mean ? PoolBy::kMean : train ? PoolBy::kDraw : PoolBy::kShares;
}
// Returns true if backward reads the bottom.
inline bool ReadsBottomBackward(PoolBy by) { return by == PoolBy::kShares; }

// One pooling of a bottom into a top, or into a part of one (a level of SPP).
struct PlainPooling {
  PoolBy by = PoolBy::kMax;
  PoolingGeometry g;  // g.planes = images x channels
  int64_t channels = 1;
  int64_t top_sample = 0;  // elements per sample in the top
  int64_t top_first = 0;   // offset of this pooling's windows in a sample of the top
  // The random stream of kDraw, indexed by the sample and the window's element in the top.
  Random random{0, 0};

  struct Place {
    int64_t plane, i, j;
  };
  // Returns the place of window n of all planes.
  DOPPIO_HD Place WindowAt(int64_t n) const {
    const int64_t row = n / g.w.output;
    return {row / g.h.output, row % g.h.output, n % g.w.output};
  }
  // Returns the index of a window among those of all planes, the inverse of WindowAt.
  DOPPIO_HD int64_t WindowOf(const Place& at) const {
    return (at.plane * g.h.output + at.i) * g.w.output + at.j;
  }
  // Returns the index of a window in its sample of the top.
  DOPPIO_HD int64_t InSample(const Place& at) const {
    return top_first + WindowOf({at.plane % channels, at.i, at.j});
  }
  // Returns the index of a window in the top.
  DOPPIO_HD int64_t InTop(const Place& at) const {
    return at.plane / channels * top_sample + InSample(at);
  }
  // Calls f(index in the plane) for each element of a window, until f returns false.
  template <class F>
  DOPPIO_HD void ForEach(const Place& at, const F& f) const {
    for (int64_t h = g.h.Begin(at.i); h < g.h.End(at.i); ++h) {
      for (int64_t w = g.w.Begin(at.j); w < g.w.End(at.j); ++w) {
        if (!f(h * g.w.input + w)) return;
      }
    }
  }
};

template <class T>
struct PlainPoolingForward {
  PlainPooling pooling;
  const T* x;
  T* y;
  int32_t* chosen;  // chosen element of each window, as an index in its plane; for kMax and kDraw
  uint64_t first_sample;

  DOPPIO_HD void operator()(int64_t n) const {
    const PlainPooling::Place at = pooling.WindowAt(n);
    const T* plane = x + at.plane * pooling.g.h.input * pooling.g.w.input;
    T* to = y + pooling.InTop(at);
    T sum = 0, squares = 0;
    int64_t best = -1;
    pooling.ForEach(at, [&](int64_t i) {
      sum += plane[i];
      squares += plane[i] * plane[i];
      if (best < 0 || plane[i] > plane[best]) best = i;
      return true;
    });
    if (pooling.by == PoolBy::kMean) {
      *to = sum / static_cast<T>(
                      MeanDivisor(pooling.g.count_padding, pooling.g.h, pooling.g.w, at.i, at.j));
    } else if (pooling.by == PoolBy::kShares) {
      *to = sum > 0 ? squares / sum : T(0);
    } else {
      if (pooling.by == PoolBy::kDraw) best = Draw(at, plane, sum);
      *to = plane[best];
      chosen[n] = static_cast<int32_t>(best);
    }
  }

 private:
  // Returns the first element at which the running sum of the window reaches a random part of its
  // total.
  DOPPIO_HD int64_t Draw(const PlainPooling::Place& at, const T* plane, T sum) const {
    const uint64_t sample = first_sample + static_cast<uint64_t>(at.plane / pooling.channels);
    const float part =
        1 - pooling.random.Uniform(sample, static_cast<uint64_t>(pooling.InSample(at)));  // (0, 1]
    const T enough = static_cast<T>(part) * sum;
    T so_far = 0;
    int64_t drawn = 0;
    pooling.ForEach(at, [&](int64_t i) {
      so_far += plane[i];
      drawn = i;
      return !(so_far >= enough);
    });
    return drawn;
  }
};

template <class T>
struct PlainPoolingBackward {
  PlainPooling pooling;
  const T* x;  // read for kShares only
  const T* dy;
  const int32_t* chosen;
  bool add;  // adds to dx instead of overwriting it
  T* dx;

  DOPPIO_HD void operator()(int64_t n) const {
    const PoolingAxis &h = pooling.g.h, &w = pooling.g.w;
    const int64_t size = h.input * w.input, element = n % size;
    const int64_t row = element / w.input, column = element % w.input;
    T sum = 0;
    for (int64_t i = First(h, row); i <= Last(h, row); ++i) {
      for (int64_t j = First(w, column); j <= Last(w, column); ++j) {
        const PlainPooling::Place at{n / size, i, j};
        sum += Share(at, element) * dy[pooling.InTop(at)];
      }
    }
    dx[n] = add ? dx[n] + sum : sum;
  }

 private:
  // The windows that contain an element are First to Last, inclusive.
  DOPPIO_HD static int64_t First(const PoolingAxis& axis, int64_t element) {
    const int64_t beyond = element + axis.pad - axis.kernel;
    return beyond < 0 ? 0 : beyond / axis.stride + 1;
  }
  DOPPIO_HD static int64_t Last(const PoolingAxis& axis, int64_t element) {
    const int64_t last = (element + axis.pad) / axis.stride;
    return last < axis.output ? last : axis.output - 1;
  }

  // Returns the derivative of a window's value by one of its elements.
  DOPPIO_HD T Share(const PlainPooling::Place& at, int64_t element) const {
    if (pooling.by == PoolBy::kMean) {
      return 1 / static_cast<T>(
                     MeanDivisor(pooling.g.count_padding, pooling.g.h, pooling.g.w, at.i, at.j));
    }
    if (pooling.by != PoolBy::kShares) {
      return chosen[pooling.WindowOf(at)] == element ? T(1) : T(0);
    }
    const T* plane = x + at.plane * pooling.g.h.input * pooling.g.w.input;
    T sum = 0, squares = 0;
    pooling.ForEach(at, [&](int64_t i) {
      sum += plane[i];
      squares += plane[i] * plane[i];
      return true;
    });
    return sum > 0 ? (2 * plane[element] - squares / sum) / sum : T(0);
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_POOLING_PLAIN_POOLING_H_
