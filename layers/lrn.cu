#include "layers/lrn_cuda.h"

#include "core/device/launch.cuh"
#include "layers/divider.h"

namespace doppio {
namespace {

// A thread works on so many channels of one pixel: their windows overlap, so that most of what it reads is in the
// cache.
constexpr int64_t kRun = 16;

// result(element, sum of value(...) over its window) for every element.
template <class Int, class Value, class Result>
void SumAcross(const Gpu& gpu, const LrnShape& s, const Value& value, const Result& result) {
  const Int pixels = static_cast<Int>(s.height * s.width), channels = static_cast<Int>(s.channels);
  const Int runs = static_cast<Int>((s.channels + kRun - 1) / kRun);
  // A window wider than all channels ends with them.
  const Int half = static_cast<Int>(std::min(s.window.half, s.channels));
  const Divider<Int> by_pixels(pixels), by_runs(runs);
  ForEachIndex(gpu, s.images * runs * pixels, "LRN", DOPPIO_BODY(int64_t index) {
    const Int i = static_cast<Int>(index), rest = by_pixels(i), image = by_runs(rest);
    const Int first = (rest - image * runs) * static_cast<Int>(kRun);
    const Int end = channels - first < kRun ? channels : first + static_cast<Int>(kRun);
    const Int pixel = image * channels * pixels + i - rest * pixels;
    for (Int c = first; c < end; ++c) {
      const Int from = c > half ? c - half : 0, to = c + half < channels ? c + half : channels - 1;
      float sum = 0;
      for (Int m = from; m <= to; ++m) sum += value(pixel + m * pixels);
      result(pixel + c * pixels, sum);
    }
  });
}

template <class Int, class Value, class Result>
void SumWithin(const Gpu& gpu, const LrnShape& s, const Value& value, const Result& result) {
  const Int height = static_cast<Int>(s.height), width = static_cast<Int>(s.width);
  const Int half = static_cast<Int>(std::min(s.window.half, std::max(s.height, s.width)));
  const Divider<Int> by_height(height), by_width(width);
  ForEachIndex(gpu, s.count(), "LRN", DOPPIO_BODY(int64_t index) {
    const Int i = static_cast<Int>(index), row = by_width(i), plane = by_height(row);
    const Int h = row - plane * height, w = i - row * width;
    const Int top = h > half ? h - half : 0, bottom = h + half < height ? h + half : height - 1;
    const Int left = w > half ? w - half : 0, right = w + half < width ? w + half : width - 1;
    float sum = 0;
    for (Int m = top; m <= bottom; ++m) {
      const Int line = (plane * height + m) * width;
      for (Int j = left; j <= right; ++j) sum += value(line + j);
    }
    result(i, sum);
  });
}

template <class Int, class Value, class Result>
void SumWindows(const Gpu& gpu, const LrnShape& s, const Value& value, const Result& result) {
  if (s.window.within) {
    SumWithin<Int>(gpu, s, value, result);
  } else {
    SumAcross<Int>(gpu, s, value, result);
  }
}

template <class Int>
void Forward(const Gpu& gpu, const LrnShape& s, const LrnOps<float>& ops, const float* x, float* y, float* scale) {
  SumWindows<Int>(
      gpu, s, DOPPIO_BODY(Int i) { return x[i] * x[i]; },
      DOPPIO_BODY(Int i, float sum) {
        const float mine = ops.Scale(sum);
        if (scale != nullptr) scale[i] = mine;
        y[i] = x[i] * ops.Power(mine);
      });
}

template <class Int>
void Backward(const Gpu& gpu, const LrnShape& s, const LrnOps<float>& ops, const float* x, const float* dy,
              const float* scale, const float* ratio, float* dx) {
  SumWindows<Int>(
      gpu, s, DOPPIO_BODY(Int i) { return ratio[i]; },
      DOPPIO_BODY(Int i, float sum) { dx[i] = ops.Gradient(x[i], dy[i], scale[i], sum); });
}

}  // namespace

void LaunchLrnForward(const Gpu& gpu, const LrnShape& s, const LrnOps<float>& ops, const float* x, float* y,
                      float* scale) {
  WithIndexFor(s.count(), [&](auto zero) { Forward<decltype(zero)>(gpu, s, ops, x, y, scale); });
}

void LaunchLrnBackward(const Gpu& gpu, const LrnShape& s, const LrnOps<float>& ops, const float* x, const float* dy,
                       const float* scale, float* ratio, float* dx) {
  ForEachIndex(gpu, s.count(), "LRN's gradient", DOPPIO_BODY(int64_t i) {
    ratio[i] = ops.Ratio(x[i], dy[i], scale[i]);
  });
  WithIndexFor(s.count(), [&](auto zero) { Backward<decltype(zero)>(gpu, s, ops, x, dy, scale, ratio, dx); });
}

}  // namespace doppio
