// BatchNorm: every channel shifted and scaled to mean 0 and variance 1, by the statistics of the
// batch (training) or the running ones (testing). Learned factors are a Scale layer's. State, as
// Caffe keeps it: decayed sums of the means, of the variances (unbiased), and of their weights.
//
// Backward needs the top only, since the top is the normalised value. So the layer works in place,
// in any layout, and moves less memory than a primitive that keeps its bottom: that is why there is
// no oneDNN kernel.
#include <cmath>

#include "core/net/layer.h"
#include "layers/channel_blocks.h"

namespace doppio {
namespace {

constexpr int kBlobs = 3;

bool UsesGlobalStats(const LayerSpec& spec) {
  const BatchNormParameter& param = spec.param.batch_norm_param();
  return param.has_use_global_stats() ? param.use_global_stats() : spec.phase() == TEST;
}

// What the forks fold into this layer changes its result, so it must not be passed over.
void RefuseForkFields(const LayerSpec& spec) {
  const BatchNormParameter& param = spec.param.batch_norm_param();
  const char* add_scale = "add a Scale layer with bias_term: true after this one";
  const struct {
    const char* field;
    bool set;
    const char* advice;
  } fields[] = {
      {"scale_bias", param.scale_bias(), add_scale},
      {"use_weight_bias", param.has_use_weight_bias() && param.use_weight_bias(), add_scale},
      {"relu", param.relu(), "add a ReLU layer after this one"},
      {"stats_batch_size", param.stats_batch_size() != 0, "statistics are those of the batch"},
  };
  for (const auto& fork : fields) {
    if (!fork.set) continue;
    throw spec.Mistake(std::string("batch_norm_param.") + fork.field,
                       std::string(fork.field) + " is not supported; remove it: " + fork.advice);
  }
}

LayerShape Infer(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  RefuseForkFields(spec);
  if (bottoms[0].rank() < 1) {
    throw spec.Mistake("bottom", "bottom 0 is a scalar; BatchNorm needs a batch axis");
  }
  // Exactly three entries are old files' way to freeze the statistics, whatever they say.
  if (spec.param.param_size() != kBlobs) {
    for (int i = 0; i < spec.param.param_size(); ++i) {
      if (spec.param.param(i).lr_mult() == 0) continue;
      throw spec.Mistake(
          "param",
          "the statistics of BatchNorm are not learned; set lr_mult: 0 or remove the param entry",
          i);
    }
  }
  const int64_t channels = bottoms[0].dim_or_1(1);
  LayerShape shape;
  shape.tops = {bottoms[0]};
  for (const Shape& blob : {Shape{channels}, Shape{channels}, Shape{1}}) {
    ParamShape statistic;
    statistic.shape = blob;
    statistic.trainable = false;
    shape.params.push_back(statistic);
  }
  shape.backward_reads_bottoms = false;
  shape.backward_reads_tops = !UsesGlobalStats(spec);
  shape.in_place_ok = true;
  return shape;
}

template <class T>
class BatchNorm : public Kernel {
 public:
  explicit BatchNorm(const KernelArgs& args)
      : global_(UsesGlobalStats(*args.spec)),
        fraction_(args.spec->param.batch_norm_param().moving_average_fraction()),
        epsilon_(args.spec->param.batch_norm_param().eps()) {
    const TensorSpec& bottom = args.bottoms[0];
    const int end = std::min(2, bottom.shape.rank());
    const Layout layout = ChannelLayout(bottom, 1, end);
    SeeChannels({bottom.shape, args.dtype, layout}, 1, end, &channels_);
    needs_.bottoms = needs_.tops = {layout};
    const int64_t per_channel = channels_.padded() * static_cast<int64_t>(sizeof(T));
    needs_.saved_bytes = per_channel;                                      // scale_
    needs_.scratch_bytes = ChannelSumsBytes(channels_) + 2 * per_channel;  // sums, first_, second_
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    scale_ = static_cast<T*>(t_.saved);
    first_ = reinterpret_cast<T*>(static_cast<char*>(t_.scratch) + ChannelSumsBytes(channels_));
    second_ = first_ + channels_.padded();
  }

  void Forward(const Pass&) override {
    T* const mean = first_;
    std::fill(mean, mean + channels_.padded(), T(0));
    std::fill(scale_, scale_ + channels_.padded(), T(0));
    if (global_)
      TakeRunningStats(mean);
    else
      TakeBatchStats(mean);
    const T* x = t_.bottoms[0].template data<T>();
    T* y = t_.tops[0].template data<T>();
    ForEachElement(
        channels_, [=](int64_t i, T shift, T scale) { y[i] = (x[i] - shift) * scale; }, mean,
        scale_);
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    const T* dy = t_.top_grads[0].template data<T>();
    T* dx = t_.bottom_grads[0].template data<T>();
    if (global_) {
      ForEachElement(
          channels_, [=](int64_t i, T scale) { dx[i] = dy[i] * scale; }, scale_);
      return;
    }
    // The batch's mean and variance depend on x as well: take away what lies along 1 and along y.
    const T* y = t_.tops[0].template data<T>();
    const double* sums = SumPerChannel<T>(channels_, t_.scratch, [=](T& sum, T& dot, int64_t i) {
      sum += dy[i];
      dot += dy[i] * y[i];
    });
    const double m = static_cast<double>(channels_.positions());
    for (int64_t c = 0; c < channels_.padded(); ++c) {
      first_[c] = static_cast<T>(sums[c] / m);
      second_[c] = static_cast<T>(sums[channels_.padded() + c] / m);
    }
    ForEachElement(
        channels_,
        [=](int64_t i, T along_one, T along_y, T scale) {
          dx[i] = (dy[i] - along_one - along_y * y[i]) * scale;
        },
        first_, second_, scale_);
  }

 private:
  T ScaleOf(T variance) const { return T(1) / std::sqrt(variance + epsilon_); }

  void TakeRunningStats(T* mean) {
    const T weight = *t_.params[2].template data<T>();
    const T per_weight = weight == 0 ? T(0) : T(1) / weight;
    for (int64_t c = 0; c < channels_.channels; ++c) {
      mean[c] = per_weight * t_.params[0].template data<T>()[c];
      scale_[c] = ScaleOf(per_weight * t_.params[1].template data<T>()[c]);
    }
  }

  // One pass: sums of x and x^2 relative to a pivot close enough to the mean that nothing cancels,
  // the mean of the first sample.
  void TakeBatchStats(T* mean) {
    const T* x = t_.bottoms[0].template data<T>();
    ChannelBlocks sample = channels_;
    sample.outer = 1;
    const double* sums =
        SumPerChannel<T>(sample, t_.scratch, [=](T& sum, T&, int64_t i) { sum += x[i]; });
    T* const pivot = second_;
    for (int64_t c = 0; c < channels_.padded(); ++c) {
      pivot[c] = static_cast<T>(sums[c] / static_cast<double>(sample.positions()));
    }
    sums = SumPerChannel<T>(
        channels_, t_.scratch,
        [=](T& sum, T& square, int64_t i, T near_mean) {
          const T d = x[i] - near_mean;
          sum += d;
          square += d * d;
        },
        pivot);

    const double m = static_cast<double>(channels_.positions());
    const double unbiased = m > 1 ? m / (m - 1) : 1;
    T* running_mean = t_.params[0].template data<T>();
    T* running_variance = t_.params[1].template data<T>();
    for (int64_t c = 0; c < channels_.channels; ++c) {
      const double offset = sums[c] / m;
      const double variance = std::max(0.0, sums[channels_.padded() + c] / m - offset * offset);
      mean[c] = static_cast<T>(pivot[c] + offset);
      scale_[c] = ScaleOf(static_cast<T>(variance));
      running_mean[c] = mean[c] + fraction_ * running_mean[c];
      running_variance[c] = static_cast<T>(unbiased * variance) + fraction_ * running_variance[c];
    }
    T* weight = t_.params[2].template data<T>();
    *weight = T(1) + fraction_ * *weight;
  }

  const bool global_;
  const T fraction_, epsilon_;
  ChannelBlocks channels_;
  T* scale_ = nullptr;  // 1 / standard deviation, per channel
  T *first_ = nullptr, *second_ = nullptr;
};

LayerType Type() {
  LayerType type;
  type.min_bottoms = type.max_bottoms = type.min_tops = type.max_tops = 1;
  type.infer = &Infer;
  return type;
}
DOPPIO_REGISTER_LAYER("BatchNorm", Type());
DOPPIO_REGISTER_KERNEL({"BatchNorm", DeviceKind::kCpu, "reference", 0, &MakeForFloat<BatchNorm>,
                        nullptr});

}  // namespace
}  // namespace doppio
