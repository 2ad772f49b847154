// Local response normalisation: y = x * scale^-beta with scale = k + alpha / window * (sum of
// squares in a window around x). The window is local_size channels or, for WITHIN_CHANNEL,
// local_size^2 pixels; in that case k is 1. Elements beyond the border count as zeros.
#include <cmath>

#include "core/base/threads.h"
#include "core/net/contract/layer.h"
#include "layers/common/bottom_checks.h"
#include "layers/normalization/lrn_ops.h"

namespace doppio {
namespace {

LayerShape InferLrn(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const LRNParameter& p = spec.param.lrn_param();
  CheckImages(spec, bottoms[0]);
  spec.RefuseIf(p.local_size() % 2 == 0, "lrn_param.local_size", "local_size must be odd, found ",
                p.local_size());
  const bool within = p.norm_region() == LRNParameter::WITHIN_CHANNEL;
  const int64_t half = (static_cast<int64_t>(p.local_size()) - 1) / 2;
  LayerShape shape;
  shape.form = LrnForm{{within, half}, p.alpha(), p.beta(), within ? 1.0f : p.k()};
  shape.tops = bottoms;
  shape.backward_reads_tops = false;
  return shape;
}

template <class T>
class LrnKernel : public Kernel {
 public:
  explicit LrnKernel(const KernelArgs& args)
      : window_(args.Form<LrnForm>().window),
        ops_(args.Form<LrnForm>()),
        shape_(args.bottoms[0].shape) {
    const int64_t bytes = shape_.count() * kBytesOf<T>;
    needs_.scratch_bytes = bytes;
    if (args.backward) needs_.saved_bytes = bytes;  // scale, which backward reads
  }

  void Forward(const Pass&) override {
    const T* x = BottomValues<T>(0);
    T* y = TopValues<T>(0);
    T* scale = static_cast<T*>(needs_.saved_bytes > 0 ? t_.saved : t_.scratch);
    EachRow([&, ops = ops_](int64_t n, int64_t c, int64_t h) {
      const int64_t at = Row(n, c, h), width = shape_[3];
      std::fill(scale + at, scale + at + width, T(0));
      SumWindow(n, c, h, scale + at, [x](int64_t i) { return x[i] * x[i]; });
      for (int64_t i = at; i < at + width; ++i) {
        scale[i] = ops.Scale(scale[i]);
        y[i] = x[i] * ops.Power(scale[i]);
      }
    });
  }

  // dx = dy * scale^-beta - 2 * alpha / window * beta * x * (sum of dy * y / scale in the window)
  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    const T* x = BottomValues<T>(0);
    const T* dy = TopGradient<T>(0);
    T* dx = BottomGradient<T>(0);
    const T* scale = static_cast<const T*>(t_.saved);
    T* ratio = static_cast<T*>(t_.scratch);
    EachRow([&, ops = ops_](int64_t n, int64_t c, int64_t h) {
      const int64_t at = Row(n, c, h);
      for (int64_t i = at; i < at + shape_[3]; ++i) {
        ratio[i] = ops.Ratio(x[i], dy[i], ops.Powers(scale[i]).over_scale);
      }
    });
    EachRow([&, ops = ops_](int64_t n, int64_t c, int64_t h) {
      const int64_t at = Row(n, c, h), width = shape_[3];
      std::fill(dx + at, dx + at + width, T(0));
      SumWindow(n, c, h, dx + at, [ratio](int64_t i) { return ratio[i]; });
      for (int64_t i = at; i < at + width; ++i) {
        dx[i] = ops.Gradient(x[i], dy[i], ops.Power(scale[i]), dx[i]);
      }
    });
  }

 private:
  int64_t Row(int64_t n, int64_t c, int64_t h) const {
    return ((n * shape_[1] + c) * shape_[2] + h) * shape_[3];
  }

  template <class F>
  void EachRow(const F& f) const {
    const int64_t rows = shape_.count(0, 3);
    ParallelForEach(rows, 1 + 2048 / (shape_[3] + 1), [&](int64_t row) {
      const int64_t plane = row / shape_[2];
      f(plane / shape_[1], plane % shape_[1], row % shape_[2]);
    });
  }

  // sums[j] += the sum of value(i) over the elements i in the window around element j of a row.
  template <class F>
  void SumWindow(int64_t n, int64_t c, int64_t h, T* sums, const F& value) const {
    const bool within = window_.within;
    const int64_t half = window_.half;
    const int64_t middle = within ? h : c, extent = within ? shape_[2] : shape_[1];
    const int64_t width = shape_[3], reach = within ? half : 0;
    for (int64_t m = std::max<int64_t>(0, middle - half); m <= std::min(extent - 1, middle + half);
         ++m) {
      const int64_t row = within ? Row(n, c, m) : Row(n, m, h);
      for (int64_t shift = -std::min(reach, width - 1); shift <= std::min(reach, width - 1);
           ++shift) {
        const int64_t begin = std::max<int64_t>(0, -shift), end = std::min(width, width - shift);
        for (int64_t j = begin; j < end; ++j) sums[j] += value(row + j + shift);
      }
    }
  }

  const LrnWindow window_;
  const LrnOps<T> ops_;
  const Shape shape_;
};

DOPPIO_REGISTER_LAYER(
    "LRN", LayerType(&InferLrn).Bottoms(1).Tops(1).KeepsCoordinates().RowByRow().DrawnAs("norm"));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<LrnKernel>("LRN"));

}  // namespace
}  // namespace doppio
