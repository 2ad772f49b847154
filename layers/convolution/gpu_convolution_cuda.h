// The base class of all Convolution and Deconvolution kernels on a GPU. It computes the tail (bias,
// sum, ReLU) and its gradients, and handles several pairs of bottom and top, absent gradients, and
// gradients that are added. Derived classes compute the products of ConvGeometry. A Deconvolution
// uses them in the opposite direction, and its tail is only a bias.
//
// Tensors in single precision have plain layout; 16-bit tensors have their channels last.
#ifndef DOPPIO_LAYERS_CONVOLUTION_GPU_CONVOLUTION_CUDA_H_
#define DOPPIO_LAYERS_CONVOLUTION_GPU_CONVOLUTION_CUDA_H_

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "layers/convolution/conv_geometry.h"
#include "layers/elementwise/chain.h"
#include "layers/elementwise/tail_cuda.h"

namespace doppio {

// The products that a layer needs.
struct ConvolutionNeeds {
  explicit ConvolutionNeeds(const KernelArgs& args) {
    // Only the first bottom of a chain is a bottom of the convolution.
    const auto begin = args.bottom_gradient.begin();
    const auto end = args.chain != nullptr ? begin + 1 : args.bottom_gradient.end();
    const bool gradient = args.backward && std::find(begin, end, true) != end;
    const bool transposed = args.Form<ConvGeometry>().transposed;
    multiply = !transposed || gradient;
    data = transposed || gradient;
    filter = args.backward && args.param_gradient[0];
  }
  // True if the layer calls Multiply, DataGradient or WeightGradient of GpuConvolution,
  // respectively.
  bool multiply, data, filter;
};

class GpuConvolution : public Kernel {
 public:
  void Forward(const Pass&) final {
    TakeWeights();
    for (size_t i = 0; i < t_.tops.size(); ++i) {
      void* y = t_.tops[i].raw;
      bool complete = false;
      if (g_.transposed) {
        DataGradient(t_.bottoms[i].raw, y);
        complete = !g_.bias;
      } else {
        complete = Multiply(t_.bottoms[i].raw, y);
      }
      if (!complete) LaunchTail(gpu(), tail(), outer_, type_, y);
    }
  }

  bool same_every_pass() const override { return true; }

  void Backward(const Pass&, const std::vector<bool>& add) final {
    const bool summed = BackwardTail(add);
    bool written = false;
    for (size_t i = 0; i < t_.tops.size(); ++i) {
      if (!t_.top_grads[i]) continue;
      const void* dy = t_.top_grads[i].raw;
      if (float* dw = ParamGradient<float>(0)) {
        const void* x = t_.bottoms[i].raw;
        WeightGradient(g_.transposed ? dy : x, g_.transposed ? x : dy, add[0] || written, dw);
      }
      if (g_.bias && t_.param_grads[1] && !summed) {
        LaunchChannelSums(gpu(), outer_, top_channels_, inner_, type_, dy, add[1] || written,
                          ParamGradient<float>(1), t_.scratch);
      }
      written = true;  // further pairs add to the same parameter gradients
    }
    for (size_t p = 0; p < t_.param_grads.size() && !written; ++p) {
      const Tensor& gradient = t_.param_grads[p];
      if (gradient && !add[p]) device_->Zero(gradient.raw, gradient.bytes());
    }
    for (size_t i = 0; i < t_.tops.size(); ++i) {
      const Tensor& dx = t_.bottom_grads[i];
      if (!dx) continue;
      if (!t_.top_grads[i]) {
        device_->Zero(dx.raw, dx.bytes());
      } else if (g_.transposed) {
        Multiply(t_.top_grads[i].raw, dx.raw);
      } else {
        DataGradient(t_.top_grads[i].raw, dx.raw);
      }
    }
  }

 protected:
  explicit GpuConvolution(const KernelArgs& args)
      : g_(args.Form<ConvGeometry>()),
        tail_(args.chain),
        device_(args.device),
        type_(args.tops[0]),
        top_channels_(g_.top_channels()),
        outer_(Is16Bit(type_) ? g_.batch * top_pixels() : g_.batch),
        inner_(Is16Bit(type_) ? 1 : top_pixels()) {
    needs_.types.assign(args.bottoms.size(), type_);
    if (!args.backward || !g_.bias) return;
    needs_.scratch_bytes = ChannelSumsBytes(outer_, top_channels_, inner_);
  }

  // Called once per forward pass, before the products.
  virtual void TakeWeights() {}
  // y = weights * x. Returns true if it has also computed the tail, which it must not do for a
  // Deconvolution.
  virtual bool Multiply(const void* x, void* y) = 0;
  // dw = the gradient of the weights, or dw += if `add` is true.
  virtual void WeightGradient(const void* x, const void* dy, bool add, float* dw) = 0;
  // dx = the gradient of x. Overwrites dx.
  virtual void DataGradient(const void* dy, void* dx) = 0;

  Gpu gpu() const { return GpuOf(device_); }
  void NeedScratch(int64_t bytes) { needs_.scratch_bytes = std::max(needs_.scratch_bytes, bytes); }
  const float* weights() const { return ParamValues<float>(0); }

  GpuTail tail() const {
    GpuTail tail;
    tail.channels = top_channels_;
    tail.inner = inner_;
    if (g_.bias) tail.bias = ParamValues<float>(1);
    if (tail_.sum) tail.other = t_.bottoms[1].raw;
    tail.relu = tail_.relu.has_value();
    if (tail_.relu) tail.slope = tail_.relu->slope;
    return tail;
  }

  const ConvGeometry g_;
  const ChainTail tail_;
  Device* const device_;
  const DType type_;  // stored type of bottoms, tops and their gradients

 private:
  // Computes on the GPU what ChainTail computes on the CPU. Returns true if the pass that applies
  // ReLU's mask has also computed the gradient of the bias. A chain has one top.
  bool BackwardTail(const std::vector<bool>& add) {
    const Tensor& dy = t_.top_grads[0];
    const bool sum = tail_.relu && dy && g_.bias && t_.param_grads[1];
    if (sum) {
      LaunchMaskedChannelSums(gpu(), tail_.relu->slope, outer_, top_channels_, inner_, type_,
                              t_.tops[0].raw, dy.raw, add[1], ParamGradient<float>(1), t_.scratch);
    } else if (tail_.relu) {
      LaunchReluMask(gpu(), tail_.relu->slope, type_, dy.count(), t_.tops[0].raw, dy.raw);
    }
    if (tail_.sum && t_.bottom_grads[1] && t_.bottom_grads[1].raw != dy.raw) {
      CopyOnDevice(device_, t_.bottom_grads[1].raw, dy.raw, dy.bytes());
    }
    return sum;
  }

  int64_t top_pixels() const { return ConvGeometry::Product(g_.top_extents()); }

  const int64_t top_channels_, outer_, inner_;  // the shape of a top: (outer, channels, inner)
};

// Returns true if a top is stored in 16 bits.
inline bool HasNarrowTops(const KernelArgs& args) {
  return std::any_of(args.tops.begin(), args.tops.end(), Is16Bit);
}

// Registers `type` for all layers and chains of this family. convolution_dnnl.cc registers the
// chains themselves.
inline void RegisterGpuConvolution(KernelType type) {
  type.layer = "Deconvolution";
  KernelTypes::Get().Add(type);
  for (const char* name : kConvolutionTypes) {
    type.layer = name;
    AddWithTails(type);
  }
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_CONVOLUTION_GPU_CONVOLUTION_CUDA_H_
