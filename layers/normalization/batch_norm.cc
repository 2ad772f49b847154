// BatchNorm: shifts and scales every channel to mean 0 and variance 1, by the statistics of the
// batch (training) or the running statistics (testing). Learned factors belong to a Scale layer.
// The state is Caffe's: decayed sums of the means, of the unbiased variances, and of their weights.
//
// Backward reads only the top, which holds the normalised values. So the layer works in place and
// in any layout, and moves less memory than a primitive that keeps its bottom. Hence BatchNorm has
// no oneDNN kernel.
#include "core/net/contract/layer.h"
#include "layers/common/stored_kernel.h"
#include "layers/normalization/batch_norm_stats.h"

namespace doppio {
namespace {

constexpr int kBlobs = 3, kWeight = 2;

LayerShape InferBatchNorm(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const BatchNormParameter& param = spec.param.batch_norm_param();
  spec.RefuseIf(param.stats_batch_size() != 0, "batch_norm_param.stats_batch_size",
                "stats_batch_size of Intel Caffe is not supported; remove it: statistics are those "
                "of the batch");
  spec.RefuseIf(bottoms[0].rank() < 1, "bottom",
                "bottom 0 is a scalar; BatchNorm needs a batch axis");
  // Like Caffe, ignore the values of exactly three entries: old files froze the statistics in this
  // way.
  if (spec.param.param_size() != kBlobs) {
    for (int i = 0; i < spec.param.param_size(); ++i) {
      spec.RefuseIf(
          spec.param.param(i).lr_mult() != 0, {"param", i},
          "the statistics of BatchNorm are not learned; set lr_mult: 0 or remove the param entry");
    }
  }
  const int64_t channels = bottoms[0].dim_or_1(1);
  BatchNormForm form;
  form.global = param.has_use_global_stats() ? param.use_global_stats() : spec.phase() == TEST;
  form.fraction = param.moving_average_fraction();
  form.epsilon = param.eps();
  LayerShape shape;
  shape.form = form;
  shape.tops = {bottoms[0]};
  for (const Shape& blob : {Shape{channels}, Shape{channels}, Shape{1}}) {
    ParamShape statistic;
    statistic.shape = blob;
    statistic.trainable = false;
    shape.params.push_back(statistic);
  }
  shape.statistics = {form.global, kWeight};
  shape.backward_reads_bottoms = false;
  shape.backward_reads_tops = !form.global;
  shape.in_place_ok = true;
  return shape;
}

template <class T>
class BatchNorm : public Kernel {
  using Wide = ComputeType<T>;

 public:
  explicit BatchNorm(const KernelArgs& args) : stats_(args), channels_(stats_.channels()) {
    needs_.bottoms = needs_.tops = {stats_.layout()};
    needs_.saved_bytes = stats_.per_channel_bytes();  // scale_
    // The sums, then first_ and second_.
    needs_.scratch_bytes = ChannelSumsBytes(channels_) + 2 * stats_.per_channel_bytes();
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    scale_ = static_cast<Wide*>(t_.saved);
    first_ = reinterpret_cast<Wide*>(static_cast<char*>(t_.scratch) + ChannelSumsBytes(channels_));
    second_ = first_ + channels_.padded();
  }

  void Forward(const Pass& pass) override {
    const T* x = BottomValues<T>(0);
    T* y = TopValues<T>(0);
    stats_.Take(pass, x, t_.params, t_.scratch, second_, first_, scale_);
    ForEachElement(
        channels_,
        [=](int64_t i, Wide mean, Wide scale) {
          y[i] = static_cast<T>((Widen(x[i]) - mean) * scale);
        },
        first_, scale_);
  }

  void Backward(const Pass& pass, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    const T* dy = TopGradient<T>(0);
    T* dx = BottomGradient<T>(0);
    if (stats_.global()) {
      ForEachElement(
          channels_, [=](int64_t i, Wide scale) { dx[i] = static_cast<T>(Widen(dy[i]) * scale); },
          scale_);
      return;
    }
    // The batch's mean and variance also depend on x, so remove the components of dy along 1 and
    // along y.
    const T* y = TopValues<T>(0);
    const double* sums =
        SumPerChannel<Wide>(channels_, t_.scratch, [=](Wide& sum, Wide& dot, int64_t i) {
          sum += Widen(dy[i]);
          dot += Widen(dy[i]) * Widen(y[i]);
        });
    stats_.Average(pass, sums, first_, second_);
    ForEachElement(
        channels_,
        [=](int64_t i, Wide along_one, Wide along_y, Wide scale) {
          dx[i] = static_cast<T>((Widen(dy[i]) - along_one - along_y * Widen(y[i])) * scale);
        },
        first_, second_, scale_);
  }

 private:
  const BatchNormStats<Wide> stats_;
  const ChannelBlocks channels_;
  Wide* scale_ = nullptr;  // 1 / standard deviation, per channel
  Wide *first_ = nullptr, *second_ = nullptr;
};

DOPPIO_REGISTER_LAYER("BatchNorm", LayerType(&InferBatchNorm)
                                       .Bottoms(1)
                                       .Tops(1)
                                       .KeepsCoordinates()
                                       .AcceptsRelu("batch_norm_param")
                                       .DrawnAs("norm")
                                       .StoresSums(kWeight)
                                       .StoresParamsOf("Scale")
                                       .Params({"running_mean", "running_var", "factor"}));
DOPPIO_REGISTER_KERNEL(StoredKernelType<BatchNorm>("BatchNorm"));

}  // namespace
}  // namespace doppio
