// Pooling: the maximum or the average of each window. Of equal elements, MAX takes the first. A
// second top of MAX holds the index of the chosen element in its plane. STOCHASTIC is in
// plain_pooling.h.
#include <type_traits>

#include "core/base/threads.h"
#include "core/net/graph/layer.h"
#include "layers/common/channel_blocks.h"
#include "layers/common/host_loops.h"
#include "layers/pooling/lanes.h"
#include "layers/pooling/plain_pooling_kernel.h"
#include "layers/pooling/pooling_form.h"

namespace doppio {
namespace {

LayerShape InferPooling(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const PoolingForm form = ReadPooling(spec, bottoms[0]);
  const PoolingGeometry& g = form.g;
  if (!g.max && spec.param.top_size() > 1) {
    throw spec.Mistake("top", "only MAX pooling has a second top (the index of the chosen element)",
                       1);
  }
  LayerShape shape;
  shape.form = form;
  const Shape top{bottoms[0][0], bottoms[0][1], g.h.output, g.w.output};
  shape.tops.assign(std::max(1, spec.param.top_size()), top);
  shape.exact_tops = {false, true};
  shape.backward_reads_bottoms = form.stochastic && ReadsBottomBackward(form.stochastic->by);
  shape.backward_reads_tops = false;
  return shape;
}

// MAX and AVE, in any layout that ChannelBlocks can describe (channel_blocks.h). Processes up to 16
// neighbouring channels at a time.
template <class T>
class PoolingKernel : public Kernel {
 public:
  explicit PoolingKernel(const KernelArgs& args) : g_(args.Form<PoolingForm>().g) {
    // Indices refer to a plain plane.
    const bool indices = args.top_shapes.size() > 1;
    const TensorSpec& bottom = args.bottoms[0];
    const Layout layout = indices ? Layout() : ChannelLayout(bottom, 1, 2);
    FindChannelBlocks({bottom.shape, args.dtype, layout}, 1, 2, &channels_);
    if (layout.plain())
      channels_ = {bottom.shape[0], bottom.shape[1], bottom.shape.count(2), 1, bottom.shape[1]};
    needs_.bottoms = {layout};
    needs_.tops.assign(args.top_shapes.size(),
                       WithSpatial(bottom.shape, layout, args.top_shapes[0]));
    if (g_.max && args.backward) {
      needs_.saved_bytes =
          channels_.outer * channels_.padded() * g_.h.output * g_.w.output * g_.place_bytes();
    }
  }

  void Forward(const Pass&) override {
    ForEachPlane([this](auto lanes, int64_t in, int64_t out) {
      if (!g_.max) {
        Average<lanes>(in, out);
      } else if (g_.place_bytes() == 1) {
        TakeLargest<lanes, uint8_t>(in, out);
      } else {
        TakeLargest<lanes, int32_t>(in, out);
      }
    });
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    ForEachPlane([this](auto lanes, int64_t in, int64_t out) {
      Clear<lanes>(in);
      if (!t_.top_grads[0]) return;
      if (!g_.max) {
        SpreadAverage<lanes>(in, out);
      } else if (g_.place_bytes() == 1) {
        ReturnToLargest<lanes, uint8_t>(in, out);
      } else {
        ReturnToLargest<lanes, int32_t>(in, out);
      }
    });
  }

 private:
  // Calls f(lanes, in, out) for the channels of all images, in parallel. `in` and `out` are the
  // offsets of the lanes in the bottom and in the top.
  template <class F>
  void ForEachPlane(const F& f) const {
    const int64_t in = g_.h.input * g_.w.input, out = g_.h.output * g_.w.output;
    const ChannelBlocks& v = channels_;
    const int64_t sixteens = v.block / 16, rest = v.block % 16,
                  units = sixteens + (rest == 8 ? 1 : rest);
    ParallelFor(v.outer * v.blocks * units, 1 + 4096 / (in + 1), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t unit = i % units, block = i / units * v.block;
        const int64_t first = unit <= sixteens ? unit * 16 : sixteens * 15 + unit;
        const int64_t bottom = block * in + first, top = block * out + first;
        if (unit < sixteens) {
          f(std::integral_constant<int, 16>(), bottom, top);
        } else if (rest == 8) {
          f(std::integral_constant<int, 8>(), bottom, top);
        } else {
          f(std::integral_constant<int, 1>(), bottom, top);
        }
      }
    });
  }

  // Calls f(i, j, offset in the top) for every window of a plane.
  template <class F>
  void ForWindows(int64_t out, const F& f) const {
    for (int64_t i = 0; i < g_.h.output; ++i) {
      for (int64_t j = 0; j < g_.w.output; ++j, out += channels_.block) f(i, j, out);
    }
  }

  // Calls f(k, offset in the bottom) for every element of window (i, j) that is inside the input. k
  // is the element's row-major position in the window, padding included.
  template <class F>
  [[gnu::always_inline]] void ForPlaces(int64_t in, int64_t i, int64_t j, const F& f) const {
    const int64_t top = i * g_.h.stride - g_.h.pad, left = j * g_.w.stride - g_.w.pad;
    const int64_t w0 = g_.w.Begin(j), w1 = g_.w.End(j);
    for (int64_t h = g_.h.Begin(i); h < g_.h.End(i); ++h) {
      const int64_t row = in + h * g_.w.input * channels_.block;
      const int32_t k = static_cast<int32_t>((h - top) * g_.w.kernel - left);
      for (int64_t w = w0; w < w1; ++w) f(k + static_cast<int32_t>(w), row + w * channels_.block);
    }
  }

  template <int kLanes, class Index>
  void TakeLargest(int64_t in, int64_t out) const {
    using Numbers = Lanes<T, kLanes>;
    using Places = Lanes<IntegerLike<T>, kLanes>;
    const T* x = t_.bottoms[0].data<T>();
    T* y = t_.tops[0].data<T>();
    Index* saved = static_cast<Index*>(t_.saved);
    T* indices = t_.tops.size() > 1 ? t_.tops[1].data<T>() : nullptr;
    ForWindows(out, [&](int64_t i, int64_t j, int64_t at) {
      const int64_t h = g_.h.Begin(i), w = g_.w.Begin(j);
      Numbers best = LoadLanes<kLanes>(x + in + (h * g_.w.input + w) * channels_.block);
      Places where = Places{} + static_cast<int32_t>(PlaceOf(i, j, h, w));
      ForPlaces(in, i, j, [&](int32_t k, int64_t from) {
        const Numbers here = LoadLanes<kLanes>(x + from);
        const auto larger = here > best;
        best = larger ? here : best;
        where = larger ? Places{} + k : where;
      });
      StoreLanes(y + at, best);
      if (saved != nullptr) StoreLanes(saved + at, ConvertLanes<Index, kLanes>(where));
      if constexpr (kLanes == 1) {
        if (indices != nullptr) indices[at] = static_cast<T>(ElementAt(i, j, where));
      }
    });
  }

  template <int kLanes, class Index>
  void ReturnToLargest(int64_t in, int64_t out) const {
    using Integer = IntegerLike<T>;
    const T* dy = t_.top_grads[0].data<T>();
    T* dx = t_.bottom_grads[0].data<T>();
    const Index* saved = static_cast<const Index*>(t_.saved);
    ForWindows(out, [&](int64_t i, int64_t j, int64_t at) {
      if constexpr (kLanes == 1) {
        dx[in + ElementAt(i, j, saved[at]) * channels_.block] += dy[at];
      } else {
        const Lanes<T, kLanes> gradient = LoadLanes<kLanes>(dy + at);
        const auto chosen = ConvertLanes<Integer, kLanes>(LoadLanes<kLanes>(saved + at));
        ForPlaces(in, i, j, [&](int32_t k, int64_t to) {
          const Lanes<T, kLanes> share = chosen == k ? gradient : Lanes<T, kLanes>{};
          StoreLanes(dx + to, LoadLanes<kLanes>(dx + to) + share);
        });
      }
    });
  }

  template <int kLanes>
  void Average(int64_t in, int64_t out) const {
    const T* x = t_.bottoms[0].data<T>();
    T* y = t_.tops[0].data<T>();
    ForWindows(out, [&](int64_t i, int64_t j, int64_t at) {
      Lanes<T, kLanes> sum{};
      ForPlaces(in, i, j, [&](int32_t, int64_t from) { sum += LoadLanes<kLanes>(x + from); });
      const Lanes<T, kLanes> mean = sum / Divisor(i, j);
      StoreLanes(y + at, mean);
    });
  }

  template <int kLanes>
  void SpreadAverage(int64_t in, int64_t out) const {
    const T* dy = t_.top_grads[0].data<T>();
    T* dx = t_.bottom_grads[0].data<T>();
    ForWindows(out, [&](int64_t i, int64_t j, int64_t at) {
      const Lanes<T, kLanes> share = LoadLanes<kLanes>(dy + at) / Divisor(i, j);
      ForPlaces(in, i, j, [&](int32_t, int64_t to) {
        const Lanes<T, kLanes> sum = LoadLanes<kLanes>(dx + to) + share;
        StoreLanes(dx + to, sum);
      });
    });
  }

  // Zeroes the plane's gradient.
  template <int kLanes>
  void Clear(int64_t in) const {
    T* dx = t_.bottom_grads[0].data<T>() + in;
    for (int64_t i = 0; i < g_.h.input * g_.w.input; ++i) {
      StoreLanes(dx + i * channels_.block, Lanes<T, kLanes>{});
    }
  }

  T Divisor(int64_t i, int64_t j) const {
    return static_cast<T>(MeanDivisor(g_.count_padding, g_.h, g_.w, i, j));
  }

  // PlaceOf returns the position in window (i, j) of element (h, w) of the input. ElementAt is its
  // inverse and returns an index in the plane.
  int64_t PlaceOf(int64_t i, int64_t j, int64_t h, int64_t w) const {
    return (h - i * g_.h.stride + g_.h.pad) * g_.w.kernel + (w - j * g_.w.stride + g_.w.pad);
  }
  int64_t ElementAt(int64_t i, int64_t j, int64_t place) const {
    return (i * g_.h.stride - g_.h.pad + place / g_.w.kernel) * g_.w.input + j * g_.w.stride -
           g_.w.pad + place % g_.w.kernel;
  }

  const PoolingGeometry g_;
  ChannelBlocks channels_;
};

template <class T>
class StochasticPooling : public PlainPoolingKernel<T, HostLoops> {
 public:
  explicit StochasticPooling(const KernelArgs& args)
      : PlainPoolingKernel<T, HostLoops>(args, {*args.Form<PoolingForm>().stochastic}) {}
};

std::unique_ptr<Kernel> MakePooling(const KernelArgs& args) {
  return args.Form<PoolingForm>().stochastic ? MakeForFloat<StochasticPooling>(args)
                                             : MakeForFloat<PoolingKernel>(args);
}

DOPPIO_REGISTER_LAYER("Pooling", LayerType(&InferPooling).Bottoms(1).Tops(1, 2).RowByRow());
DOPPIO_REGISTER_KERNEL(ReferenceKernel("Pooling", &MakePooling));

}  // namespace
}  // namespace doppio
