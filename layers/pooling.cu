#include "layers/pooling_cuda.h"

#include "core/device/launch.cuh"
#include "layers/divider.h"

namespace doppio {
namespace {

template <class Int>
struct Axis : BasicPoolingAxis<Int> {
  Divider<Int> by_input, by_output, by_stride;

  explicit Axis(const PoolingAxis& a)
      : BasicPoolingAxis<Int>{static_cast<Int>(a.input), static_cast<Int>(a.output), static_cast<Int>(a.kernel),
                              static_cast<Int>(a.stride), static_cast<Int>(a.pad)},
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
  explicit Geometry(const PoolingGeometry& g) : h(g.h), w(g.w), count_padding(g.count_padding) {}

  struct Place {
    Int plane, i, j;
  };
  // Of element n of the top, of the bottom.
  DOPPIO_HD Place OfWindow(Int n) const { return Of(n, h.output, h.by_output, w.output, w.by_output); }
  DOPPIO_HD Place OfElement(Int n) const { return Of(n, h.input, h.by_input, w.input, w.by_input); }

  // Where the row of a plane begins in the bottom, in the top.
  DOPPIO_HD Int BottomRow(Int plane, Int i) const { return (plane * h.input + i) * w.input; }
  DOPPIO_HD Int TopRow(Int plane, Int i) const { return (plane * h.output + i) * w.output; }

  DOPPIO_HD float Divisor(Int i, Int j) const {
    return static_cast<float>(MeanDivisor<Int>(count_padding, h, w, i, j));
  }

 private:
  DOPPIO_HD static Place Of(Int n, Int rows, const Divider<Int>& by_rows, Int width, const Divider<Int>& by_width) {
    const Int row = by_width(n), plane = by_rows(row);
    return {plane, row - plane * rows, n - row * width};
  }
};

template <class Int, class Saved>
void Max(const Gpu& gpu, const PoolingGeometry& all, const float* x, float* y, Saved* places, float* indices) {
  const Geometry<Int> g(all);
  ForEachIndex(gpu, all.planes * all.h.output * all.w.output, "Pooling", DOPPIO_BODY(int64_t n) {
    const auto at = g.OfWindow(static_cast<Int>(n));
    const Int h0 = g.h.Begin(at.i), h1 = g.h.End(at.i), w0 = g.w.Begin(at.j), w1 = g.w.End(at.j);
    const float* plane = x + g.BottomRow(at.plane, 0);
    Int best_h = h0, best_w = w0;
    float best = plane[h0 * g.w.input + w0];
    for (Int h = h0; h < h1; ++h) {
      for (Int w = w0; w < w1; ++w) {
        const float here = plane[h * g.w.input + w];
        if (here > best) {
          best = here;
          best_h = h;
          best_w = w;
        }
      }
    }
    y[n] = best;
    if (places != nullptr) {
      const Int top = at.i * g.h.stride - g.h.pad, left = at.j * g.w.stride - g.w.pad;
      places[n] = static_cast<Saved>((best_h - top) * g.w.kernel + best_w - left);
    }
    if (indices != nullptr) indices[n] = static_cast<float>(best_h * g.w.input + best_w);
  });
}

// Each element looks at the windows that contain it: no two threads write to one place, and the order of additions is
// fixed.
template <class Int, class Saved>
void MaxBackward(const Gpu& gpu, const PoolingGeometry& all, const float* dy, const Saved* places, float* dx) {
  const Geometry<Int> g(all);
  ForEachIndex(gpu, all.planes * all.h.input * all.w.input, "Pooling's gradient", DOPPIO_BODY(int64_t n) {
    const auto at = g.OfElement(static_cast<Int>(n));
    const Int j0 = g.w.First(at.j), j1 = g.w.Last(at.j), i1 = g.h.Last(at.i);
    float sum = 0;
    for (Int i = g.h.First(at.i); i <= i1; ++i) {
      const Int row = g.TopRow(at.plane, i), place = (at.i - i * g.h.stride + g.h.pad) * g.w.kernel;
      for (Int j = j0; j <= j1; ++j) {
        if (static_cast<Int>(places[row + j]) == place + at.j - j * g.w.stride + g.w.pad) sum += dy[row + j];
      }
    }
    dx[n] = sum;
  });
}

template <class Int>
void Mean(const Gpu& gpu, const PoolingGeometry& all, const float* x, float* y) {
  const Geometry<Int> g(all);
  ForEachIndex(gpu, all.planes * all.h.output * all.w.output, "Pooling", DOPPIO_BODY(int64_t n) {
    const auto at = g.OfWindow(static_cast<Int>(n));
    const Int h1 = g.h.End(at.i), w0 = g.w.Begin(at.j), w1 = g.w.End(at.j);
    float sum = 0;
    for (Int h = g.h.Begin(at.i); h < h1; ++h) {
      const Int row = g.BottomRow(at.plane, h);
      for (Int w = w0; w < w1; ++w) sum += x[row + w];
    }
    y[n] = sum / g.Divisor(at.i, at.j);
  });
}

template <class Int>
void MeanBackward(const Gpu& gpu, const PoolingGeometry& all, const float* dy, float* dx) {
  const Geometry<Int> g(all);
  ForEachIndex(gpu, all.planes * all.h.input * all.w.input, "Pooling's gradient", DOPPIO_BODY(int64_t n) {
    const auto at = g.OfElement(static_cast<Int>(n));
    const Int j0 = g.w.First(at.j), j1 = g.w.Last(at.j), i1 = g.h.Last(at.i);
    float sum = 0;
    for (Int i = g.h.First(at.i); i <= i1; ++i) {
      const Int row = g.TopRow(at.plane, i);
      for (Int j = j0; j <= j1; ++j) sum += dy[row + j] / g.Divisor(i, j);
    }
    dx[n] = sum;
  });
}

// Planes of which one mean is taken, so large that a block of threads is better than one.
bool OneLargeWindow(const PoolingGeometry& g) {
  const bool whole = g.h.output * g.w.output == 1 && g.h.Begin(0) == 0 && g.w.Begin(0) == 0 &&
                     g.h.End(0) == g.h.input && g.w.End(0) == g.w.input;
  return whole && g.h.input * g.w.input >= 1024;
}

void MeanOfPlanes(const Gpu& gpu, const PoolingGeometry& g, const float* x, float* y, void* scratch) {
  const int64_t plane = g.h.input * g.w.input;
  const float divisor = static_cast<float>(MeanDivisor<int64_t>(g.count_padding, g.h, g.w, 0, 0));
  ReduceRows(
      gpu, g.planes, plane, "Pooling", 0.0f, DOPPIO_BODY(int64_t row, int64_t i) { return x[row * plane + i]; }, Plus(),
      DOPPIO_BODY(int64_t row, float sum) { y[row] = sum / divisor; }, scratch);
}

// Indices of both the bottom and the top fit.
template <class F>
void WithIndex(const PoolingGeometry& g, const F& f) {
  const int64_t bottom = g.planes * g.h.input * g.w.input, top = g.planes * g.h.output * g.w.output;
  WithIndexFor(std::max(bottom, top), f);
}

}  // namespace

void LaunchMaxPooling(const Gpu& gpu, const PoolingGeometry& g, const float* x, float* y, void* places,
                      float* indices) {
  WithIndex(g, [&](auto zero) {
    using Int = decltype(zero);
    if (g.place_bytes() == 1) {
      Max<Int>(gpu, g, x, y, static_cast<uint8_t*>(places), indices);
    } else {
      Max<Int>(gpu, g, x, y, static_cast<int32_t*>(places), indices);
    }
  });
}

void LaunchMaxPoolingBackward(const Gpu& gpu, const PoolingGeometry& g, const float* dy, const void* places,
                              float* dx) {
  WithIndex(g, [&](auto zero) {
    using Int = decltype(zero);
    if (g.place_bytes() == 1) {
      MaxBackward<Int>(gpu, g, dy, static_cast<const uint8_t*>(places), dx);
    } else {
      MaxBackward<Int>(gpu, g, dy, static_cast<const int32_t*>(places), dx);
    }
  });
}

int64_t MeanPoolingScratchBytes(const PoolingGeometry& g) {
  return OneLargeWindow(g) ? ReduceRowsBytes<float>(g.planes, g.h.input * g.w.input) : 0;
}

void LaunchMeanPooling(const Gpu& gpu, const PoolingGeometry& g, const float* x, float* y, void* scratch) {
  if (OneLargeWindow(g)) {
    MeanOfPlanes(gpu, g, x, y, scratch);
    return;
  }
  WithIndex(g, [&](auto zero) { Mean<decltype(zero)>(gpu, g, x, y); });
}

void LaunchMeanPoolingBackward(const Gpu& gpu, const PoolingGeometry& g, const float* dy, float* dx) {
  WithIndex(g, [&](auto zero) { MeanBackward<decltype(zero)>(gpu, g, dy, dx); });
}

}  // namespace doppio
