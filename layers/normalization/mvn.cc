// MVN: normalises each channel of each sample, or each sample, to mean 0 and, unless the net file
// says otherwise, to variance 1. As in Caffe, eps is added to the standard deviation, and the
// gradient omits eps from the derivative of the deviation.
#include <algorithm>
#include <cmath>

#include "core/base/threads.h"
#include "core/net/contract/layer.h"
#include "layers/common/host_loops.h"
#include "layers/normalization/mvn_form.h"

namespace doppio {
namespace {

LayerShape InferMvn(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const MVNParameter& param = spec.param.mvn_param();
  const float eps = param.eps();
  spec.RefuseIf(!(eps >= 0), "mvn_param.eps", "eps is ", eps, "; it must be at least 0");
  const int axes = std::min(bottoms[0].rank(), param.across_channels() ? 1 : 2);
  LayerShape shape;
  shape.form =
      MvnForm{bottoms[0].count(0, axes), bottoms[0].count(axes), param.normalize_variance(), eps};
  shape.tops = {bottoms[0]};
  shape.backward_reads_bottoms = false;
  shape.backward_reads_tops = param.normalize_variance();
  shape.in_place_ok = true;
  return shape;
}

template <class T>
class Mvn : public FormKernel<MvnForm> {
 public:
  explicit Mvn(const KernelArgs& args)
      : FormKernel(args), scales_(form_.scales), eps_(static_cast<double>(form_.eps)) {
    if (scales_ && args.backward) needs_.saved_bytes = form_.rows * kBytesOf<T>;
  }

  void Forward(const Pass&) override {
    const T* x = BottomValues<T>(0);
    T* y = TopValues<T>(0);
    T* inverses = needs_.saved_bytes > 0 ? static_cast<T*>(t_.saved) : nullptr;
    ForEachRow(form_.rows, form_.length, [=](int64_t row, int64_t begin, int64_t end) {
      const double n = static_cast<double>(end - begin);
      double sum = 0, squares = 0;
      for (int64_t i = begin; i < end; ++i) sum += static_cast<double>(x[i]);
      const double mean = sum / n;
      double inverse = 1;
      if (scales_) {
        for (int64_t i = begin; i < end; ++i) {
          const double d = static_cast<double>(x[i]) - mean;
          squares += d * d;
        }
        inverse = 1 / (std::sqrt(squares / n) + eps_);
        if (inverses != nullptr) inverses[row] = static_cast<T>(inverse);
      }
      for (int64_t i = begin; i < end; ++i)
        y[i] = static_cast<T>((static_cast<double>(x[i]) - mean) * inverse);
    });
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    const T *y = TopValues<T>(0), *dy = TopGradient<T>(0);
    const T* inverses = static_cast<const T*>(t_.saved);
    T* dx = BottomGradient<T>(0);
    ForEachRow(form_.rows, form_.length, [=](int64_t row, int64_t begin, int64_t end) {
      const double n = static_cast<double>(end - begin);
      double sum = 0, product = 0;
      for (int64_t i = begin; i < end; ++i) {
        sum += static_cast<double>(dy[i]);
        if (scales_) product += static_cast<double>(y[i]) * static_cast<double>(dy[i]);
      }
      const T mean = static_cast<T>(sum / n), along = static_cast<T>(product / n);
      for (int64_t i = begin; i < end; ++i)
        dx[i] = scales_ ? (dy[i] - mean - y[i] * along) * inverses[row] : dy[i] - mean;
    });
  }

 private:
  const bool scales_;
  const double eps_;
};

DOPPIO_REGISTER_LAYER("MVN",
                      LayerType(&InferMvn).Bottoms(1).Tops(1).KeepsCoordinates().DrawnAs("norm"));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<Mvn>("MVN"));

}  // namespace
}  // namespace doppio
