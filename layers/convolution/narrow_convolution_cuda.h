// The base class of all Convolution kernels on a GPU with 16-bit activations. Tensors have their
// channels last. The products read a copy of the weights that is rounded to 16 bits and has its
// channels last. The weights and their gradient stay in single precision with plain layout.
#ifndef DOPPIO_LAYERS_CONVOLUTION_NARROW_CONVOLUTION_CUDA_H_
#define DOPPIO_LAYERS_CONVOLUTION_NARROW_CONVOLUTION_CUDA_H_

#include <memory>
#include <string>

#include "core/math/tensor_ops.h"
#include "layers/common/stored_form_cuda.h"
#include "layers/convolution/gpu_convolution_cuda.h"

namespace doppio {

// The shape of a convolution's weights: (outputs, inputs of a group, cells).
struct FilterShape {
  int64_t outputs = 0, inputs = 0, cells = 0;
  int64_t count() const { return outputs * inputs * cells; }
  // Returns true if plain layout and inputs last have the same element order.
  bool same_in_both_orders() const { return inputs == 1 || cells == 1; }
};
// dw = from, or dw += from if `add` is true. `from` is stored as `type` and has its inputs last; dw
// has plain layout.
void LaunchFilterGradient(const Gpu& gpu, const FilterShape& filter, DType type, const void* from,
                          bool add, float* dw);

// The kernels by matrix products (convolution_narrow.cu) and by cuDNN
// (convolution_narrow_cudnn_cuda.cc). The functions WhyNot... return why the kernel declines a
// layer, or an empty string.
std::unique_ptr<Kernel> MakeNarrowConvolution(const KernelArgs& args);
std::string WhyNotNarrowConvolution(const KernelArgs& args);
std::unique_ptr<Kernel> MakeNarrowCudnnConvolution(const KernelArgs& args);
std::string WhyNotNarrowCudnnConvolution(const KernelArgs& args);

// Returns why all narrow kernels decline a layer, or an empty string.
inline std::string WhyNotNarrow(const KernelArgs& args) {
  if (args.dtype != DType::kFloat32) return DeclinesDouble(args);
  for (DType top : args.tops) {
    if (top != args.tops[0]) return "its tops are of several types";
  }
  if (args.Form<ConvGeometry>().axis != 1) return "its channels are axis 1";
  if (args.param_shapes[0].count() > INT32_MAX) return "it counts its weights in 32 bits";
  return args.bottoms[0].shape.count() == 0 ? "the bottom is empty" : "";
}

// Rounds `bytes` up to an offset at which the next array in the scratch memory may begin.
inline int64_t AlignedBytes(int64_t bytes) {
  constexpr int64_t kAlignment = 256;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

class NarrowConvolution : public GpuConvolution {
 protected:
  explicit NarrowConvolution(const KernelArgs& args)
      : GpuConvolution(args),
        filter_{g_.out_channels, g_.in_channels / g_.group, g_.kernel_count()} {
    // Without spatial axes, plain and channels last are the same.
    const Layout layout = g_.spatial_rank() == 0 ? Layout() : Layout::ChannelsLast();
    needs_.bottoms.assign(args.bottoms.size(), layout);
    needs_.tops.assign(args.tops.size(), layout);
    const TensorSpec weights{args.param_shapes[0], DType::kFloat32, Layout()};
    const TensorSpec rounded{weights.shape, type_, Layout::ChannelsLast()};
    round_ = OpsOf(device_).Convert(weights, rounded);
    needs_.saved_bytes = rounded.bytes();
  }

  void TakeWeights() final { round_->Run(weights(), t_.saved); }

  // The weights of this pass in 16 bits. Shape: (outputs, kernel..., inputs of a group).
  const void* rounded_weights() const { return t_.saved; }

  const FilterShape filter_;

 private:
  std::unique_ptr<Converter> round_;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_CONVOLUTION_NARROW_CONVOLUTION_CUDA_H_
