// BN's kernel for all devices. A kernel of BatchNorm and Scale on the same device computes the
// values, and loops over channels update the running statistics.
#ifndef DOPPIO_LAYERS_NORMALIZATION_BN_KERNEL_H_
#define DOPPIO_LAYERS_NORMALIZATION_BN_KERNEL_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/host_device.h"
#include "core/net/contract/communicator.h"
#include "core/net/contract/kernel.h"
#include "layers/normalization/bn_form.h"

namespace doppio {

// The updates of BN's running statistics, the same on all devices, as functions of a channel.
// Moves the running statistics towards those of a batch. `batch` has the order of BatchNorm's
// parameters: sums of the means, sums of the unbiased variances, and the weight of the sums. The
// weight must be 1, so that the sums are the statistics themselves.
template <class T>
struct FollowStatistics {
  int64_t channels;
  const T* batch;  // after one forward pass that began with zeros
  // The momentum, 1 - momentum, and the ratio of the biased to the unbiased variance.
  T keep, take, biased;
  T* mean;
  T* variance;
  DOPPIO_HD void operator()(int64_t c) const {
    mean[c] = keep * mean[c] + take * batch[c];
    variance[c] = keep * variance[c] + take * biased * batch[channels + c];
  }
};

// Sets the weight of BatchNorm's sums to 1, so that the sums are the statistics themselves.
template <class T>
struct SetWeight {
  T* weight;
  DOPPIO_HD void operator()(int64_t) const { *weight = 1; }
};

// Loops(Device*).Run(n, body) calls body(i) for every i in [0, n).
template <class T, class Loops>
class BnKernel : public FormKernel<BnForm> {
 public:
  explicit BnKernel(const KernelArgs& args)
      : FormKernel(args),
        loops_(args.device),
        channels_(args.bottoms[0].shape[1]),
        positions_(args.bottoms[0].shape.count() / std::max<int64_t>(1, channels_)),
        shares_(args.sync_statistics && !form_.global) {
    MakeInner(args);
    needs_ = inner_->needs();
    needs_.params.clear();
    statistics_at_ = (needs_.saved_bytes + 63) / 64 * 64;
    needs_.saved_bytes = statistics_at_ + StatisticsBytes();
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    KernelTensors t = t_;
    t.params.clear();
    t.param_grads.clear();
    statistics_ = reinterpret_cast<T*>(static_cast<char*>(t_.saved) + statistics_at_);
    if (form_.normalizes) {
      const Shape per_channel{channels_};
      T* mean = form_.global ? ParamValues<T>(2) : statistics_;
      T* variance = form_.global ? ParamValues<T>(3) : statistics_ + channels_;
      t.params = {{{per_channel, t_.params[0].dtype, Layout()}, mean},
                  {{per_channel, t_.params[0].dtype, Layout()}, variance},
                  {{Shape{1}, t_.params[0].dtype, Layout()}, weight()}};
      t.param_grads.resize(3);
    }
    for (size_t p = 0; p < 2; ++p) {
      const TensorSpec spec{Shape{channels_}, t_.params[p].dtype, Layout()};
      t.params.push_back({spec, t_.params[p].raw});
      t.param_grads.push_back({spec, t_.param_grads[p].raw});
    }
    inner_->Bind(std::move(t));
  }

  void Forward(const Pass& pass) override {
    if (form_.global) {
      loops_.Run(1, SetWeight<T>{weight()});
    } else {
      device_->Zero(statistics_, StatisticsBytes());
    }
    inner_->Forward(pass);
    if (form_.global || !form_.keeps_running || pass.again) return;
    const bool shared = shares_ && pass.group != nullptr;
    const double m = static_cast<double>(positions_) * (shared ? pass.group->size() : 1);
    loops_.Run(channels_,
               FollowStatistics<T>{channels_, statistics_, static_cast<T>(form_.momentum),
                                   static_cast<T>(1 - form_.momentum),
                                   static_cast<T>(m > 1 ? (m - 1) / m : 1), ParamValues<T>(2),
                                   ParamValues<T>(3)});
  }

  void Backward(const Pass& pass, const std::vector<bool>& add) override {
    std::vector<bool> inner(form_.normalizes ? 3 : 0, false);
    inner.insert(inner.end(), add.begin(), add.begin() + 2);
    inner_->Backward(pass, inner);
  }

 private:
  T* weight() const { return statistics_ + 2 * channels_; }
  int64_t StatisticsBytes() const { return (2 * channels_ + 1) * kBytesOf<T>; }

  // Creates the kernel of BatchNorm and Scale. Bind assembles its parameters.
  void MakeInner(const KernelArgs& from) {
    KernelArgs args = from;
    args.type = form_.inner_type();
    args.form = &form_.inner;
    args.param_shapes.assign(form_.normalizes ? 5 : 2, Shape{channels_});
    if (form_.normalizes) args.param_shapes[2] = Shape{1};
    args.param_layouts.clear();
    args.param_placed.clear();
    for (std::vector<bool>* flags : {&args.param_gradient, &args.param_may_add}) {
      flags->resize(2);
      if (form_.normalizes) flags->insert(flags->begin(), 3, false);
    }
    for (const KernelType* type : KernelTypes::Get().For(args.type, device_->kind())) {
      if (type->declines != nullptr && !type->declines(args).empty()) continue;
      inner_ = type->make(args);
      return;
    }
    DOPPIO_CHECK(false, "a device that has BN has no " + args.type);
  }

  const Loops loops_;
  const int64_t channels_, positions_;  // positions per channel
  const bool shares_;                   // the statistics cover the batches of all ranks
  std::unique_ptr<Kernel> inner_;
  int64_t statistics_at_ = 0;  // offset in the saved memory
  T* statistics_ = nullptr;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_NORMALIZATION_BN_KERNEL_H_
