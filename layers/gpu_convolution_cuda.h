// What every Convolution on a GPU has in common, whoever multiplies: its tail (bias, a sum, ReLU)
// and the gradients of that, several pairs of bottom and top, gradients that are absent or added.
#ifndef DOPPIO_LAYERS_GPU_CONVOLUTION_CUDA_H_
#define DOPPIO_LAYERS_GPU_CONVOLUTION_CUDA_H_

#include <algorithm>
#include <vector>

#include "layers/chain.h"
#include "layers/conv_geometry.h"
#include "layers/tail_cuda.h"

namespace doppio {

class GpuConvolution : public Kernel {
 public:
  void Forward(const Pass&) final {
    for (size_t i = 0; i < t_.tops.size(); ++i) {
      float* y = t_.tops[i].data<float>();
      if (!Multiply(t_.bottoms[i].data<float>(), y)) LaunchTail(gpu(), tail(), g_.batch, y);
    }
  }

  void Backward(const Pass&, const std::vector<bool>& add) final {
    BackwardTail();
    bool written = false;
    for (size_t i = 0; i < t_.tops.size(); ++i) {
      if (!t_.top_grads[i]) continue;
      const float* dy = t_.top_grads[i].data<float>();
      if (float* dw = t_.param_grads[0].data<float>()) {
        WeightGradient(t_.bottoms[i].data<float>(), dy, add[0] || written, dw);
      }
      if (g_.bias && t_.param_grads[1]) {
        LaunchChannelSums(gpu(), g_.batch, g_.out_channels, g_.output_count(), dy,
                          add[1] || written, t_.param_grads[1].data<float>(), t_.scratch);
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
        DataGradient(t_.top_grads[i].data<float>(), dx.data<float>());
      } else {
        device_->Zero(dx.raw, dx.bytes());
      }
    }
  }

 protected:
  explicit GpuConvolution(const KernelArgs& args)
      : g_(ReadConvGeometry(*args.spec, args.bottoms[0].shape, false)),
        tail_(args.chain),
        device_(args.device) {
    if (!args.backward || !g_.bias) return;
    needs_.scratch_bytes = ChannelSumsBytes(g_.batch, g_.out_channels, g_.output_count());
  }

  // y = weights * x. True when the tail is in it already.
  virtual bool Multiply(const float* x, float* y) = 0;
  virtual void WeightGradient(const float* x, const float* dy, bool add, float* dw) = 0;
  virtual void DataGradient(const float* dy, float* dx) = 0;

  Gpu gpu() const { return GpuOf(device_); }
  void NeedScratch(int64_t bytes) { needs_.scratch_bytes = std::max(needs_.scratch_bytes, bytes); }
  const float* weights() const { return t_.params[0].data<float>(); }

  GpuTail tail() const {
    GpuTail tail;
    tail.channels = g_.out_channels;
    tail.inner = g_.output_count();
    if (g_.bias) tail.bias = t_.params[1].data<float>();
    if (tail_.sum) tail.other = t_.bottoms[1].data<float>();
    tail.relu = tail_.relu.has_value();
    if (tail_.relu) tail.slope = tail_.relu->slope;
    return tail;
  }

  const ConvGeometry g_;
  const ChainTail tail_;
  Device* const device_;

 private:
  // As ChainTail does on the CPU.
  void BackwardTail() {
    const Tensor& dy = t_.top_grads[0];
    if (tail_.relu) {
      LaunchReluMask(gpu(), tail_.relu->slope, dy.count(), t_.tops[0].data<float>(),
                     dy.data<float>());
    }
    if (!tail_.sum || !t_.bottom_grads[1] || t_.bottom_grads[1].raw == dy.raw) return;
    CopyOnDevice(device_, t_.bottom_grads[1].raw, dy.raw, dy.bytes());
  }
};

// The chains that such kernels compute; which layers form them says convolution_dnnl.cc.
inline void RegisterGpuConvolution(const char* engine, int rank,
                                   std::unique_ptr<Kernel> (*make)(const KernelArgs&),
                                   std::string (*declines)(const KernelArgs&)) {
  for (const char* layers :
       {"Convolution", "Convolution+ReLU", "Convolution+Eltwise", "Convolution+Eltwise+ReLU"}) {
    KernelTypes::Get().Add({layers, DeviceKind::kCuda, engine, rank, make, declines});
  }
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_GPU_CONVOLUTION_CUDA_H_
