// BatchNorm alone and in the chains of batch_norm_chain.cc on a GPU, by the same formulas, with
// what activations are stored as, plain or channels last: one pass over memory for the statistics
// and one that writes the top; backward likewise one for the sums and one that writes.
#include "layers/normalization/batch_norm_cuda.h"

#include <vector>

#include "layers/normalization/batch_norm_stats.h"
#include "layers/common/chain.h"

namespace doppio {
namespace {

// What both kernels have: the statistics, and memory per channel. Behind the room for sums lie
// those that go to other ranks, where they do, and two more values per channel.
class CudaNorm : public Kernel {
 public:
  explicit CudaNorm(const KernelArgs& args)
      : device_(args.device),
        type_(args.tops[0]),
        global_(UsesGlobalStats(*args.spec)),
        fraction_(args.spec->param.batch_norm_param().moving_average_fraction()),
        epsilon_(args.spec->param.batch_norm_param().eps()),
        channels_(Seen(args), 1, std::min(2, args.bottoms[0].shape.rank())) {
    const int64_t per_channel = channels_.channels() * static_cast<int64_t>(sizeof(float));
    needs_.bottoms.assign(args.bottoms.size(), Seen(args).layout);
    needs_.types.assign(args.bottoms.size(), type_);
    needs_.tops = {Seen(args).layout};
    needs_.saved_bytes = 2 * per_channel;
    over_ranks_ = SharesStatistics(args);
    needs_.scratch_bytes = SumsEnd() + 2 * per_channel;
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    by_.mean = static_cast<float*>(t_.saved);
    by_.scale = by_.mean + channels_.channels();
    char* const scratch = static_cast<char*>(t_.scratch);
    sums_ = reinterpret_cast<double*>(scratch + BatchNormRoom(channels_, type_));
    first_ = reinterpret_cast<float*>(scratch + SumsEnd());
    second_ = first_ + channels_.channels();
    state_ = {t_.params[0].data<float>(), t_.params[1].data<float>(), t_.params[2].data<float>()};
  }
  // What is exchanged with other ranks must be exchanged anew.
  bool same_every_pass() const override { return !over_ranks_; }

 protected:
  // Bottom 0 in the layout of the first bottom that is channels last.
  static TensorSpec Seen(const KernelArgs& args) {
    TensorSpec x = args.bottoms[0];
    for (const TensorSpec& bottom : args.bottoms) {
      if (!x.layout.channels_last()) x.layout = bottom.layout;
    }
    return x;
  }

  void TakeStatistics(const Gpu& gpu, const Pass& pass) {
    const void* x = t_.bottoms[0].raw;
    const RunningStatistics state = pass.again ? RunningStatistics() : state_;
    if (global_) {
      TakeRunningStatistics(gpu, channels_, epsilon_, state_, by_);
    } else if (Shares(pass)) {
      SumBatch(gpu, channels_, type_, x, sums_, t_.scratch);
      AddOverRanks(pass);
      TakeSummedStatistics(gpu, channels_, sums_, AllPositions(pass), fraction_, epsilon_, state,
                           by_);
    } else {
      TakeBatchStatistics(gpu, channels_, type_, x, fraction_, epsilon_, state, by_, t_.scratch);
    }
  }

  // LaunchNormSums with the means of the batch that the statistics are of.
  void TakeSums(const Gpu& gpu, const Pass& pass, const NormChain& chain, const void* x,
                const void* y, void* dy, NormSums sums) {
    const bool shares = Shares(pass) && sums.mean_dz != nullptr;
    if (shares) sums.part = sums_;
    LaunchNormSums(gpu, chain, x, y, dy, sums, t_.scratch);
    if (!shares) return;
    AddOverRanks(pass);
    LaunchNormMeans(gpu, channels_, AllPositions(pass), sums);
  }

  Device* const device_;
  const DType type_;
  const bool global_;
  const float fraction_, epsilon_;
  const Channels channels_;
  RunningStatistics state_{};
  Normaliser by_;
  float *first_ = nullptr, *second_ = nullptr;

 private:
  int64_t SumsEnd() const {
    return BatchNormRoom(channels_, type_) + (over_ranks_ ? SumsBytes() : 0);
  }
  int64_t SumsBytes() const {
    return 2 * channels_.channels() * static_cast<int64_t>(sizeof(double));
  }
  // Two sums per channel, on the device, become those over all ranks. Where no link of the devices
  // is at hand they meet in host memory.
  void AddOverRanks(const Pass& pass) const {
    const int64_t count = 2 * channels_.channels();
    if (pass.sums != nullptr) return pass.sums->AllReduce(sums_, count, DType::kFloat64);
    std::vector<double> sums(static_cast<size_t>(count));
    device_->CopyToHost(sums.data(), sums_, SumsBytes());
    pass.group->AllReduce(sums.data(), count, DType::kFloat64);
    device_->CopyFromHost(sums_, sums.data(), SumsBytes());
  }
  bool Shares(const Pass& pass) const { return over_ranks_ && pass.group != nullptr; }
  double AllPositions(const Pass& pass) const {
    return static_cast<double>(channels_.positions()) * pass.group->size();
  }

  bool over_ranks_ = false;  // the statistics are those of all ranks' batches
  double* sums_ = nullptr;
};

class CudaBatchNorm : public CudaNorm {
 public:
  using CudaNorm::CudaNorm;

  void Forward(const Pass& pass) override {
    const Gpu gpu = GpuOf(device_);
    TakeStatistics(gpu, pass);
    LaunchNorm(gpu, Bare(by_), t_.bottoms[0].raw, nullptr, t_.tops[0].raw);
  }

  // From the top, which is normalised.
  void Backward(const Pass& pass, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    const Gpu gpu = GpuOf(device_);
    const NormChain chain = Bare({nullptr, by_.scale});
    const void* y = global_ ? nullptr : t_.tops[0].raw;
    void *dy = t_.top_grads[0].raw, *dx = t_.bottom_grads[0].raw;
    NormSums sums;
    if (!global_) {
      sums.mean_dz = first_;
      sums.mean_normal_dz = second_;
      TakeSums(gpu, pass, chain, y, nullptr, dy, sums);
    }
    LaunchNormGradient(gpu, chain, y, dy, sums.mean_dz, sums.mean_normal_dz, dx);
  }

 private:
  NormChain Bare(const Normaliser& by) const {
    return {channels_, type_, by, nullptr, nullptr, Relu(1)};
  }
};

class CudaBatchNormChain : public CudaNorm {
 public:
  explicit CudaBatchNormChain(const KernelArgs& args) : CudaNorm(args), tail_(args.chain) {
    const ChainLink* scale = FindLink(args.chain, "Scale");
    has_scale_ = scale != nullptr;
    has_bias_ = has_scale_ && scale->spec->param.scale_param().bias_term();
  }

  void Forward(const Pass& pass) override {
    const Gpu gpu = GpuOf(device_);
    TakeStatistics(gpu, pass);
    LaunchNorm(gpu, WithRelu(true), t_.bottoms[0].raw, tail_.sum ? t_.bottoms[1].raw : nullptr,
               t_.tops[0].raw);
  }

  void Backward(const Pass& pass, const std::vector<bool>& add) override {
    const Gpu gpu = GpuOf(device_);
    const void* x = t_.bottoms[0].raw;
    void *dy = t_.top_grads[0].raw, *dx = t_.bottom_grads[0].raw;
    // After a sum, whose other side is not read, ReLU's mask comes from y, and is put on dy once.
    const bool mask = tail_.sum && tail_.relu;
    const void* y = mask ? t_.tops[0].raw : nullptr;
    NormSums sums;
    if (has_scale_)
      sums.factor_grad = {t_.param_grads[kScaleParam].data<float>(), add[kScaleParam]};
    if (has_bias_) sums.bias_grad = {t_.param_grads[kBiasParam].data<float>(), add[kBiasParam]};
    // The batch's mean and variance depend on x as well, running ones do not.
    if (dx != nullptr && !global_) {
      sums.mean_dz = first_;
      sums.mean_normal_dz = second_;
    }
    if (sums.any()) {
      TakeSums(gpu, pass, WithRelu(true), x, y, dy, sums);
    } else if (mask) {
      const NormChain relu{channels_, type_, {}, nullptr, nullptr, *tail_.relu};
      LaunchNormGradient(gpu, relu, y, dy, nullptr, nullptr, dy);
    }
    if (tail_.sum && t_.bottom_grads[1] && t_.bottom_grads[1].raw != dy) {
      CopyOnDevice(device_, t_.bottom_grads[1].raw, dy, t_.bottom_grads[1].bytes());
    }
    if (dx != nullptr)
      LaunchNormGradient(gpu, WithRelu(!mask), x, dy, sums.mean_dz, sums.mean_normal_dz, dx);
  }

 private:
  NormChain WithRelu(bool relu) const {
    return {channels_,
            type_,
            by_,
            has_scale_ ? t_.params[kScaleParam].data<float>() : nullptr,
            has_bias_ ? t_.params[kBiasParam].data<float>() : nullptr,
            relu && tail_.relu ? *tail_.relu : Relu(1)};
  }

  const ChainTail tail_;
  bool has_scale_ = false, has_bias_ = false;
};

template <class K>
std::unique_ptr<Kernel> MakeBatchNormCuda(const KernelArgs& args) {
  return std::make_unique<K>(args);
}

std::string BatchNormCudaDeclines(const KernelArgs& args) {
  return args.dtype == DType::kFloat32 ? "" : std::string("it has no ") + Name(args.dtype);
}

DOPPIO_REGISTER_KERNEL({"BatchNorm", DeviceKind::kCuda, "cuda", 10,
                        &MakeBatchNormCuda<CudaBatchNorm>, &BatchNormCudaDeclines, true});

bool RegisterChains() {
  for (const char* chain : kBatchNormChains) {
    KernelTypes::Get().Add({chain, DeviceKind::kCuda, "cuda", 10,
                            &MakeBatchNormCuda<CudaBatchNormChain>, &BatchNormCudaDeclines, true});
  }
  return true;
}
[[maybe_unused]] const bool batch_norm_cuda_registered = RegisterChains();

}  // namespace
}  // namespace doppio
