// The kernel, for all devices, of one or several plain poolings (plain_pooling.h) of one bottom
// into one top.
#ifndef DOPPIO_LAYERS_POOLING_PLAIN_POOLING_KERNEL_H_
#define DOPPIO_LAYERS_POOLING_PLAIN_POOLING_KERNEL_H_

#include <algorithm>
#include <utility>
#include <vector>

#include "core/net/contract/kernel.h"
#include "layers/pooling/plain_pooling.h"

namespace doppio {

// Loops(Device*).Run(n, body) calls body(i) for every i in [0, n). `body` is a
// PlainPoolingForward<T> or a PlainPoolingBackward<T>.
template <class T, class Loops>
class PlainPoolingKernel : public Kernel {
 public:
  PlainPoolingKernel(const KernelArgs& args, std::vector<PlainPooling> poolings)
      : loops_(args.device), poolings_(std::move(poolings)) {
    const auto chooses = [](const PlainPooling& p) {
      return p.by == PoolBy::kMax || p.by == PoolBy::kDraw;
    };
    for (const PlainPooling& pooling : poolings_) {
      chosen_at_.push_back(windows_);
      if (chooses(pooling)) windows_ += pooling.g.windows();
    }
    needs_.saved_bytes = windows_ * kBytesOf<int32_t>;
  }

  void Forward(const Pass& pass) override {
    for (size_t p = 0; p < poolings_.size(); ++p) {
      const PlainPooling& pooling = poolings_[p];
      const int64_t samples = pooling.g.planes / std::max<int64_t>(1, pooling.channels);
      loops_.Run(pooling.g.windows(),
                 PlainPoolingForward<T>{pooling, BottomValues<T>(0), TopValues<T>(0), Chosen(p),
                                        pass.FirstSample(samples)});
    }
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    T* dx = BottomGradient<T>(0);
    if (dx == nullptr) return;
    for (size_t p = 0; p < poolings_.size(); ++p) {
      loops_.Run(poolings_[p].g.elements(),
                 PlainPoolingBackward<T>{poolings_[p], BottomValues<T>(0), TopGradient<T>(0),
                                         Chosen(p), p > 0, dx});
    }
  }

  bool same_every_pass() const override {
    return std::none_of(poolings_.begin(), poolings_.end(),
                        [](const PlainPooling& p) { return p.by == PoolBy::kDraw; });
  }

 private:
  // Returns the chosen elements of a pooling.
  int32_t* Chosen(size_t pooling) const {
    return static_cast<int32_t*>(t_.saved) + chosen_at_[pooling];
  }

  const Loops loops_;
  const std::vector<PlainPooling> poolings_;
  // The offset of each pooling's chosen elements in the saved memory.
  std::vector<int64_t> chosen_at_;
  int64_t windows_ = 0;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_POOLING_PLAIN_POOLING_KERNEL_H_
