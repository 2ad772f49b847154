// What every Convolution on a GPU has in common, whoever multiplies: its tail (bias, a sum, ReLU)
// and the gradients of that, several pairs of bottom and top, gradients that are absent or added.
//
// Tensors in single precision are plain, those in 16 bits have their channels last.
#ifndef DOPPIO_LAYERS_GPU_CONVOLUTION_CUDA_H_
#define DOPPIO_LAYERS_GPU_CONVOLUTION_CUDA_H_

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "layers/chain.h"
#include "layers/conv_geometry.h"
#include "layers/tail_cuda.h"

namespace doppio {

// Whether a gradient of the convolution's own bottoms is wanted: of a chain's only the first is
// one.
inline bool NeedsDataGradient(const KernelArgs& args) {
  const auto begin = args.bottom_gradient.begin();
  const auto end = args.chain != nullptr ? begin + 1 : args.bottom_gradient.end();
  return args.backward && std::find(begin, end, true) != end;
}

class GpuConvolution : public Kernel {
 public:
  void Forward(const Pass&) final {
    TakeWeights();
    for (size_t i = 0; i < t_.tops.size(); ++i) {
      void* y = t_.tops[i].raw;
      if (!Multiply(t_.bottoms[i].raw, y)) LaunchTail(gpu(), tail(), outer_, type_, y);
    }
  }

  bool same_every_pass() const override { return true; }

  void Backward(const Pass&, const std::vector<bool>& add) final {
    BackwardTail();
    bool written = false;
    for (size_t i = 0; i < t_.tops.size(); ++i) {
      if (!t_.top_grads[i]) continue;
      const void* dy = t_.top_grads[i].raw;
      if (float* dw = t_.param_grads[0].data<float>()) {
        WeightGradient(t_.bottoms[i].raw, dy, add[0] || written, dw);
      }
      if (g_.bias && t_.param_grads[1]) {
        LaunchChannelSums(gpu(), outer_, g_.out_channels, inner_, type_, dy, add[1] || written,
                          t_.param_grads[1].data<float>(), t_.scratch);
      }
      written = true;  // further pairs share the parameters
    }
    for (size_t p = 0; p < t_.param_grads.size() && !written; ++p) {
      const Tensor& gradient = t_.param_grads[p];
      if (gradient && !add[p]) device_->Zero(gradient.raw, gradient.bytes());
    }
    for (size_t i = 0; i < t_.tops.size(); ++i) {
      const Tensor& dx = t_.bottom_grads[i];
      if (!dx) continue;
      if (t_.top_grads[i]) {
        DataGradient(t_.top_grads[i].raw, dx.raw);
      } else {
        device_->Zero(dx.raw, dx.bytes());
      }
    }
  }

 protected:
  explicit GpuConvolution(const KernelArgs& args)
      : g_(ReadConvGeometry(*args.spec, args.bottoms[0].shape, false)),
        tail_(args.chain),
        device_(args.device),
        type_(args.tops[0]),
        outer_(Is16Bit(type_) ? g_.batch * g_.output_count() : g_.batch),
        inner_(Is16Bit(type_) ? 1 : g_.output_count()) {
    needs_.types.assign(args.bottoms.size(), type_);
    if (!args.backward || !g_.bias) return;
    needs_.scratch_bytes = ChannelSumsBytes(outer_, g_.out_channels, inner_);
  }

  // Once in each pass, before the products.
  virtual void TakeWeights() {}
  // y = weights * x. True when the tail is in it already.
  virtual bool Multiply(const void* x, void* y) = 0;
  virtual void WeightGradient(const void* x, const void* dy, bool add, float* dw) = 0;
  virtual void DataGradient(const void* dy, void* dx) = 0;

  Gpu gpu() const { return GpuOf(device_); }
  void NeedScratch(int64_t bytes) { needs_.scratch_bytes = std::max(needs_.scratch_bytes, bytes); }
  const float* weights() const { return t_.params[0].data<float>(); }

  GpuTail tail() const {
    GpuTail tail;
    tail.channels = g_.out_channels;
    tail.inner = inner_;
    if (g_.bias) tail.bias = t_.params[1].data<float>();
    if (tail_.sum) tail.other = t_.bottoms[1].raw;
    tail.relu = tail_.relu.has_value();
    if (tail_.relu) tail.slope = tail_.relu->slope;
    return tail;
  }

  const ConvGeometry g_;
  const ChainTail tail_;
  Device* const device_;
  const DType type_;  // of activations

 private:
  // As ChainTail does on the CPU.
  void BackwardTail() {
    const Tensor& dy = t_.top_grads[0];
    if (tail_.relu) {
      LaunchReluMask(gpu(), tail_.relu->slope, type_, dy.count(), t_.tops[0].raw, dy.raw);
    }
    if (!tail_.sum || !t_.bottom_grads[1] || t_.bottom_grads[1].raw == dy.raw) return;
    CopyOnDevice(device_, t_.bottom_grads[1].raw, dy.raw, dy.bytes());
  }

  const int64_t outer_, inner_;  // around the channels of a top
};

inline bool HasNarrowTops(const KernelArgs& args) {
  return std::any_of(args.tops.begin(), args.tops.end(), Is16Bit);
}

// For the chains that such kernels compute; which layers form them says convolution_dnnl.cc.
inline void RegisterGpuConvolution(const KernelType& type) {
  for (const char* layers :
       {"Convolution", "Convolution+ReLU", "Convolution+Eltwise", "Convolution+Eltwise+ReLU"}) {
    KernelType one = type;
    one.layer = layers;
    KernelTypes::Get().Add(one);
  }
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_GPU_CONVOLUTION_CUDA_H_
