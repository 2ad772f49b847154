#include "layers/pooling/pooling_cuda.h"

#include "core/device/elementwise.cuh"
#include "layers/common/divider.h"

namespace doppio {
namespace {

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

  // The windows that contain an element are [First, Last].
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
  explicit Geometry(const PoolingForm& form)
      : h(form.g.h),
        w(form.g.w),
        count_padding(form.g.count_padding),
        channels(static_cast<Int>(form.channels)),
        by_channels(form.channels) {}

  struct Place {
    Int image, i, j, channel;
  };
  // Of element n of the top, of the bottom.
  DOPPIO_HD Place OfWindow(Int n) const {
    return Of(n, h.output, h.by_output, w.output, w.by_output);
  }
  DOPPIO_HD Place OfElement(Int n) const { return Of(n, h.input, h.by_input, w.input, w.by_input); }

  // Where (i, j) of an image lies in the bottom, in the top.
  DOPPIO_HD Int InBottom(const Place& at, Int i, Int j) const {
    return ((at.image * h.input + i) * w.input + j) * channels + at.channel;
  }
  DOPPIO_HD Int InTop(const Place& at, Int i, Int j) const {
    return ((at.image * h.output + i) * w.output + j) * channels + at.channel;
  }
  // Where a window lies in a plain top.
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

// Each of these computes one window, or one element of the bottom, of neighbouring channels.

template <class Int, class T, class Saved>
struct Max {
  Geometry<Int> g;
  const T* x;
  T* y;
  Saved* places;
  float* indices;

  template <int kWidth>
  DOPPIO_HD void Run(int64_t n) const {
    const auto at = g.OfWindow(static_cast<Int>(n));
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

// An element looks at the windows that contain it: no two threads write to one place, and the order
// of additions is fixed.
template <class Int, class T, class Saved>
struct MaxGradient {
  Geometry<Int> g;
  const T* dy;
  const Saved* places;
  T* dx;

  template <int kWidth>
  DOPPIO_HD void Run(int64_t n) const {
    const auto at = g.OfElement(static_cast<Int>(n));
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
    const auto at = g.OfWindow(static_cast<Int>(n));
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
    const auto at = g.OfElement(static_cast<Int>(n));
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

// Planes of which one mean is taken, so large that many threads are better than one.
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

// Side by side, for channels that lie together: sums[image][part][channel] of `each` pixels, then
// the sums of these.
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
static void MeanOfPixels(const Gpu& gpu, const PoolingForm& form, const T* x, T* y, void* scratch) {
  const int64_t channels = form.channels, parts = PixelParts(form.g);
  float* sums = static_cast<float*>(scratch);
  constexpr int kWidth = kPackWidth<T>;
  ForEachPack<kWidth>(
      gpu, form.g.planes * parts, channels % kWidth == 0 && PacksFit(x, sums), "Pooling",
      SumPixels<T>{form.g.h.input * form.g.w.input, parts, kPixelsOfThread, channels, x, sums});
  const float divisor = WholeDivisor(form.g);
  ForEachIndex(
      gpu, form.g.planes, "Pooling", DOPPIO_BODY(int64_t n) {
        const int64_t image = n / channels, c = n - image * channels;
        float sum = 0;
        for (int64_t part = 0; part < parts; ++part)
          sum += sums[(image * parts + part) * channels + c];
        y[n] = static_cast<T>(sum / divisor);
      });
}

// Packs lie within the channels of one pixel.
template <class T, class Body, class... P>
static void ForEachPlace(const Gpu& gpu, const PoolingForm& form, int64_t n, const char* what,
                         const Body& body, const P*... p) {
  constexpr int kWidth = kPackWidth<T>;
  ForEachPack<kWidth>(gpu, n, form.channels % kWidth == 0 && PacksFit(p...), what, body);
}

// f(T, Int): of the type of activations and of an index of the bottom and of the top.
template <class F>
void WithTypes(const PoolingForm& form, const F& f) {
  DispatchStored(form.type, [&](auto zero) {
    WithIndexFor(std::max(form.elements(), form.windows()), [&](auto index) { f(zero, index); });
  });
}
// f of a null pointer to the type of saved places.
template <class F>
void WithPlaces(const PoolingGeometry& g, const F& f) {
  if (g.place_bytes() == 1) {
    f(static_cast<uint8_t*>(nullptr));
  } else {
    f(static_cast<int32_t*>(nullptr));
  }
}

}  // namespace

void LaunchMaxPooling(const Gpu& gpu, const PoolingForm& form, const void* x, void* y, void* places,
                      float* indices) {
  WithTypes(form, [&](auto zero, auto index) {
    using T = decltype(zero);
    using Int = decltype(index);
    WithPlaces(form.g, [&](auto* null) {
      using Saved = std::remove_pointer_t<decltype(null)>;
      const Max<Int, T, Saved> body{Geometry<Int>(form), static_cast<const T*>(x),
                                    static_cast<T*>(y), static_cast<Saved*>(places), indices};
      ForEachPlace<T>(gpu, form, form.windows(), "Pooling", body, body.x, body.y, body.places);
    });
  });
}

void LaunchMaxPoolingBackward(const Gpu& gpu, const PoolingForm& form, const void* dy,
                              const void* places, void* dx) {
  WithTypes(form, [&](auto zero, auto index) {
    using T = decltype(zero);
    using Int = decltype(index);
    WithPlaces(form.g, [&](auto* null) {
      using Saved = std::remove_pointer_t<decltype(null)>;
      const MaxGradient<Int, T, Saved> body{Geometry<Int>(form), static_cast<const T*>(dy),
                                            static_cast<const Saved*>(places), static_cast<T*>(dx)};
      ForEachPlace<T>(gpu, form, form.elements(), "Pooling's gradient", body, body.dy, body.places,
                      body.dx);
    });
  });
}

int64_t MeanPoolingScratchBytes(const PoolingForm& form) {
  if (!OneLargeWindow(form.g)) return 0;
  if (form.channels == 1)
    return ReduceRowsBytes<float>(form.g.planes, form.g.h.input * form.g.w.input);
  return form.g.planes * PixelParts(form.g) * static_cast<int64_t>(sizeof(float));
}

void LaunchMeanPooling(const Gpu& gpu, const PoolingForm& form, const void* x, void* y,
                       void* scratch) {
  if (OneLargeWindow(form.g)) {
    DispatchStored(form.type, [&](auto zero) {
      using T = decltype(zero);
      if (form.channels == 1) {
        MeanOfPlanes(gpu, form.g, static_cast<const T*>(x), static_cast<T*>(y), scratch);
      } else {
        MeanOfPixels(gpu, form, static_cast<const T*>(x), static_cast<T*>(y), scratch);
      }
    });
    return;
  }
  WithTypes(form, [&](auto zero, auto index) {
    using T = decltype(zero);
    using Int = decltype(index);
    const Mean<Int, T> body{Geometry<Int>(form), static_cast<const T*>(x), static_cast<T*>(y)};
    ForEachPlace<T>(gpu, form, form.windows(), "Pooling", body, body.x, body.y);
  });
}

void LaunchMeanPoolingBackward(const Gpu& gpu, const PoolingForm& form, const void* dy, void* dx) {
  WithTypes(form, [&](auto zero, auto index) {
    using T = decltype(zero);
    using Int = decltype(index);
    const MeanGradient<Int, T> body{Geometry<Int>(form), static_cast<const T*>(dy),
                                    static_cast<T*>(dx)};
    ForEachPlace<T>(gpu, form, form.elements(), "Pooling's gradient", body, body.dy, body.dx);
  });
}

}  // namespace doppio
