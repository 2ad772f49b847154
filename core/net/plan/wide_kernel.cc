#include "core/net/plan/wide_kernel.h"

#include <algorithm>
#include <utility>

#include "core/math/tensor_ops.h"
#include "core/net/plan/kernel_wrapper.h"

namespace doppio {
namespace {

// A tensor as it is stored and as the inner kernel sees it. If the types differ, the inner kernel
// works on a copy in scratch memory, at `offset`.
class Pair {
 public:
  Pair(Device* device, const TensorSpec& stored, const TensorSpec& seen, int64_t offset)
      : stored_(stored, nullptr), widened_(seen, nullptr), offset_(offset) {
    if (stored.dtype == seen.dtype) return;
    widen_ = OpsOf(device).Convert(stored, seen);
    round_ = OpsOf(device).Convert(seen, stored);
  }

  // Returns the tensor to which the inner kernel is bound.
  Tensor Bind(const Tensor& stored, void* scratch) {
    stored_ = stored;
    if (widen_ == nullptr || !stored) {
      widened_.raw = stored.raw;
    } else {
      widened_.raw = static_cast<char*>(scratch) + offset_;
    }
    return widened_;
  }

  void Widen() const {
    if (widen_ != nullptr && stored_) widen_->Run(stored_.raw, widened_.raw);
  }
  void Round() const {
    if (round_ != nullptr && stored_) round_->Run(widened_.raw, stored_.raw);
  }

 private:
  Tensor stored_, widened_;
  int64_t offset_;
  std::unique_ptr<Converter> widen_, round_;
};

class WideKernel : public KernelWrapper {
 public:
  WideKernel(const KernelArgs& args, const LayerShape& shape, std::unique_ptr<Kernel> kernel)
      : KernelWrapper(std::move(kernel)), shape_(shape) {
    needs_ = inner()->needs();
    needs_.types.clear();  // the plan does not convert bottoms; this kernel does
    needs_.bottoms.resize(args.bottoms.size());
    needs_.tops.resize(args.tops.size());
    for (size_t i = 0; i < args.bottoms.size(); ++i) {
      TensorSpec stored = args.bottoms[i];
      const TensorSpec seen{stored.shape, args.dtype, needs_.bottoms[i]};
      if (!Is16Bit(stored.dtype)) stored = seen;
      needs_.bottoms[i] = stored.layout;
      Add(args.device, stored, seen, &bottoms_);
      if (args.backward) Add(args.device, stored, seen, &bottom_grads_);
    }
    for (size_t i = 0; i < args.tops.size(); ++i) {
      const TensorSpec seen{shape.tops[i], args.dtype, needs_.tops[i]};
      TensorSpec stored = seen;
      stored.dtype = args.tops[i];
      Add(args.device, stored, seen, &tops_);
      if (args.backward) Add(args.device, stored, seen, &top_grads_);
    }
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    KernelTensors own = t_;
    auto bind = [&](std::vector<Pair>* pairs, std::vector<Tensor>* all) {
      for (size_t i = 0; i < pairs->size(); ++i)
        (*all)[i] = (*pairs)[i].Bind((*all)[i], t_.scratch);
    };
    bind(&bottoms_, &own.bottoms);
    bind(&tops_, &own.tops);
    bind(&bottom_grads_, &own.bottom_grads);
    bind(&top_grads_, &own.top_grads);
    inner()->Bind(std::move(own));
  }

  void Forward(const Pass& pass) override {
    for (const Pair& bottom : bottoms_) bottom.Widen();
    // Other layers have used the scratch memory since the last pass, so restore the values that
    // persistent tops keep.
    for (const Pair& top : tops_) {
      if (shape_.persistent_tops) top.Widen();
    }
    KernelWrapper::Forward(pass);
    for (const Pair& top : tops_) top.Round();
  }

  void Backward(const Pass& pass, const std::vector<bool>& add) override {
    // Other layers have used the scratch memory since Forward.
    for (size_t i = 0; shape_.backward_reads_bottoms && i < bottoms_.size(); ++i) {
      if (!shape_.Passes(i)) bottoms_[i].Widen();
    }
    for (const Pair& top : tops_) {
      if (shape_.backward_reads_tops) top.Widen();
    }
    for (const Pair& gradient : top_grads_) gradient.Widen();
    KernelWrapper::Backward(pass, add);
    for (const Pair& gradient : bottom_grads_) gradient.Round();
    // The plan uses the top's gradient, as the inner kernel left it, as a bottom's gradient.
    if (shape_.overwrites_top_gradients && !shape_.passes_gradient.empty()) top_grads_[0].Round();
  }

 private:
  void Add(Device* device, const TensorSpec& stored, const TensorSpec& seen,
           std::vector<Pair>* to) {
    to->emplace_back(device, stored, seen,
                     stored.dtype == seen.dtype ? 0 : TakeScratch(seen.bytes()));
  }

  const LayerShape shape_;
  std::vector<Pair> bottoms_, tops_, bottom_grads_, top_grads_;
};

}  // namespace

bool HasNarrowEdges(const KernelArgs& args) {
  return std::any_of(args.tops.begin(), args.tops.end(), Is16Bit) ||
         std::any_of(args.bottoms.begin(), args.bottoms.end(),
                     [](const TensorSpec& bottom) { return Is16Bit(bottom.dtype); });
}

KernelArgs Widened(const KernelArgs& args) {
  KernelArgs wide = args;
  for (TensorSpec& bottom : wide.bottoms) bottom.dtype = args.dtype;
  for (DType& top : wide.tops) {
    if (top == DType::kBFloat16) wide.math = MathMode::kBFloat16;
    top = args.dtype;
  }
  return wide;
}

std::unique_ptr<Kernel> MakeWideKernel(const KernelArgs& args, const LayerShape& shape,
                                       std::unique_ptr<Kernel> inner) {
  return std::make_unique<WideKernel>(args, shape, std::move(inner));
}

}  // namespace doppio
