// The base class of kernels that compute with another kernel. It passes on all calls that a derived
// class does not override, except Bind: derived classes bind the inner kernel.
#ifndef DOPPIO_CORE_NET_PLAN_KERNEL_WRAPPER_H_
#define DOPPIO_CORE_NET_PLAN_KERNEL_WRAPPER_H_

#include <memory>
#include <utility>
#include <vector>

#include "core/net/contract/kernel.h"

namespace doppio {

class KernelWrapper : public Kernel {
 public:
  explicit KernelWrapper(std::unique_ptr<Kernel> inner) : inner_(std::move(inner)) {}
  void Forward(const Pass& pass) override { inner_->Forward(pass); }
  void Backward(const Pass& pass, const std::vector<bool>& add) override {
    inner_->Backward(pass, add);
  }
  void BackwardSlice(int64_t slice) override { inner_->BackwardSlice(slice); }
  bool same_every_pass() const override { return inner_->same_every_pass(); }
  Kernel* inner() const final { return inner_.get(); }

 protected:
  // Requests scratch memory beyond that in needs_. Returns its offset.
  int64_t TakeScratch(int64_t bytes) {
    constexpr int64_t kAlignment = 256;
    const int64_t offset = (needs_.scratch_bytes + kAlignment - 1) / kAlignment * kAlignment;
    needs_.scratch_bytes = offset + bytes;
    return offset;
  }

 private:
  const std::unique_ptr<Kernel> inner_;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_PLAN_KERNEL_WRAPPER_H_
