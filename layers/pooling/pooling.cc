// Pooling: the maximum or the average of each window. Of equal elements, MAX takes the first. A
// second top of MAX holds the index of the chosen element in its plane. STOCHASTIC is in
// plain_pooling.h.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/base/threads.h"
#include "core/net/contract/layer.h"
#include "layers/common/channel_blocks.h"
#include "layers/common/host_loops.h"
#include "layers/common/lanes.h"
#include "layers/common/stored_kernel.h"
#include "layers/pooling/plain_pooling_kernel.h"
#include "layers/pooling/pooling_form.h"
#include "layers/pooling/window_lanes.h"

namespace doppio {
namespace {

LayerShape InferPooling(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const PoolingForm form = ReadPooling(spec, bottoms[0]);
  const PoolingGeometry& g = form.g;
  spec.RefuseIf(!g.max && spec.param.top_size() > 1, {"top", 1},
                "only MAX pooling has a second top (the index of the chosen element)");
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
// neighbouring channels at a time. Backward sums the gradients of the rows that the current row of
// windows covers in scratch memory, so it writes and rounds each gradient once.
template <class T>
class PoolingKernel : public Kernel {
  using Wide = ComputeType<T>;

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
    if (!args.backward) return;
    if (g_.max) {
      needs_.saved_bytes =
          channels_.outer * channels_.padded() * g_.h.output * g_.w.output * g_.place_bytes();
    }
    needs_.scratch_bytes = NumThreads() * RowsElements() * kBytesOf<Wide>;
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
    const Tensor& gradient = t_.bottom_grads[0];
    if (!gradient) return;
    if (!t_.top_grads[0]) {
      std::memset(gradient.raw, 0, gradient.bytes());
      return;
    }
    ForEachPlane([this](auto lanes, int64_t in, int64_t out) {
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
    ParallelForEach(v.outer * v.blocks * units, 1 + 4096 / (in + 1), [&](int64_t i) {
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
    });
  }

  // Calls f(i, j, offset in the top) for every window of a plane.
  template <class F>
  void ForWindows(int64_t out, const F& f) const {
    for (int64_t i = 0; i < g_.h.output; ++i) {
      for (int64_t j = 0; j < g_.w.output; ++j, out += channels_.block) f(i, j, out);
    }
  }

  // The sums of gradients of the rows that one row of windows may cover, for up to 16 lanes. Row h
  // of the bottom is row h % (number of rows).
  int64_t Rows() const { return std::min(g_.h.kernel, g_.h.input); }
  int64_t RowsElements() const { return Rows() * g_.w.input * 16; }
  template <int kLanes>
  Wide* Row(Wide* rows, int64_t h) const {
    return rows + h % Rows() * g_.w.input * kLanes;
  }

  // Writes the gradient of a plane. For every window, add(rows, i, j, offset in the top) adds the
  // window's gradient to the rows.
  template <int kLanes, class F>
  void SumOverWindows(int64_t in, int64_t out, const F& add) const {
    Wide* const rows = static_cast<Wide*>(t_.scratch) + omp_get_thread_num() * RowsElements();
    T* const dx = BottomGradient<T>(0) + in;
    int64_t written = 0, cleared = 0;  // numbers of rows
    const auto write_until = [&](int64_t end) {
      for (; written < end; ++written) {
        const Wide* row = Row<kLanes>(rows, written);
        T* to = dx + written * g_.w.input * channels_.block;
        for (int64_t w = 0; w < g_.w.input; ++w) {
          const auto sum = LoadLanes<kLanes>(row + w * kLanes);
          StoreRounded<kLanes>(to + w * channels_.block,
                               written < cleared ? sum : Lanes<Wide, kLanes>{});
        }
      }
    };
    for (int64_t i = 0; i < g_.h.output; ++i) {
      write_until(std::min(g_.h.Begin(i), g_.h.input));
      for (cleared = std::max(cleared, written); cleared < g_.h.End(i); ++cleared) {
        Wide* row = Row<kLanes>(rows, cleared);
        std::fill(row, row + g_.w.input * kLanes, Wide(0));
      }
      for (int64_t j = 0; j < g_.w.output; ++j, out += channels_.block) add(rows, i, j, out);
    }
    write_until(g_.h.input);
  }

  template <int kLanes, class Index>
  void TakeLargest(int64_t in, int64_t out) const {
    const T* x = BottomValues<T>(0);
    T* y = TopValues<T>(0);
    Index* saved = static_cast<Index*>(t_.saved);
    T* indices = t_.tops.size() > 1 ? TopValues<T>(1) : nullptr;
    ForWindows(out, [&](int64_t i, int64_t j, int64_t at) {
      const auto [best, where] = LargestOf<kLanes, Wide>(g_, i, j, [=](int64_t element) {
        return LoadWide<kLanes>(x + in + element * channels_.block);
      });
      StoreRounded<kLanes>(y + at, best);
      if (saved != nullptr) StoreLanes(saved + at, ConvertLanes<Index, kLanes>(where));
      if constexpr (kLanes == 1) {
        if (indices != nullptr) indices[at] = static_cast<T>(ElementAt(i, j, where));
      }
    });
  }

  template <int kLanes, class Index>
  void ReturnToLargest(int64_t in, int64_t out) const {
    const T* dy = TopGradient<T>(0);
    const Index* saved = static_cast<const Index*>(t_.saved);
    SumOverWindows<kLanes>(in, out, [=](Wide* rows, int64_t i, int64_t j, int64_t at) {
      const auto gradient = LoadWide<kLanes>(dy + at);
      if constexpr (kLanes == 1) {
        const int64_t element = ElementAt(i, j, saved[at]);
        Row<1>(rows, element / g_.w.input)[element % g_.w.input] += gradient;
      } else {
        const auto chosen = ConvertLanes<IntegerLike<Wide>, kLanes>(LoadLanes<kLanes>(saved + at));
        AddToWindow<kLanes>(
            rows, i, j, [=](int32_t k) { return chosen == k ? gradient : Lanes<Wide, kLanes>{}; });
      }
    });
  }

  // Adds share(k) to the sums of every element of window (i, j) that is inside the input; k is the
  // element's place in the window.
  template <int kLanes, class F>
  [[gnu::always_inline]] void AddToWindow(Wide* rows, int64_t i, int64_t j, const F& share) const {
    const int64_t w0 = g_.w.Begin(j), w1 = g_.w.End(j);
    for (int64_t h = g_.h.Begin(i); h < g_.h.End(i); ++h) {
      Wide* row = Row<kLanes>(rows, h);
      const auto k = static_cast<int32_t>(PlaceOf(g_, i, j, h, 0));
      for (int64_t w = w0; w < w1; ++w) {
        Wide* to = row + w * kLanes;
        const Lanes<Wide, kLanes> sum = LoadLanes<kLanes>(to) + share(k + static_cast<int32_t>(w));
        StoreLanes(to, sum);
      }
    }
  }

  template <int kLanes>
  void Average(int64_t in, int64_t out) const {
    const T* x = BottomValues<T>(0);
    T* y = TopValues<T>(0);
    ForWindows(out, [&](int64_t i, int64_t j, int64_t at) {
      Lanes<Wide, kLanes> sum{};
      ForEachPlace(g_, i, j, [&](int32_t, int64_t element) {
        sum += LoadWide<kLanes>(x + in + element * channels_.block);
      });
      StoreRounded<kLanes>(y + at, sum / Divisor(i, j));
    });
  }

  template <int kLanes>
  void SpreadAverage(int64_t in, int64_t out) const {
    const T* dy = TopGradient<T>(0);
    SumOverWindows<kLanes>(in, out, [this, dy](Wide* rows, int64_t i, int64_t j, int64_t at) {
      const Lanes<Wide, kLanes> share = LoadWide<kLanes>(dy + at) / Divisor(i, j);
      AddToWindow<kLanes>(rows, i, j, [share](int32_t) { return share; });
    });
  }

  Wide Divisor(int64_t i, int64_t j) const {
    return static_cast<Wide>(MeanDivisor(g_.count_padding, g_.h, g_.w, i, j));
  }

  // Returns the index in the plane of the element at `place` of window (i, j), the inverse of
  // PlaceOf.
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
                                             : MakeForStored<PoolingKernel>(args);
}

std::string PoolingDeclines(const KernelArgs& args) {
  if (!Is16Bit(args.tops[0])) return "";
  if (args.Form<PoolingForm>().stochastic) return "STOCHASTIC computes in single precision";
  return args.tops.size() > 1 ? "its second top holds indices in single precision" : "";
}

DOPPIO_REGISTER_LAYER("Pooling",
                      LayerType(&InferPooling).Bottoms(1).Tops(1, 2).RowByRow().DrawnAs("pooling"));
DOPPIO_REGISTER_KERNEL(
    ReferenceKernel("Pooling", &MakePooling).Declines(&PoolingDeclines).Narrow());

}  // namespace
}  // namespace doppio
