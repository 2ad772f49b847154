// MAX and AVE Pooling on a GPU, plain or channels last, for every stored type. A thread computes
// one window in forward and one element of the bottom in backward, for a pack of neighbouring
// channels if the channels are last.
#include "core/device/elementwise.cuh"
#include "core/net/contract/kernel.h"
#include "layers/common/divider.h"
#include "layers/common/stored_form_cuda.h"
#include "layers/pooling/pooling_form.h"

namespace doppio {
namespace {

// Images stored as height x width x channels. A plain image counts as one single-channel image per
// channel.
struct StoredPooling {
  PoolingGeometry g;  // g.planes = images x channels
  int64_t channels;
  DType type;  // the stored type of bottom, top and their gradients
};

template <class Int>
struct Axis : BasicPoolingAxis<Int> {
  Divider<Int> by_input, by_output, by_stride;

  explicit Axis(const PoolingAxis& a)
      : BasicPoolingAxis<Int>{static_cast<Int>(a.input), static_cast<Int>(a.output),
                              static_cast<Int>(a.kernel), static_cast<Int>(a.stride),
                              static_cast<Int>(a.pad)},
        by_input(a.input),
        by_output(a.output),
        by_stride(a.stride) {}

  // The windows that contain an element are First to Last, inclusive.
  DOPPIO_HD Int First(Int element) const {
    const Int beyond = element + this->pad - this->kernel;
    return beyond < 0 ? 0 : by_stride(beyond) + 1;
  }
  DOPPIO_HD Int Last(Int element) const {
    const Int last = by_stride(element + this->pad);
    return last < this->output ? last : this->output - 1;
  }
};

template <class Int>
struct Geometry {
  Axis<Int> h, w;
  bool count_padding;
  Int channels;
  Divider<Int> by_channels;
  explicit Geometry(const StoredPooling& pooling)
      : h(pooling.g.h),
        w(pooling.g.w),
        count_padding(pooling.g.count_padding),
        channels(static_cast<Int>(pooling.channels)),
        by_channels(pooling.channels) {}

  struct Place {
    Int image, i, j, channel;
  };
  // Return the place of element n of the top and of the bottom.
  DOPPIO_HD Place PlaceInTop(Int n) const {
    return Of(n, h.output, h.by_output, w.output, w.by_output);
  }
  DOPPIO_HD Place PlaceInBottom(Int n) const {
    return Of(n, h.input, h.by_input, w.input, w.by_input);
  }

  // Return the index of (i, j) of the same image and channel in the bottom and in the top.
  DOPPIO_HD Int InBottom(const Place& at, Int i, Int j) const {
    return ((at.image * h.input + i) * w.input + j) * channels + at.channel;
  }
  DOPPIO_HD Int InTop(const Place& at, Int i, Int j) const {
    return ((at.image * h.output + i) * w.output + j) * channels + at.channel;
  }
  // Returns the index of a window in a plain top.
  DOPPIO_HD Int InPlainTop(const Place& at, Int channel) const {
    return ((at.image * channels + channel) * h.output + at.i) * w.output + at.j;
  }

  DOPPIO_HD float Divisor(Int i, Int j) const {
    return static_cast<float>(MeanDivisor<Int>(count_padding, h, w, i, j));
  }

 private:
  DOPPIO_HD Place Of(Int n, Int rows, const Divider<Int>& by_rows, Int width,
                     const Divider<Int>& by_width) const {
    const Int pixel = by_channels(n), row = by_width(pixel), image = by_rows(row);
    return {image, row - image * rows, pixel - row * width, n - pixel * channels};
  }
};

// The structs below compute one window, or one element of the bottom, for kWidth neighbouring
// channels.

template <class Int, class T, class Saved>
struct Max {
  Geometry<Int> g;
  const T* x;
  T* y;
  Saved* places;
  float* indices;

  template <int kWidth>
  DOPPIO_HD void Run(int64_t n) const {
    const auto at = g.PlaceInTop(static_cast<Int>(n));
    const Int h0 = g.h.Begin(at.i), h1 = g.h.End(at.i), w0 = g.w.Begin(at.j), w1 = g.w.End(at.j);
    const Int top = at.i * g.h.stride - g.h.pad, left = at.j * g.w.stride - g.w.pad;
    Lanes<kWidth> best = Lanes<kWidth>::Of(x + g.InBottom(at, h0, w0));
    Int place[kWidth];
    for (int k = 0; k < kWidth; ++k) place[k] = (h0 - top) * g.w.kernel + w0 - left;
    for (Int h = h0; h < h1; ++h) {
      for (Int w = w0; w < w1; ++w) {
        const Lanes<kWidth> here = Lanes<kWidth>::Of(x + g.InBottom(at, h, w));
        for (int k = 0; k < kWidth; ++k) {
          if (!(here.v[k] > best.v[k])) continue;
          best.v[k] = here.v[k];
          place[k] = (h - top) * g.w.kernel + w - left;
        }
      }
    }
    best.Store(y + n);
    if (places != nullptr) {
      Pack<Saved, kWidth> saved;
      for (int k = 0; k < kWidth; ++k) saved.v[k] = static_cast<Saved>(place[k]);
      StorePack(saved, places + n);
    }
    if (indices == nullptr) return;
    for (int k = 0; k < kWidth; ++k) {
      const Int h = top + place[k] / g.w.kernel, w = left + place[k] % g.w.kernel;
      indices[g.InPlainTop(at, at.channel + k)] = static_cast<float>(h * g.w.input + w);
    }
  }
};

// Each element gathers from the windows that contain it, so no two threads write to the same
// address, and the order of additions is fixed.
template <class Int, class T, class Saved>
struct MaxGradient {
  Geometry<Int> g;
  const T* dy;
  const Saved* places;
  T* dx;

  template <int kWidth>
  DOPPIO_HD void Run(int64_t n) const {
    const auto at = g.PlaceInBottom(static_cast<Int>(n));
    const Int j0 = g.w.First(at.j), j1 = g.w.Last(at.j), i1 = g.h.Last(at.i);
    Lanes<kWidth> sum{};
    for (Int i = g.h.First(at.i); i <= i1; ++i) {
      const Int row = (at.i - i * g.h.stride + g.h.pad) * g.w.kernel;
      for (Int j = j0; j <= j1; ++j) {
        const Int window = g.InTop(at, i, j), mine = row + at.j - j * g.w.stride + g.w.pad;
        const Lanes<kWidth> d = Lanes<kWidth>::Of(dy + window);
        const Pack<Saved, kWidth> chosen = LoadPack<kWidth>(places + window);
        for (int k = 0; k < kWidth; ++k) {
          if (static_cast<Int>(chosen.v[k]) == mine) sum.v[k] += d.v[k];
        }
      }
    }
    sum.Store(dx + n);
  }
};

template <class Int, class T>
struct Mean {
  Geometry<Int> g;
  const T* x;
  T* y;

  template <int kWidth>
  DOPPIO_HD void Run(int64_t n) const {
    const auto at = g.PlaceInTop(static_cast<Int>(n));
    const Int h1 = g.h.End(at.i), w0 = g.w.Begin(at.j), w1 = g.w.End(at.j);
    Lanes<kWidth> sum{};
    for (Int h = g.h.Begin(at.i); h < h1; ++h) {
      for (Int w = w0; w < w1; ++w) {
        const Lanes<kWidth> here = Lanes<kWidth>::Of(x + g.InBottom(at, h, w));
        for (int k = 0; k < kWidth; ++k) sum.v[k] += here.v[k];
      }
    }
    const float divisor = g.Divisor(at.i, at.j);
    for (int k = 0; k < kWidth; ++k) sum.v[k] /= divisor;
    sum.Store(y + n);
  }
};

template <class Int, class T>
struct MeanGradient {
  Geometry<Int> g;
  const T* dy;
  T* dx;

  template <int kWidth>
  DOPPIO_HD void Run(int64_t n) const {
    const auto at = g.PlaceInBottom(static_cast<Int>(n));
    const Int j0 = g.w.First(at.j), j1 = g.w.Last(at.j), i1 = g.h.Last(at.i);
    Lanes<kWidth> sum{};
    for (Int i = g.h.First(at.i); i <= i1; ++i) {
      for (Int j = j0; j <= j1; ++j) {
        const Lanes<kWidth> d = Lanes<kWidth>::Of(dy + g.InTop(at, i, j));
        const float share = 1 / g.Divisor(i, j);
        for (int k = 0; k < kWidth; ++k) sum.v[k] += d.v[k] * share;
      }
    }
    sum.Store(dx + n);
  }
};

// Returns true if each plane has a single mean and is so large that many threads should share it.
bool OneLargeWindow(const PoolingGeometry& g) {
  const bool whole = g.h.output * g.w.output == 1 && g.h.Begin(0) == 0 && g.w.Begin(0) == 0 &&
                     g.h.End(0) == g.h.input && g.w.End(0) == g.w.input;
  return whole && g.h.input * g.w.input >= 1024;
}

float WholeDivisor(const PoolingGeometry& g) {
  return static_cast<float>(MeanDivisor<int64_t>(g.count_padding, g.h, g.w, 0, 0));
}

template <class T>
static void MeanOfPlanes(const Gpu& gpu, const PoolingGeometry& g, const T* x, T* y,
                         void* scratch) {
  const int64_t plane = g.h.input * g.w.input;
  const float divisor = WholeDivisor(g);
  ReduceRows(
      gpu, g.planes, plane, "Pooling", 0.0f,
      DOPPIO_BODY(int64_t row, int64_t i) { return static_cast<float>(x[row * plane + i]); },
      Plus(), DOPPIO_BODY(int64_t row, float sum) { y[row] = static_cast<T>(sum / divisor); },
      scratch);
}

// Sums for channels last, a pack of channels per thread: sums[image][part][channel] adds up `each`
// pixels. MeanOfPixels adds up the parts.
template <class T>
struct SumPixels {
  int64_t pixels, parts, each, channels;
  const T* x;
  float* sums;

  template <int kWidth>
  DOPPIO_HD void Run(int64_t index) const {
    const int64_t item = index / channels, c = index - item * channels;
    const int64_t image = item / parts, begin = (item - image * parts) * each;
    const int64_t end = begin + each < pixels ? begin + each : pixels;
    Lanes<kWidth> sum{};
    for (int64_t i = begin; i < end; ++i) {
      const Lanes<kWidth> here = Lanes<kWidth>::Of(x + (image * pixels + i) * channels + c);
      for (int k = 0; k < kWidth; ++k) sum.v[k] += here.v[k];
    }
    sum.Store(sums + index);
  }
};

constexpr int64_t kPixelsOfThread = 128;
int64_t PixelParts(const PoolingGeometry& g) {
  return (g.h.input * g.w.input + kPixelsOfThread - 1) / kPixelsOfThread;
}

template <class T>
static void MeanOfPixels(const Gpu& gpu, const PoolingGeometry& g, int64_t channels, const T* x,
                         T* y, void* scratch) {
  const int64_t parts = PixelParts(g);
  float* sums = static_cast<float*>(scratch);
  constexpr int kWidth = kPackWidth<T>;
  ForEachPack<kWidth>(
      gpu, g.planes * parts, channels % kWidth == 0 && PacksAligned(x, sums), "Pooling",
      SumPixels<T>{g.h.input * g.w.input, parts, kPixelsOfThread, channels, x, sums});
  const float divisor = WholeDivisor(g);
  ForEachIndex(
      gpu, g.planes, "Pooling", DOPPIO_BODY(int64_t n) {
        const int64_t image = n / channels, c = n - image * channels;
        float sum = 0;
        for (int64_t part = 0; part < parts; ++part)
          sum += sums[(image * parts + part) * channels + c];
        y[n] = static_cast<T>(sum / divisor);
      });
}

int64_t MeanScratchBytes(const StoredPooling& pooling) {
  if (!OneLargeWindow(pooling.g)) return 0;
  if (pooling.channels == 1)
    return ReduceRowsBytes<float>(pooling.g.planes, pooling.g.h.input * pooling.g.w.input);
  return pooling.g.planes * PixelParts(pooling.g) * kBytesOf<float>;
}

// Runs `body` for n windows or elements. A pack contains channels of a single pixel. `in` and `p`
// are the addresses that `body` uses.
template <class Body, class T, class... P>
static void ForEachPlace(const Gpu& gpu, const StoredPooling& pooling, int64_t n, const char* what,
                         const Body& body, const T* in, const P*... p) {
  constexpr int kWidth = kPackWidth<T>;
  ForEachPack<kWidth>(gpu, n, pooling.channels % kWidth == 0 && PacksAligned(in, p...), what, body);
}

// Calls f(T, Int) with zeros of the activations' type and of an index type that fits bottom and
// top.
template <class F>
void WithTypes(const StoredPooling& pooling, const F& f) {
  DispatchStored(pooling.type, [&](auto zero) {
    WithIndexFor(std::max(pooling.g.elements(), pooling.g.windows()),
                 [&](auto index) { f(zero, index); });
  });
}
// Calls f with a zero of the type of the saved positions.
template <class F>
void WithPlaces(const PoolingGeometry& g, const F& f) {
  if (g.place_bytes() == 1) {
    f(uint8_t{});
  } else {
    f(int32_t{});
  }
}

class CudaPooling : public Kernel {
 public:
  explicit CudaPooling(const KernelArgs& args)
      : device_(args.device),
        pooling_{args.Form<PoolingForm>().g,
                 args.bottoms[0].layout.channels_last() ? args.bottoms[0].shape[1] : 1,
                 args.tops[0]} {
    AskForOneForm(args, &needs_);
    // The second top holds indices, in single precision and plain layout.
    if (needs_.tops.size() > 1) needs_.tops[1] = Layout();
    const PoolingGeometry& g = pooling_.g;
    if (!g.max) needs_.scratch_bytes = MeanScratchBytes(pooling_);
    if (g.max && args.backward) needs_.saved_bytes = g.windows() * g.place_bytes();
  }

  void Forward(const Pass&) override {
    const Gpu gpu = GpuOf(device_);
    WithTypes(pooling_, [&](auto zero, auto index) {
      using T = decltype(zero);
      using Int = decltype(index);
      const T* x = BottomValues<T>(0);
      T* y = TopValues<T>(0);
      if (pooling_.g.max) {
        TakeLargest<Int>(gpu, x, y);
      } else if (!OneLargeWindow(pooling_.g)) {
        ForEachPlace(gpu, pooling_, pooling_.g.windows(), "Pooling",
                     Mean<Int, T>{Geometry<Int>(pooling_), x, y}, x, y);
      } else if (pooling_.channels == 1) {
        MeanOfPlanes(gpu, pooling_.g, x, y, t_.scratch);
      } else {
        MeanOfPixels(gpu, pooling_.g, pooling_.channels, x, y, t_.scratch);
      }
    });
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    const Tensor &to = t_.bottom_grads[0], &from = t_.top_grads[0];
    if (!to) return;
    if (!from) return device_->Zero(to.raw, to.bytes());
    const Gpu gpu = GpuOf(device_);
    const char* what = "Pooling's gradient";
    WithTypes(pooling_, [&](auto zero, auto index) {
      using T = decltype(zero);
      using Int = decltype(index);
      const Geometry<Int> g(pooling_);
      const T* dy = from.data<T>();
      T* dx = to.data<T>();
      if (!pooling_.g.max) {
        ForEachPlace(gpu, pooling_, pooling_.g.elements(), what, MeanGradient<Int, T>{g, dy, dx},
                     dy, dx);
        return;
      }
      WithPlaces(pooling_.g, [&](auto place) {
        using Saved = decltype(place);
        const Saved* places = static_cast<const Saved*>(t_.saved);
        ForEachPlace(gpu, pooling_, pooling_.g.elements(), what,
                     MaxGradient<Int, T, Saved>{g, dy, places, dx}, dy, places, dx);
      });
    });
  }
  bool same_every_pass() const override { return true; }

 private:
  template <class Int, class T>
  void TakeLargest(const Gpu& gpu, const T* x, T* y) const {
    float* indices = t_.tops.size() > 1 ? TopValues<float>(1) : nullptr;
    WithPlaces(pooling_.g, [&](auto place) {
      using Saved = decltype(place);
      Saved* places = needs_.saved_bytes > 0 ? static_cast<Saved*>(t_.saved) : nullptr;
      ForEachPlace(gpu, pooling_, pooling_.g.windows(), "Pooling",
                   Max<Int, T, Saved>{Geometry<Int>(pooling_), x, y, places, indices}, x, y,
                   places);
    });
  }

  Device* const device_;
  const StoredPooling pooling_;
};

std::string PoolingCudaDeclines(const KernelArgs& args) {
  return args.Form<PoolingForm>().stochastic ? "it has MAX and AVE" : DeclinesDouble(args);
}

DOPPIO_REGISTER_KERNEL(CudaKernel<CudaPooling>("Pooling").Declines(&PoolingCudaDeclines).Narrow());

}  // namespace
}  // namespace doppio
