// The geometry of Convolution, Deconvolution and Im2col: the form that `infer` of these layer types
// makes of convolution_param and of the bottom's shape. Kernels on every device read it.
#ifndef DOPPIO_LAYERS_CONVOLUTION_CONV_GEOMETRY_H_
#define DOPPIO_LAYERS_CONVOLUTION_CONV_GEOMETRY_H_

#include <cstdint>
#include <vector>

namespace doppio {

class Shape;
struct LayerSpec;

// The convolution whose products a layer computes. A Deconvolution computes the gradient of a
// convolution from its top to its bottom: that convolution is described here. `input` is always the
// side that windows slide over, and `out_channels` is the first axis of the weights.
struct ConvGeometry {
  bool transposed = false;  // a Deconvolution: its top is the input
  int axis = 1;             // the channels' axis; the axes before it are the batch
  int64_t batch = 0, group = 1;
  int64_t in_channels = 0, out_channels = 0;
  bool bias = true;
  std::vector<int64_t> kernel, stride, pad, dilation;  // one per spatial axis
  std::vector<int64_t> input, output;                  // spatial extents

  int spatial_rank() const { return static_cast<int>(kernel.size()); }
  int64_t kernel_count() const { return Product(kernel); }
  int64_t input_count() const { return Product(input); }
  int64_t output_count() const { return Product(output); }

  // The channels and the spatial extents of the layer's top.
  int64_t top_channels() const { return transposed ? in_channels : out_channels; }
  const std::vector<int64_t>& top_extents() const { return transposed ? input : output; }

  static int64_t Product(const std::vector<int64_t>& v) {
    int64_t n = 1;
    for (int64_t x : v) n *= x;
    return n;
  }
};

// Caffe's layer type, and the types that forks use if every channel is its own group. The same
// kernels compute all three.
inline constexpr const char* kConvolutionTypes[] = {"Convolution", "ConvolutionDepthwise",
                                                    "DepthwiseConvolution"};

// Reads convolution_param, with Caffe's legacy fields and defaults, and checks it against the shape
// of a bottom. Throws UserError if a field is wrong or does not fit the bottom.
ConvGeometry ReadConvGeometry(const LayerSpec& spec, const Shape& bottom);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_CONVOLUTION_CONV_GEOMETRY_H_
