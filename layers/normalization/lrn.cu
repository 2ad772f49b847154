// LRN on a GPU, for every stored type; channels may be last if windows extend across channels. Each
// direction makes one pass over memory, except that backward makes two if windows are large.
#include "core/device/elementwise.cuh"
#include "layers/common/stored_form_cuda.h"
#include "layers/normalization/lrn_neighbours.cuh"

namespace doppio {
namespace {

// A thread computes this many channels of one pixel. Their windows overlap, so most of the values
// that the thread reads are in the cache.
constexpr int64_t kRun = 16;

struct LrnShape {
  LrnWindow window;
  int64_t images, channels, height, width;
  bool channels_last;  // if false, plain, as windows within a channel require
  int64_t count() const { return images * channels * height * width; }
  // Returns false if the windows are so small that backward computes their ratios on the fly, which
  // reads each tensor only once.
  bool stores_ratios() const {
    return window.within || window.half > GradientOfNeighbours<float>::kReach;
  }
  // Returns true if backward recomputes the scales instead of reading those of forward.
  bool forms_scales_again() const { return channels_last && !stores_ratios(); }
};

// The structs below give the values of neighbouring elements that a window sums.
template <class T>
struct Squares {
  const T* x;

  template <int kWidth>
  DOPPIO_HD Lanes<kWidth> At(int64_t i) const {
    Lanes<kWidth> values = Lanes<kWidth>::Of(x + i);
    for (int k = 0; k < kWidth; ++k) values.v[k] *= values.v[k];
    return values;
  }
};
// Backward's values, computed on the fly. StoredRatios replaces Ratios if windows are large,
// because each value would be computed too often.
template <class T>
struct Ratios {
  LrnOps<float> ops;
  const T *x, *dy;
  const float* scale;

  template <int kWidth>
  DOPPIO_HD Lanes<kWidth> At(int64_t i) const {
    Lanes<kWidth> value = Lanes<kWidth>::Of(x + i);
    const Lanes<kWidth> d = Lanes<kWidth>::Of(dy + i), by = Lanes<kWidth>::Of(scale + i);
    for (int k = 0; k < kWidth; ++k)
      value.v[k] = ops.Ratio(value.v[k], d.v[k], ops.Powers(by.v[k]).over_scale);
    return value;
  }
};
struct StoredRatios {
  const float* ratio;

  template <int kWidth>
  DOPPIO_HD Lanes<kWidth> At(int64_t i) const {
    return Lanes<kWidth>::Of(ratio + i);
  }
};

// The structs below compute the results from the sums.
template <class T>
struct Normalized {
  LrnOps<float> ops;
  const T* x;
  T* y;
  float* scale;

  template <int kWidth>
  DOPPIO_HD void Put(int64_t i, Lanes<kWidth> sum) const {
    Lanes<kWidth> value = Lanes<kWidth>::Of(x + i);
    for (int k = 0; k < kWidth; ++k) {
      sum.v[k] = ops.Scale(sum.v[k]);
      value.v[k] *= ops.Power(sum.v[k]);
    }
    if (scale != nullptr) sum.Store(scale + i);
    value.Store(y + i);
  }
};
template <class T>
struct Gradient {
  LrnOps<float> ops;
  const T *x, *dy;
  const float* scale;
  T* dx;

  template <int kWidth>
  DOPPIO_HD void Put(int64_t i, Lanes<kWidth> sum) const {
    const Lanes<kWidth> value = Lanes<kWidth>::Of(x + i), d = Lanes<kWidth>::Of(dy + i);
    const Lanes<kWidth> by = Lanes<kWidth>::Of(scale + i);
    for (int k = 0; k < kWidth; ++k)
      sum.v[k] = ops.Gradient(value.v[k], d.v[k], ops.Power(by.v[k]), sum.v[k]);
    sum.Store(dx + i);
  }
};

// Computes channels [first, end) of a pixel whose channel 0 is element `pixel`. Each value is
// computed once and stays in registers while windows that reach kHalf channels to both sides slide
// over it.
template <int kHalf, class Int, class Value, class Result>
DOPPIO_HD void SlideAcross(Int pixel, Int pixels, Int channels, Int first, Int end,
                           const Value& value, const Result& result) {
  const auto at = [&](Int c) {
    return c < 0 || c >= channels ? 0.0f : value.template At<1>(pixel + c * pixels).v[0];
  };
  constexpr int kLast = 2 * kHalf;
  float window[kLast + 1] = {};
  for (int m = 0; m < kLast; ++m) window[m + 1] = at(first - kHalf + m);
  for (Int c = first; c < end; ++c) {
    for (int m = 0; m < kLast; ++m) window[m] = window[m + 1];
    window[kLast] = at(c + kHalf);
    float sum = 0;
    for (int m = 0; m <= kLast; ++m) sum += window[m];
    result.Put(pixel + c * pixels, Lanes<1>{{sum}});
  }
}

// Calls result.Put(element, sum of the values in its window) for every element.
template <class Int, class Value, class Result>
static void SumAcross(const Gpu& gpu, const LrnShape& s, const Value& value, const Result& result) {
  const Int pixels = static_cast<Int>(s.height * s.width), channels = static_cast<Int>(s.channels);
  const Int runs = static_cast<Int>((s.channels + kRun - 1) / kRun);
  // Clip windows that are wider than all channels.
  const Int half = static_cast<Int>(std::min(s.window.half, s.channels));
  const Divider<Int> by_pixels(pixels), by_runs(runs);
  ForEachIndex(
      gpu, s.images * runs * pixels, "LRN", DOPPIO_BODY(int64_t index) {
        const Int i = static_cast<Int>(index), rest = by_pixels(i), image = by_runs(rest);
        const Int first = (rest - image * runs) * static_cast<Int>(kRun);
        const Int end = channels - first < kRun ? channels : first + static_cast<Int>(kRun);
        const Int pixel = image * channels * pixels + i - rest * pixels;
        if (half == 1) return SlideAcross<1>(pixel, pixels, channels, first, end, value, result);
        if (half == 2) return SlideAcross<2>(pixel, pixels, channels, first, end, value, result);
        for (Int c = first; c < end; ++c) {
          const Int from = c > half ? c - half : 0,
                    to = c + half < channels ? c + half : channels - 1;
          float sum = 0;
          for (Int m = from; m <= to; ++m) sum += value.template At<1>(pixel + m * pixels).v[0];
          result.Put(pixel + c * pixels, Lanes<1>{{sum}});
        }
      });
}

template <class Int, class Value, class Result>
static void SumWithin(const Gpu& gpu, const LrnShape& s, const Value& value, const Result& result) {
  const Int height = static_cast<Int>(s.height), width = static_cast<Int>(s.width);
  const Int half = static_cast<Int>(std::min(s.window.half, std::max(s.height, s.width)));
  const Divider<Int> by_height(height), by_width(width);
  ForEachIndex(
      gpu, s.count(), "LRN", DOPPIO_BODY(int64_t index) {
        const Int i = static_cast<Int>(index), row = by_width(i), plane = by_height(row);
        const Int h = row - plane * height, w = i - row * width;
        const Int top = h > half ? h - half : 0, bottom = h + half < height ? h + half : height - 1;
        const Int left = w > half ? w - half : 0, right = w + half < width ? w + half : width - 1;
        float sum = 0;
        for (Int m = top; m <= bottom; ++m) {
          const Int line = (plane * height + m) * width;
          for (Int j = left; j <= right; ++j) sum += value.template At<1>(line + j).v[0];
        }
        result.Put(index, Lanes<1>{{sum}});
      });
}

// Calls result.Put for every element. `packed` is true if all addresses are aligned for packs.
template <int kWidth, class Value, class Result>
static void SumWindows(const Gpu& gpu, const LrnShape& s, bool packed, const Value& value,
                       const Result& result) {
  if (s.channels_last) {
    const int64_t half = std::min(s.window.half, s.channels);
    ForEachPack<kWidth>(
        gpu, s.count(), packed && s.channels % kWidth == 0 && half <= kWidth, "LRN",
        AcrossNeighbours<Value, Result>{value, result, s.channels, half, {s.channels, s.count()}});
    return;
  }
  WithIndexFor(s.count(), [&](auto zero) {
    using Int = decltype(zero);
    if (s.window.within) {
      SumWithin<Int>(gpu, s, value, result);
    } else {
      SumAcross<Int>(gpu, s, value, result);
    }
  });
}

// Computes dx. `ratio` is scratch memory for one float per element of the bottom if
// s.stores_ratios(), else null. `scale` is the output of forward, or null if
// s.forms_scales_again(). `dx` must not share memory with the other arguments.
template <class T>
static void LrnGradient(const Gpu& gpu, const LrnShape& s, const LrnOps<float>& ops, const T* x,
                        const T* dy, const float* scale, float* ratio, T* dx) {
  if (s.forms_scales_again()) {
    constexpr int kWidth = kPackWidth<T>;
    const int64_t half = std::min(s.window.half, s.channels);
    ForEachPack<kWidth>(
        gpu, s.count(), PacksAligned(x, dy, dx) && s.channels % kWidth == 0, "LRN's gradient",
        GradientOfNeighbours<T>{ops, x, dy, dx, s.channels, half, {s.channels, s.count()}});
    return;
  }
  const Gradient<T> gradient{ops, x, dy, scale, dx};
  const bool packed = PacksAligned(x, dy, scale, dx);
  if (!s.stores_ratios()) {
    SumWindows<kPackWidth<T>>(gpu, s, packed, Ratios<T>{ops, x, dy, scale}, gradient);
    return;
  }
  MapElements(
      gpu, s.count(), "LRN's gradient", ratio,
      DOPPIO_BODY(float value, float d, float by) {
        return ops.Ratio(value, d, ops.Powers(by).over_scale);
      },
      x, dy, scale);
  SumWindows<kPackWidth<T>>(gpu, s, packed && PacksAligned(ratio), StoredRatios{ratio}, gradient);
}

class CudaLrn : public Kernel {
 public:
  explicit CudaLrn(const KernelArgs& args)
      : device_(args.device), shape_(ShapeOf(args)), ops_(args.Form<LrnForm>()) {
    AskForOneForm(args, &needs_);
    if (!shape_.channels_last) needs_.bottoms = needs_.tops = {Layout()};
    if (args.backward) {
      const int64_t bytes = shape_.count() * kBytesOf<float>;
      if (!shape_.forms_scales_again()) needs_.saved_bytes = bytes;  // the scales
      if (shape_.stores_ratios()) needs_.scratch_bytes = bytes;
    }
  }

  void Forward(const Pass&) override {
    float* scale = needs_.saved_bytes > 0 ? static_cast<float*>(t_.saved) : nullptr;
    DispatchStored(t_.tops[0].dtype, [&](auto zero) {
      using T = decltype(zero);
      const T* x = BottomValues<T>(0);
      T* y = TopValues<T>(0);
      SumWindows<kPackWidth<T>>(GpuOf(device_), shape_, PacksAligned(x, y, scale), Squares<T>{x},
                                Normalized<T>{ops_, x, y, scale});
    });
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    const Tensor& dx = t_.bottom_grads[0];
    if (!dx) return;
    DispatchStored(dx.dtype, [&](auto zero) {
      using T = decltype(zero);
      LrnGradient(GpuOf(device_), shape_, ops_, BottomValues<T>(0), TopGradient<T>(0),
                  static_cast<const float*>(t_.saved), static_cast<float*>(t_.scratch),
                  dx.data<T>());
    });
  }
  bool same_every_pass() const override { return true; }

 private:
  static LrnShape ShapeOf(const KernelArgs& args) {
    const LrnWindow& window = args.Form<LrnForm>().window;
    const Shape& bottom = args.bottoms[0].shape;
    const bool last = args.bottoms[0].layout.channels_last() && !window.within;
    return {window, bottom[0], bottom[1], bottom[2], bottom[3], last};
  }

  Device* const device_;
  const LrnShape shape_;
  const LrnOps<float> ops_;
};

DOPPIO_REGISTER_KERNEL(CudaKernel<CudaLrn>("LRN").Narrow());

}  // namespace
}  // namespace doppio
