// BatchNorm, alone and in the chains of batch_norm_chain.cc, on a GPU: the same formulas for every
// stored type, plain or channels last. Forward makes one pass over memory for the statistics and
// one that writes the top. Backward makes one pass for the sums and one that writes the gradient.
#include <vector>

#include "core/net/contract/communicator.h"
#include "layers/common/stored_form_cuda.h"
#include "layers/elementwise/chain.h"
#include "layers/normalization/batch_norm_form.h"
#include "layers/normalization/batch_norm_functions.cuh"

namespace doppio {
namespace {

using namespace batch_norm;

constexpr char kName[] = "BatchNorm";

// The base class of both kernels, with the statistics and the memory per channel. The scratch
// memory holds the room for sums, then the sums to exchange if ranks share statistics, then two
// more values per channel.
class CudaNorm : public FormKernel<BatchNormForm> {
 public:
  explicit CudaNorm(const KernelArgs& args)
      : FormKernel(args),
        type_(args.tops[0]),
        channels_(Seen(args), 1, std::min(2, args.bottoms[0].shape.rank())),
        over_ranks_(args.sync_statistics && !form_.global) {
    const int64_t per_channel = channels_.channels() * kBytesOf<float>;
    needs_.bottoms.assign(args.bottoms.size(), Seen(args).layout);
    needs_.types.assign(args.bottoms.size(), type_);
    needs_.tops = {Seen(args).layout};
    needs_.saved_bytes = 2 * per_channel;
    needs_.scratch_bytes = SumsEnd() + 2 * per_channel;
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    by_.mean = static_cast<float*>(t_.saved);
    by_.scale = by_.mean + channels_.channels();
    char* const scratch = static_cast<char*>(t_.scratch);
    sums_ = reinterpret_cast<TwoSums*>(scratch + RoomBytes());
    first_ = reinterpret_cast<float*>(scratch + SumsEnd());
    second_ = first_ + channels_.channels();
    state_ = {ParamValues<float>(0), ParamValues<float>(1), ParamValues<float>(2)};
  }
  // A pass that sums over ranks cannot be recorded.
  bool same_every_pass() const override { return !over_ranks_; }

 protected:
  // Fills by_. Also updates the running statistics, unless pass.again is set.
  void TakeStatistics(const Pass& pass) {
    const Gpu gpu = GpuOf(device_);
    const RunningStatistics state = pass.again ? RunningStatistics() : state_;
    if (form_.global) {
      ForEachIndex(gpu, channels_.channels(), kName, LoadStatistics{form_.epsilon, state_, by_});
    } else if (Shares(pass)) {
      SumBatch();
      AddOverRanks(pass);
      const StoreStatistics<NoPivots> store{
          {}, AllPositions(pass), form_.fraction, form_.epsilon, state, by_};
      ForEachIndex(gpu, channels_.channels(), kName, StoreSummedStatistics{store, sums_});
    } else {
      TakeBatchStatistics(state);
    }
  }

  // Writes the top. `other` is the sum's other summand, or null if there is no sum.
  void Normalize(const Norms& norms, const void* other) {
    DispatchStored(type_, [&](auto zero) {
      using T = decltype(zero);
      MapChannels(GpuOf(device_), channels_, kName, static_cast<T*>(t_.tops[0].raw),
                  ForwardBy{norms, other != nullptr}, static_cast<const T*>(t_.bottoms[0].raw),
                  static_cast<const T*>(other));
    });
  }

  // Computes the sums that `sums` asks for. Its means cover the same batch as the statistics, on
  // all ranks if they share statistics. If `y` is not null, takes ReLU's mask from y and applies it
  // to dy in place.
  void SumGradients(const Pass& pass, const Norms& norms, const void* x, const void* y, void* dy,
                    NormSums sums) {
    const bool shares = Shares(pass) && sums.mean_dz != nullptr;
    if (shares) sums.part = sums_;
    DispatchStored(type_, [&](auto zero) {
      using T = decltype(zero);
      SumChannels(GpuOf(device_), channels_, kName, static_cast<T*>(y == nullptr ? nullptr : dy),
                  SumsBy{norms, y != nullptr}, StoreGradients{norms, sums, Positions()}, t_.scratch,
                  static_cast<const T*>(x), static_cast<const T*>(dy), static_cast<const T*>(y));
    });
    if (!shares) return;
    AddOverRanks(pass);
    ForEachIndex(GpuOf(device_), channels_.channels(), kName, StoreMeans{sums, AllPositions(pass)});
  }

  // Computes dx from dy and the means in `sums`, and applies the ReLU of `norms`. `x` may be null
  // if neither the means nor ReLU need it. dx may be dy.
  void Differentiate(const Norms& norms, const void* x, const void* dy, const NormSums& sums,
                     void* dx) {
    DispatchStored(type_, [&](auto zero) {
      using T = decltype(zero);
      MapChannels(GpuOf(device_), channels_, kName, static_cast<T*>(dx),
                  GradientBy{norms, sums.mean_dz, sums.mean_normal_dz}, static_cast<const T*>(x),
                  static_cast<const T*>(dy));
    });
  }

  const DType type_;
  Normaliser by_;
  float *first_ = nullptr, *second_ = nullptr;

 private:
  // Returns bottom 0 in the layout of the first bottom that is channels last.
  static TensorSpec Seen(const KernelArgs& args) {
    TensorSpec x = args.bottoms[0];
    for (const TensorSpec& bottom : args.bottoms) {
      if (!x.layout.channels_last()) x.layout = bottom.layout;
    }
    return x;
  }

  void TakeBatchStatistics(const RunningStatistics& state) {
    DispatchStored(type_, [&](auto zero) {
      using T = decltype(zero);
      const T* x = static_cast<const T*>(t_.bottoms[0].raw);
      const Pivots<T> pivots{x, channels_.inner()};
      const StoreStatistics<Pivots<T>> store{pivots,        Positions(), form_.fraction,
                                             form_.epsilon, state,       by_};
      SumChannels(GpuOf(device_), channels_, kName, static_cast<T*>(nullptr), pivots, store,
                  t_.scratch, x);
    });
  }
  // Writes two sums per channel to sums_, for a batch that is split over several GPUs.
  void SumBatch() {
    DispatchStored(type_, [&](auto zero) {
      using T = decltype(zero);
      const T* x = static_cast<const T*>(t_.bottoms[0].raw);
      const Pivots<T> pivots{x, channels_.inner()};
      SumChannels(GpuOf(device_), channels_, kName, static_cast<T*>(nullptr), pivots,
                  KeepSums<T>{pivots, Positions(), sums_}, t_.scratch, x);
    });
  }

  int64_t RoomBytes() const {
    return DispatchStored(type_,
                          [&](auto zero) { return SumChannelsBytes<decltype(zero)>(channels_); });
  }
  int64_t SumsBytes() const { return channels_.channels() * kBytesOf<TwoSums>; }
  int64_t SumsEnd() const { return RoomBytes() + (over_ranks_ ? SumsBytes() : 0); }
  // Replaces the two sums per channel, in device memory, by their sums over all ranks. If the
  // devices have no link, adds them in host memory.
  void AddOverRanks(const Pass& pass) const {
    const int64_t count = 2 * channels_.channels();
    if (pass.sums != nullptr) return pass.sums->AllReduce(sums_, count, DType::kFloat64);
    std::vector<double> sums(count);
    device_->CopyToHost(sums.data(), sums_, SumsBytes());
    pass.group->AllReduce(sums.data(), count, DType::kFloat64);
    device_->CopyFromHost(sums_, sums.data(), SumsBytes());
  }
  bool Shares(const Pass& pass) const { return over_ranks_ && pass.group != nullptr; }
  // Elements per channel, on this rank and on all ranks.
  double Positions() const { return static_cast<double>(channels_.positions()); }
  double AllPositions(const Pass& pass) const { return Positions() * pass.group->size(); }

  const Channels channels_;
  const bool over_ranks_;  // the statistics cover the batches of all ranks
  RunningStatistics state_{};
  TwoSums* sums_ = nullptr;
};

class CudaBatchNorm : public CudaNorm {
 public:
  using CudaNorm::CudaNorm;

  void Forward(const Pass& pass) override {
    TakeStatistics(pass);
    Normalize(Norms{by_}, nullptr);
  }

  // Reads the top, which holds the normalised values, instead of the bottom.
  void Backward(const Pass& pass, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    const Norms norms{{nullptr, by_.scale}};
    const void* y = form_.global ? nullptr : t_.tops[0].raw;
    void* dy = t_.top_grads[0].raw;
    NormSums sums;
    if (!form_.global) {
      sums.mean_dz = first_;
      sums.mean_normal_dz = second_;
      SumGradients(pass, norms, y, nullptr, dy, sums);
    }
    Differentiate(norms, y, dy, sums, t_.bottom_grads[0].raw);
  }
};

class CudaBatchNormChain : public CudaNorm {
 public:
  explicit CudaBatchNormChain(const KernelArgs& args) : CudaNorm(args), tail_(args.chain) {}

  void Forward(const Pass& pass) override {
    TakeStatistics(pass);
    Normalize(WithRelu(true), tail_.sum ? t_.bottoms[1].raw : nullptr);
  }

  void Backward(const Pass& pass, const std::vector<bool>& add) override {
    const void* x = t_.bottoms[0].raw;
    void *dy = t_.top_grads[0].raw, *dx = t_.bottom_grads[0].raw;
    // After a sum, backward does not read the other summand. So ReLU's mask comes from y, and is
    // applied to dy once, in place.
    const bool mask = tail_.sum && tail_.relu;
    const void* y = mask ? t_.tops[0].raw : nullptr;
    NormSums sums;
    if (form_.has_scale) sums.factor_grad = {ParamGradient<float>(kScaleParam), add[kScaleParam]};
    if (form_.has_bias) sums.bias_grad = {ParamGradient<float>(kBiasParam), add[kBiasParam]};
    // The batch's mean and variance depend on x; the running ones do not.
    if (dx != nullptr && !form_.global) {
      sums.mean_dz = first_;
      sums.mean_normal_dz = second_;
    }
    if (sums.any()) {
      SumGradients(pass, WithRelu(true), x, y, dy, sums);
    } else if (mask) {
      Differentiate({{}, nullptr, nullptr, tail_.relu->slope}, y, dy, NormSums(), dy);
    }
    if (tail_.sum && t_.bottom_grads[1] && t_.bottom_grads[1].raw != dy) {
      CopyOnDevice(device_, t_.bottom_grads[1].raw, dy, t_.bottom_grads[1].bytes());
    }
    if (dx != nullptr) Differentiate(WithRelu(!mask), x, dy, sums, dx);
  }

 private:
  Norms WithRelu(bool relu) const {
    return {by_, form_.has_scale ? ParamValues<float>(kScaleParam) : nullptr,
            form_.has_bias ? ParamValues<float>(kBiasParam) : nullptr,
            relu && tail_.relu ? tail_.relu->slope : 1};
  }

  const ChainTail tail_;
};

DOPPIO_REGISTER_KERNEL(CudaKernel<CudaBatchNorm>("BatchNorm").Narrow());

[[maybe_unused]] const bool batch_norm_registered = [] {
  for (const char* chain : kBatchNormChains)
    KernelTypes::Get().Add(CudaKernel<CudaBatchNormChain>(chain).Narrow());
  return true;
}();

}  // namespace
}  // namespace doppio
