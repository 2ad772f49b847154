// What every Convolution on a GPU with activations in 16 bits has in common: tensors have their
// channels last, and the factor of its products is the weights rounded to 16 bits with their
// channels last, too. The weights themselves and their gradient stay as they are, plain and in
// single precision.
#ifndef DOPPIO_LAYERS_CONVOLUTION_NARROW_CONVOLUTION_CUDA_H_
#define DOPPIO_LAYERS_CONVOLUTION_NARROW_CONVOLUTION_CUDA_H_

#include <memory>
#include <string>

#include "core/math/tensor_ops.h"
#include "layers/convolution/convolution_cuda.h"
#include "layers/convolution/gpu_convolution_cuda.h"

namespace doppio {

// By matrix products (convolution_narrow_cuda.cc) and by cuDNN (convolution_narrow_cudnn_cuda.cc).
std::unique_ptr<Kernel> MakeNarrowConvolution(const KernelArgs& args);
std::string WhyNotNarrowConvolution(const KernelArgs& args);
std::unique_ptr<Kernel> MakeNarrowCudnnConvolution(const KernelArgs& args);
std::string WhyNotNarrowCudnnConvolution(const KernelArgs& args);

// Empty, or why such kernels decline.
inline std::string WhyNotNarrow(const KernelArgs& args, const ConvGeometry& g) {
  if (args.dtype != DType::kFloat32) return std::string("it has no ") + Name(args.dtype);
  for (DType top : args.tops) {
    if (top != args.tops[0]) return "its tops are of several types";
  }
  if (g.axis != 1) return "its channels are axis 1";
  if (args.shape->params[0].shape.count() > INT32_MAX) return "it counts its weights in 32 bits";
  return args.bottoms[0].shape.count() == 0 ? "the bottom is empty" : "";
}

// Up to where the next thing in the scratch memory may begin.
inline int64_t AlignedBytes(int64_t bytes) {
  constexpr int64_t kAlignment = 256;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

class NarrowConvolution : public GpuConvolution {
 protected:
  explicit NarrowConvolution(const KernelArgs& args)
      : GpuConvolution(args),
        filter_{g_.out_channels, g_.in_channels / g_.group, g_.kernel_count()} {
    // Of no spatial axes, tensors are the same in both orders.
    const Layout layout = g_.spatial_rank() == 0 ? Layout() : Layout::ChannelsLast();
    needs_.bottoms.assign(args.bottoms.size(), layout);
    needs_.tops.assign(args.tops.size(), layout);
    const TensorSpec weights{args.shape->params[0].shape, DType::kFloat32, Layout()};
    const TensorSpec rounded{weights.shape, type_, Layout::ChannelsLast()};
    round_ = OpsOf(device_).Convert(weights, rounded);
    needs_.saved_bytes = rounded.bytes();
  }

  void TakeWeights() final { round_->Run(weights(), t_.saved); }

  // The factor: (outputs, kernel..., inputs of a group).
  const void* rounded_weights() const { return t_.saved; }

  const FilterShape filter_;

 private:
  std::unique_ptr<Converter> round_;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_CONVOLUTION_NARROW_CONVOLUTION_CUDA_H_
