// Pooling: the largest element or the average of each window. Of equal elements the first is taken.
// A second top of MAX holds the index of the chosen element within its plane.
#include <limits>

#include "core/base/threads.h"
#include "core/net/layer.h"
#include "layers/pooling_geometry.h"

namespace doppio {
namespace {

LayerShape Infer(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const PoolingGeometry g = ReadPoolingGeometry(spec, bottoms[0]);
  if (!g.max && spec.param.top_size() > 1) {
    throw spec.Mistake("top", "only MAX pooling has a second top (the index of the chosen element)",
                       1);
  }
  LayerShape shape;
  const Shape top{bottoms[0][0], bottoms[0][1], g.h.output, g.w.output};
  shape.tops.assign(static_cast<size_t>(std::max(1, spec.param.top_size())), top);
  shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  return shape;
}

template <class T>
class PoolingKernel : public Kernel {
 public:
  explicit PoolingKernel(const KernelArgs& args)
      : g_(ReadPoolingGeometry(*args.spec, args.bottoms[0].shape)) {
    if (g_.max && args.backward) {
      needs_.saved_bytes =
          g_.planes * g_.h.output * g_.w.output * static_cast<int64_t>(sizeof(int32_t));
    }
  }

  void Forward(const Pass&) override {
    const int64_t in = g_.h.input * g_.w.input, out = g_.h.output * g_.w.output;
    const T* x = t_.bottoms[0].data<T>();
    T* y = t_.tops[0].data<T>();
    T* mask = t_.tops.size() > 1 ? t_.tops[1].data<T>() : nullptr;
    int32_t* chosen = static_cast<int32_t*>(t_.saved);
    ParallelFor(g_.planes, 1 + 4096 / (in + 1), [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        EachWindow([&](int64_t o, int64_t h0, int64_t h1, int64_t w0, int64_t w1, T divisor) {
          const int64_t at = plane * out + o;
          if (g_.max) {
            const int64_t best = Largest(x + plane * in, h0, h1, w0, w1);
            y[at] = x[plane * in + best];
            if (chosen != nullptr) chosen[at] = static_cast<int32_t>(best);
            if (mask != nullptr) mask[at] = static_cast<T>(best);
            return;
          }
          T sum = 0;
          for (int64_t h = h0; h < h1; ++h) {
            for (int64_t w = w0; w < w1; ++w) sum += x[plane * in + h * g_.w.input + w];
          }
          y[at] = sum / divisor;
        });
      }
    });
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    const int64_t in = g_.h.input * g_.w.input, out = g_.h.output * g_.w.output;
    T* dx = t_.bottom_grads[0].data<T>();
    const T* dy = t_.top_grads[0].data<T>();
    const int32_t* chosen = static_cast<const int32_t*>(t_.saved);
    ParallelFor(g_.planes, 1 + 4096 / (in + 1), [&](int64_t begin, int64_t end) {
      std::fill(dx + begin * in, dx + end * in, T(0));
      if (dy == nullptr) return;
      for (int64_t plane = begin; plane < end; ++plane) {
        EachWindow([&](int64_t o, int64_t h0, int64_t h1, int64_t w0, int64_t w1, T divisor) {
          const int64_t at = plane * out + o;
          if (g_.max) {
            dx[plane * in + chosen[at]] += dy[at];
            return;
          }
          const T share = dy[at] / divisor;
          for (int64_t h = h0; h < h1; ++h) {
            for (int64_t w = w0; w < w1; ++w) dx[plane * in + h * g_.w.input + w] += share;
          }
        });
      }
    });
  }

 private:
  // f(output index, its window within the input, divisor of the average) over one plane.
  template <class F>
  void EachWindow(const F& f) const {
    for (int64_t i = 0; i < g_.h.output; ++i) {
      const int64_t h0 = g_.h.Begin(i), h1 = g_.h.End(i);
      for (int64_t j = 0; j < g_.w.output; ++j) {
        const int64_t w0 = g_.w.Begin(j), w1 = g_.w.End(j);
        const int64_t size = g_.count_padding ? g_.h.Span(i) * g_.w.Span(j) : (h1 - h0) * (w1 - w0);
        f(i * g_.w.output + j, h0, h1, w0, w1, static_cast<T>(size));
      }
    }
  }

  int64_t Largest(const T* plane, int64_t h0, int64_t h1, int64_t w0, int64_t w1) const {
    int64_t best = h0 * g_.w.input + w0;
    for (int64_t h = h0; h < h1; ++h) {
      for (int64_t w = w0; w < w1; ++w) {
        const int64_t at = h * g_.w.input + w;
        if (plane[at] > plane[best]) best = at;
      }
    }
    return best;
  }

  const PoolingGeometry g_;
};

LayerType Type() {
  LayerType type;
  type.min_bottoms = type.max_bottoms = type.min_tops = 1;
  type.max_tops = 2;
  type.infer = &Infer;
  return type;
}

DOPPIO_REGISTER_LAYER("Pooling", Type());
DOPPIO_REGISTER_KERNEL({"Pooling", DeviceKind::kCpu, "reference", 0, &MakeForFloat<PoolingKernel>,
                        nullptr});

}  // namespace
}  // namespace doppio
