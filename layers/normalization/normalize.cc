// Normalize of SSD: divides a sample, or the channels at each position, by their L2 norm sqrt(sum
// of squares + eps), and multiplies by a learned factor: one for all channels, or one per channel.
#include <cmath>
#include <numeric>

#include "core/base/threads.h"
#include "core/net/contract/layer.h"
#include "layers/common/bottom_checks.h"
#include "layers/normalization/normalize_form.h"

namespace doppio {
namespace {

// Returns the layer's form. `bottom` must have at least two axes.
NormalizeForm NormalizeFormOf(const NormalizeParameter& param, const Shape& bottom) {
  NormalizeForm form;
  form.channels = bottom[1];
  form.inner = bottom.count(2);
  form.groups = param.across_spatial() ? SoftmaxShape{bottom[0], bottom.count(1), 1}
                                       : SoftmaxShape{bottom[0], form.channels, form.inner};
  form.shared = param.channel_shared();
  form.eps = static_cast<double>(param.eps());
  return form;
}

LayerShape InferNormalize(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const NormalizeParameter& param = spec.param.norm_param();
  CheckChannels(spec, bottoms[0]);
  spec.RefuseIf(!(param.eps() >= 0), "norm_param.eps", "eps is ", param.eps(),
                "; it must be at least 0");
  ParamShape factor;
  if (!param.channel_shared()) factor.shape = {bottoms[0][1]};
  factor.filler = param.scale_filler();
  if (!param.has_scale_filler()) factor.filler.set_value(1);

  LayerShape shape;
  shape.form = NormalizeFormOf(param, bottoms[0]);
  shape.tops = {bottoms[0]};
  shape.params = {factor};
  shape.backward_reads_tops = false;
  return shape;
}

template <class T>
class Normalize : public FormKernel<NormalizeForm> {
 public:
  explicit Normalize(const KernelArgs& args) : FormKernel(args) {
    if (args.backward) needs_.saved_bytes = form_.groups.positions() * kBytesOf<T>;
    needs_.scratch_bytes = form_.channels * kBytesOf<double>;
  }

  void Forward(const Pass&) override {
    const T *x = BottomValues<T>(0), *factors = ParamValues<T>(0);
    T* y = TopValues<T>(0);
    T* inverses = needs_.saved_bytes > 0 ? static_cast<T*>(t_.saved) : nullptr;
    const NormalizeForm s = form_;
    ForEachGroup([=](int64_t group, const auto& each) {
      double squares = 0;
      each([&](int64_t i) { squares += static_cast<double>(x[i]) * static_cast<double>(x[i]); });
      const T inverse = static_cast<T>(1 / std::sqrt(squares + s.eps));
      if (inverses != nullptr) inverses[group] = inverse;
      each([&](int64_t i) { y[i] = x[i] * inverse * factors[s.Factor(i)]; });
    });
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    const T *x = BottomValues<T>(0), *dy = TopGradient<T>(0);
    const T *factors = ParamValues<T>(0), *inverses = static_cast<const T*>(t_.saved);
    // Sum up the factors' gradients first, because dx may overwrite dy.
    if (t_.param_grads[0]) AddUpFactors(x, dy, inverses, add[0]);
    if (!t_.bottom_grads[0]) return;
    T* dx = BottomGradient<T>(0);
    const NormalizeForm s = form_;
    ForEachGroup([=](int64_t group, const auto& each) {
      const T inverse = inverses[group];
      double dot = 0;
      each([&](int64_t i) {
        dot += static_cast<double>(x[i]) * static_cast<double>(factors[s.Factor(i)] * dy[i]);
      });
      const T along = static_cast<T>(dot) * inverse * inverse;
      each([&](int64_t i) { dx[i] = (factors[s.Factor(i)] * dy[i] - x[i] * along) * inverse; });
    });
  }

 private:
  // Calls f(group, each) for every group, in parallel. each(g) calls g(i) for every element i of
  // the group.
  template <class F>
  void ForEachGroup(const F& f) const {
    const SoftmaxShape s = form_.groups;
    ParallelForEach(s.positions(), 1 + 8192 / (s.classes + 1), [=](int64_t group) {
      const int64_t first = group / s.inner * s.classes * s.inner + group % s.inner;
      f(group, [&](const auto& g) {
        for (int64_t c = 0; c < s.classes; ++c) g(first + c * s.inner);
      });
    });
  }

  // Computes the gradient of the factors, and adds it to the existing one if `add` is true.
  void AddUpFactors(const T* x, const T* dy, const T* inverses, bool add) {
    double* sums = static_cast<double*>(t_.scratch);
    const int64_t channels = form_.channels, inner = form_.inner;
    const int64_t samples = form_.groups.outer, groups = form_.groups.inner;  // groups per sample
    const int64_t step = groups > 1 ? 1 : 0;
    ParallelForEach(channels, 1 + 8192 / (samples * inner + 1), [=](int64_t c) {
      double sum = 0;
      for (int64_t n = 0; n < samples; ++n) {
        int64_t i = (n * channels + c) * inner, group = n * groups;
        for (int64_t j = 0; j < inner; ++j, ++i, group += step)
          sum += static_cast<double>(x[i] * inverses[group] * dy[i]);
      }
      sums[c] = sum;
    });
    T* gradient = ParamGradient<T>(0);
    const auto store = [&](int64_t f, double sum) {
      gradient[f] = static_cast<T>(sum) + (add ? gradient[f] : T(0));
    };
    if (form_.shared) {
      store(0, std::accumulate(sums, sums + channels, 0.0));
    } else {
      for (int64_t c = 0; c < channels; ++c) store(c, sums[c]);
    }
  }
};

DOPPIO_REGISTER_LAYER("Normalize", LayerType(&InferNormalize)
                                       .Bottoms(1)
                                       .Tops(1)
                                       .DrawnAs("norm")
                                       .KeepsCoordinates()
                                       .Reads({"norm_param"})
                                       .Params({"weight", "bias"}));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<Normalize>("Normalize"));

}  // namespace
}  // namespace doppio
