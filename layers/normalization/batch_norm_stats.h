// Computes the mean and scale of each channel by which BatchNorm normalises, alone and in chains,
// and updates its running statistics, on the CPU.
#ifndef DOPPIO_LAYERS_NORMALIZATION_BATCH_NORM_STATS_H_
#define DOPPIO_LAYERS_NORMALIZATION_BATCH_NORM_STATS_H_

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/net/contract/communicator.h"
#include "core/net/contract/kernel.h"
#include "layers/common/channel_blocks.h"
#include "layers/normalization/batch_norm_form.h"

namespace doppio {

// Computes in T; the bottom may be stored in a narrower type.
template <class T>
class BatchNormStats {
 public:
  explicit BatchNormStats(const KernelArgs& args)
      : global_(args.Form<BatchNormForm>().global),
        shares_(args.sync_statistics && !global_),
        fraction_(args.Form<BatchNormForm>().fraction),
        epsilon_(args.Form<BatchNormForm>().epsilon) {
    const TensorSpec& bottom = args.bottoms[0];
    const int end = std::min(2, bottom.shape.rank());
    layout_ = ChannelLayout(bottom, 1, end);
    FindChannelBlocks({bottom.shape, bottom.dtype, layout_}, 1, end, &channels_);
  }

  bool global() const { return global_; }
  // Returns the layout to request for the bottom.
  const Layout& layout() const { return layout_; }
  // Returns the view of the bottom in layout().
  const ChannelBlocks& channels() const { return channels_; }
  int64_t per_channel_bytes() const { return channels_.padded() * kBytesOf<T>; }

  // Fills `mean` and `scale` (1 / standard deviation) with one value per channel, and with zeros
  // for padding. Unless pass.again is set or the running statistics normalise, also updates
  // `state`, the layer's parameters. `sums` has ChannelSumsBytes(channels()) bytes and `pivot`
  // per_channel_bytes(), both for use as scratch memory.
  template <class Stored>
  void Take(const Pass& pass, const Stored* x, const std::vector<Tensor>& state, void* sums,
            T* pivot, T* mean, T* scale) const {
    std::fill(mean, mean + channels_.padded(), T(0));
    std::fill(scale, scale + channels_.padded(), T(0));
    if (global_) {
      TakeRunning(state, mean, scale);
      return;
    }
    const double* moments = TakeBatch(pass, x, sums, pivot, mean, scale);
    if (!pass.again) Update(moments, Positions(pass, channels_), mean, state);
  }

  // Divides two sums per channel by the number of positions, which gives the means `first` and
  // `second`. Sums over all ranks if they share statistics.
  void Average(const Pass& pass, const double* sums, T* first, T* second) const {
    const double m = Positions(pass, channels_);
    sums = OverRanks(pass, sums);
    for (int64_t c = 0; c < channels_.padded(); ++c) {
      first[c] = static_cast<T>(sums[c] / m);
      second[c] = static_cast<T>(sums[channels_.padded() + c] / m);
    }
  }

 private:
  bool Shares(const Pass& pass) const { return shares_ && pass.group != nullptr; }
  // Returns the number of elements per channel in the batch that the statistics cover.
  double Positions(const Pass& pass, const ChannelBlocks& channels) const {
    return static_cast<double>(channels.positions()) * (Shares(pass) ? pass.group->size() : 1);
  }
  // Returns two sums per channel, summed over all ranks if they share statistics.
  const double* OverRanks(const Pass& pass, const double* sums) const {
    if (!Shares(pass)) return sums;
    shared_.assign(sums, sums + 2 * channels_.padded());
    pass.group->AllReduce(shared_.data(), static_cast<int64_t>(shared_.size()), DType::kFloat64);
    return shared_.data();
  }

  T ScaleOf(T variance) const { return T(1) / std::sqrt(variance + epsilon_); }

  void TakeRunning(const std::vector<Tensor>& state, T* mean, T* scale) const {
    const T weight = *state[2].data<T>();
    const T per_weight = weight == 0 ? T(0) : T(1) / weight;
    for (int64_t c = 0; c < channels_.channels; ++c) {
      mean[c] = per_weight * state[0].data<T>()[c];
      scale[c] = ScaleOf(per_weight * state[1].data<T>()[c]);
    }
  }

  // Computes the batch's mean and scale from the sums of x and x^2 relative to a pivot, in one
  // pass. The pivot is the mean of the first sample (of each rank), which is close enough to the
  // mean that nothing cancels. Returns the sums.
  template <class Stored>
  const double* TakeBatch(const Pass& pass, const Stored* x, void* room, T* pivot, T* mean,
                          T* scale) const {
    ChannelBlocks sample = channels_;
    sample.outer = 1;
    const double* sums = OverRanks(pass, SumPerChannel<T>(sample, room, [=](T& sum, T&, int64_t i) {
                                     sum += static_cast<T>(x[i]);
                                   }));
    for (int64_t c = 0; c < channels_.padded(); ++c) {
      pivot[c] = static_cast<T>(sums[c] / Positions(pass, sample));
    }
    sums = SumPerChannel<T>(
        channels_, room,
        [=](T& sum, T& square, int64_t i, T near_mean) {
          const T d = static_cast<T>(x[i]) - near_mean;
          sum += d;
          square += d * d;
        },
        pivot);
    sums = OverRanks(pass, sums);

    const double m = Positions(pass, channels_);
    for (int64_t c = 0; c < channels_.channels; ++c) {
      mean[c] = static_cast<T>(pivot[c] + sums[c] / m);
      scale[c] = ScaleOf(static_cast<T>(Variance(sums, m, c)));
    }
    return sums;
  }

  // Returns the variance of channel c from sums over `m` positions.
  double Variance(const double* sums, double m, int64_t c) const {
    const double offset = sums[c] / m;
    return std::max(0.0, sums[channels_.padded() + c] / m - offset * offset);
  }

  // Adds the batch's statistics to the running ones.
  void Update(const double* sums, double m, const T* mean, const std::vector<Tensor>& state) const {
    const double unbiased = m > 1 ? m / (m - 1) : 1;
    T* running_mean = state[0].data<T>();
    T* running_variance = state[1].data<T>();
    for (int64_t c = 0; c < channels_.channels; ++c) {
      const double variance = Variance(sums, m, c);
      running_mean[c] = mean[c] + fraction_ * running_mean[c];
      running_variance[c] = static_cast<T>(unbiased * variance) + fraction_ * running_variance[c];
    }
    T* weight = state[2].data<T>();
    *weight = T(1) + fraction_ * *weight;
  }

  const bool global_, shares_;
  const T fraction_, epsilon_;
  Layout layout_;
  ChannelBlocks channels_;
  mutable std::vector<double> shared_;  // the result of OverRanks
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_NORMALIZATION_BATCH_NORM_STATS_H_
