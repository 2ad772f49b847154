// LayerNorm, GroupNorm and InstanceNorm: (x - mean) / sqrt(variance + eps) * factor + bias. Mean
// and variance are those of a part of one sample, so that no sample depends on the rest of its
// batch:
//   LayerNorm     the axes from `axis` on; a factor for each of their elements. Ba et al., "Layer
//                 Normalization", 2016.
//   GroupNorm     a group of channels; a factor for each channel. Wu and He, "Group Normalization",
//                 ECCV 2018.
//   InstanceNorm  one channel. Ulyanov et al., "Instance Normalization", 2016.
//
// Sums are in double precision, and their order depends only on the shape: results have the same
// bits for any number of threads and in any batch.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "core/base/threads.h"
#include "core/net/contract/layer.h"
#include "layers/common/bottom_checks.h"
#include "layers/common/host_loops.h"
#include "layers/common/lanes.h"
#include "layers/common/room.h"
#include "layers/common/stored_kernel.h"
#include "layers/normalization/group_norm_form.h"

namespace doppio {
namespace {

// Completes the layer's shape from the fields that the three layers share. Factors and biases have
// the shape `learned`.
template <class Param>
LayerShape InferNormalized(const LayerSpec& spec, const std::string& field, const Param& param,
                           const Shape& bottom, const Shape& learned, GroupNormForm form) {
  spec.RefuseIf(!(param.eps() >= 0), field + ".eps", "eps is ", param.eps(),
                "; it must be at least 0");
  form.factors = learned.count();
  form.scale = param.scale_term();
  form.bias = param.bias_term();
  form.eps = param.eps();
  LayerShape shape;
  shape.form = form;
  shape.tops = {bottom};
  if (form.scale) {
    ParamShape factors{learned, param.scale_filler()};
    if (!param.has_scale_filler()) factors.filler.set_value(1);
    shape.params.push_back(factors);
  }
  if (form.bias) shape.params.push_back({learned, param.bias_filler()});
  shape.backward_reads_tops = false;
  shape.in_place_ok = true;
  return shape;
}

LayerShape InferLayerNorm(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const LayerNormParameter& param = spec.param.layer_norm_param();
  const Shape& bottom = bottoms[0];
  const int axis = AxisOf(spec, "layer_norm_param.axis", param.axis(), bottom);
  GroupNormForm form;
  form.rows = bottom.count(0, axis);
  form.length = bottom.count(axis);
  const std::vector<int64_t>& dims = bottom.dims();
  const Shape learned(std::vector<int64_t>(dims.begin() + axis, dims.end()));
  return InferNormalized(spec, "layer_norm_param", param, bottom, learned, form);
}

template <class Param>
LayerShape InferOfGroups(const LayerSpec& spec, const std::string& field, const Param& param,
                         const Shape& bottom, int64_t groups) {
  GroupNormForm form;
  form.rows = bottom[0] * groups;
  form.inner = std::max<int64_t>(1, bottom.count(2));
  form.length = bottom[1] / groups * bottom.count(2);
  return InferNormalized(spec, field, param, bottom, Shape{bottom[1]}, form);
}

LayerShape InferGroupNorm(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const GroupNormParameter& param = spec.param.group_norm_param();
  CheckChannels(spec, bottoms[0]);
  const int64_t groups = param.groups(), channels = bottoms[0][1];
  spec.RefuseIf(groups == 0 || channels % groups != 0, "group_norm_param.groups", "groups is ",
                groups, ", which does not divide the ", channels, " channels of bottom 0, ",
                bottoms[0].ToString(), "; set groups to a divisor of ", channels);
  return InferOfGroups(spec, "group_norm_param", param, bottoms[0], groups);
}

LayerShape InferInstanceNorm(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  CheckChannels(spec, bottoms[0]);
  return InferOfGroups(spec, "instance_norm_param", spec.param.instance_norm_param(), bottoms[0],
                       std::max<int64_t>(1, bottoms[0][1]));
}

template <int kLanes>
using NormLanes = std::integral_constant<int, kLanes>;

// Returns the sum of term(NormLanes<k>(), i), the terms of the k elements from i on, over n
// elements.
template <class Term>
double SumOfRun(int64_t n, const Term& term) {
  constexpr int kTogether = 16;
  Lanes<double, kTogether> sums = {};
  int64_t i = 0;
  for (; i + kTogether <= n; i += kTogether) sums += term(NormLanes<kTogether>(), i);
  double sum = 0;
  for (int lane = 0; lane < kTogether; ++lane) sum += sums[lane];
  for (; i < n; ++i) sum += term(NormLanes<1>(), i);
  return sum;
}

// Loads `lanes` elements as doubles.
template <class T, int kLanes>
Lanes<double, kLanes> LoadDoubles(const T* from, NormLanes<kLanes>) {
  return ConvertLanes<double, kLanes>(LoadWide<kLanes>(from));
}

// The factors, or the biases, of neighbouring elements: one for each, or the same for all.
template <class Wide, bool kEach>
struct NormFactors {
  const Wide* at;
  Wide operator[](int64_t i) const { return kEach ? at[i] : *at; }
  template <int kLanes>
  Lanes<double, kLanes> Doubles(int64_t i, NormLanes<kLanes> lanes) const {
    if constexpr (kEach) return LoadDoubles(at + i, lanes);
    return Lanes<double, kLanes>{} + static_cast<double>(*at);
  }
};

template <class T>
class GroupNorm : public FormKernel<GroupNormForm> {
  using Wide = ComputeType<T>;
  struct Moments {
    Wide mean, inverse;  // inverse: 1 / sqrt(variance + eps)
  };

 public:
  explicit GroupNorm(const KernelArgs& args) : FormKernel(args), backward_(args.backward) {
    Place(nullptr, nullptr);
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    Place(t_.saved, t_.scratch);
  }

  void Forward(const Pass&) override {
    const T* x = BottomValues<T>(0);
    T* y = TopValues<T>(0);
    const Wide* const factors = Factors();
    const Wide* const biases = Biases();
    Moments* const moments = moments_;
    const double eps = static_cast<double>(form_.eps);
    ForEachRow(form_.rows, form_.length, [=](int64_t row, int64_t begin, int64_t end) {
      const Moments own = MomentsOf(x + begin, end - begin, eps);
      moments[row] = own;
      ForEachRun(begin, [=](int64_t from, int64_t n, auto each, int64_t factor) {
        const NormFactors<Wide, each> scale{factors + factor}, bias{biases + factor};
        DOPPIO_INDEPENDENT_ITERATIONS
        for (int64_t i = 0; i < n; ++i) {
          const Wide normal = (Widen(x[from + i]) - own.mean) * own.inverse;
          y[from + i] = static_cast<T>(normal * scale[i] + bias[i]);
        }
      });
    });
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    const T *x = BottomValues<T>(0), *dy = TopGradient<T>(0);
    AddUpLearned(x, dy, add);  // first, because dx may overwrite dy
    if (!t_.bottom_grads[0]) return;
    T* dx = BottomGradient<T>(0);
    const Wide* const factors = Factors();
    const Moments* const moments = moments_;
    ForEachRow(form_.rows, form_.length, [=](int64_t row, int64_t begin, int64_t end) {
      const Moments own = moments[row];
      const double length = static_cast<double>(end - begin);
      double sum = 0, dot = 0;  // of the gradient of the normalised values, with 1 and with them
      ForEachRun(begin, [&](int64_t from, int64_t n, auto each, int64_t factor) {
        const NormFactors<Wide, each> scale{factors + factor};
        sum += SumOfRun(n, [&](auto lanes, int64_t i) {
          return LoadDoubles(dy + from + i, lanes) * scale.Doubles(i, lanes);
        });
        dot += SumOfRun(n, [&](auto lanes, int64_t i) {
          const auto centred = LoadDoubles(x + from + i, lanes) - static_cast<double>(own.mean);
          return LoadDoubles(dy + from + i, lanes) * scale.Doubles(i, lanes) * centred;
        });
      });
      const double inverse = static_cast<double>(own.inverse);
      const Wide along_one = static_cast<Wide>(sum / length);
      const Wide along_x = static_cast<Wide>(dot * inverse / length);
      ForEachRun(begin, [=](int64_t from, int64_t n, auto each, int64_t factor) {
        const NormFactors<Wide, each> scale{factors + factor};
        DOPPIO_INDEPENDENT_ITERATIONS
        for (int64_t i = 0; i < n; ++i) {
          const Wide normal = (Widen(x[from + i]) - own.mean) * own.inverse;
          const Wide gradient = Widen(dy[from + i]) * scale[i];
          dx[from + i] = static_cast<T>((gradient - along_one - normal * along_x) * own.inverse);
        }
      });
    });
  }

 private:
  static constexpr int64_t kColumns = 64;  // factors that are summed up together

  // Assigns the memory, or only counts its bytes if both arguments are null.
  void Place(void* saved, void* scratch) {
    Room kept(saved), passing(scratch);
    moments_ = (backward_ ? kept : passing).Take<Moments>(form_.rows);
    constants_ = passing.Take<Wide>(2 * form_.factors);
    needs_.saved_bytes = kept.bytes();
    needs_.scratch_bytes = passing.bytes();
  }

  // Return the learned values, or ones and zeros in scratch memory.
  const Wide* Factors() const {
    if (form_.scale) return ParamValues<Wide>(0);
    std::fill_n(constants_, form_.factors, Wide(1));
    return constants_;
  }
  const Wide* Biases() const {
    if (form_.bias) return ParamValues<Wide>(form_.bias_param());
    std::fill_n(constants_ + form_.factors, form_.factors, Wide(0));
    return constants_ + form_.factors;
  }

  static Moments MomentsOf(const T* x, int64_t n, double eps) {
    const double count = static_cast<double>(n);
    const double mean =
        SumOfRun(n, [=](auto lanes, int64_t i) { return LoadDoubles(x + i, lanes); }) / count;
    const double squares = SumOfRun(n, [=](auto lanes, int64_t i) {
      const auto centred = LoadDoubles(x + i, lanes) - mean;
      return centred * centred;
    });
    return {static_cast<Wide>(mean), static_cast<Wide>(1 / std::sqrt(squares / count + eps))};
  }

  // Calls f(from, n, each, factor) for the runs of n elements from element `from` on that make up
  // the row that starts at `begin`. The first element has factor number `factor`; `each` is true if
  // the next elements have the next factors, and false if all have this one.
  template <class F>
  void ForEachRun(int64_t begin, const F& f) const {
    if (form_.per_element()) return f(begin, form_.length, std::true_type(), int64_t{0});
    for (int64_t from = begin; from < begin + form_.length; from += form_.inner)
      f(from, form_.inner, std::false_type(), form_.Factor(from));
  }

  // Computes the gradients of factors and biases, or adds them to those of parameter i if add[i].
  void AddUpLearned(const T* x, const T* dy, const std::vector<bool>& add) {
    Wide* const scale = form_.scale ? ParamGradient<Wide>(0) : nullptr;
    const size_t param = form_.bias_param();
    Wide* const bias = form_.bias ? ParamGradient<Wide>(param) : nullptr;
    if (scale == nullptr && bias == nullptr) return;
    const bool add_scale = scale != nullptr && add[0], add_bias = bias != nullptr && add[param];
    const auto store = [=](int64_t f, double of_scale, double of_bias) {
      const auto sum = [f](Wide* to, bool adds, double value) {
        if (to != nullptr) to[f] = static_cast<Wide>(value) + (adds ? to[f] : Wide(0));
      };
      sum(scale, add_scale, of_scale);
      sum(bias, add_bias, of_bias);
    };
    if (form_.per_element()) {
      SumColumnsOf(x, dy, store);
    } else {
      SumChannelsOf(x, dy, store);
    }
  }

  // Calls store(f, sum of dy * normalised x, sum of dy) for every factor: a column of the rows.
  template <class Store>
  void SumColumnsOf(const T* x, const T* dy, const Store& store) const {
    const Moments* const moments = moments_;
    const int64_t rows = form_.rows, length = form_.length;
    ParallelForEach(
        (length + kColumns - 1) / kColumns, 1 + 8192 / (rows * kColumns + 1), [=](int64_t tile) {
          const int64_t first = tile * kColumns, width = std::min(kColumns, length - first);
          double of_scale[kColumns] = {}, of_bias[kColumns] = {};
          for (int64_t row = 0; row < rows; ++row) {
            const Moments own = moments[row];
            const T *from = x + row * length + first, *gradient = dy + row * length + first;
            DOPPIO_INDEPENDENT_ITERATIONS
            for (int64_t j = 0; j < width; ++j) {
              const Wide d = Widen(gradient[j]);
              of_scale[j] += static_cast<double>((Widen(from[j]) - own.mean) * own.inverse * d);
              of_bias[j] += static_cast<double>(d);
            }
          }
          for (int64_t j = 0; j < width; ++j) store(first + j, of_scale[j], of_bias[j]);
        });
  }

  // The same if each factor belongs to a channel.
  template <class Store>
  void SumChannelsOf(const T* x, const T* dy, const Store& store) const {
    const Moments* const moments = moments_;
    const GroupNormForm form = form_;
    const int64_t samples = form.count() / std::max<int64_t>(1, form.factors * form.inner);
    ParallelForEach(form.factors, 1 + 8192 / (samples * form.inner + 1), [=](int64_t c) {
      double of_scale = 0, of_bias = 0;
      for (int64_t n = 0; n < samples; ++n) {
        const int64_t from = (n * form.factors + c) * form.inner;
        const Moments own = moments[from / form.length];
        of_bias += SumOfRun(
            form.inner, [=](auto lanes, int64_t i) { return LoadDoubles(dy + from + i, lanes); });
        of_scale +=
            static_cast<double>(own.inverse) * SumOfRun(form.inner, [=](auto lanes, int64_t i) {
              return LoadDoubles(dy + from + i, lanes) *
                     (LoadDoubles(x + from + i, lanes) - static_cast<double>(own.mean));
            });
      }
      store(c, of_scale, of_bias);
    });
  }

  const bool backward_;
  Moments* moments_ = nullptr;  // of each row
  Wide* constants_ = nullptr;   // what Factors and Biases return if nothing is learned
};

LayerType NormType(LayerType::InferFunction infer) {
  return LayerType(infer).Bottoms(1).Tops(1).KeepsCoordinates().DrawnAs("norm").Params(
      {"weight", "bias"});
}

DOPPIO_REGISTER_LAYER("LayerNorm", NormType(&InferLayerNorm));
DOPPIO_REGISTER_KERNEL(StoredKernelType<GroupNorm>("LayerNorm"));
DOPPIO_REGISTER_LAYER("GroupNorm", NormType(&InferGroupNorm).RowByRow());
DOPPIO_REGISTER_KERNEL(StoredKernelType<GroupNorm>("GroupNorm"));
DOPPIO_REGISTER_LAYER("InstanceNorm", NormType(&InferInstanceNorm).RowByRow());
DOPPIO_REGISTER_KERNEL(StoredKernelType<GroupNorm>("InstanceNorm"));

}  // namespace
}  // namespace doppio
