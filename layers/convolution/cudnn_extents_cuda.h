// The extents of a convolution for cuDNN, which needs two or three spatial axes. Convolutions with
// fewer axes get additional axes of one pixel.
#ifndef DOPPIO_LAYERS_CONVOLUTION_CUDNN_EXTENTS_CUDA_H_
#define DOPPIO_LAYERS_CONVOLUTION_CUDNN_EXTENTS_CUDA_H_

#include <algorithm>
#include <string>
#include <vector>

#include "core/math/cudnn.h"
#include "core/tensor/tensor.h"
#include "layers/convolution/conv_geometry.h"

namespace doppio {

struct CudnnExtents {
  explicit CudnnExtents(const ConvGeometry& g)
      : x(Dims(g.batch, g.in_channels, g.input)),
        w(Dims(g.out_channels, g.in_channels / g.group, g.kernel)),
        y(Dims(g.batch, g.out_channels, g.output)),
        shape{Spatial(g.pad, 0), Spatial(g.stride, 1), Spatial(g.dilation, 1), g.group} {}

  // Returns all extents as text, for use in a cache key.
  std::string ToString() const {
    std::string text;
    for (const auto& part : {x, w, shape.pad, shape.stride, shape.dilation}) {
      text += Shape(part).ToString() + " ";
    }
    return text + std::to_string(shape.group);
  }

  const std::vector<int64_t> x, w, y;
  const CudnnConvolutionShape shape;

 private:
  static std::vector<int64_t> Spatial(std::vector<int64_t> values, int64_t otherwise) {
    while (values.size() < 2) values.insert(values.begin(), otherwise);
    return values;
  }
  static std::vector<int64_t> Dims(int64_t first, int64_t second,
                                   const std::vector<int64_t>& spatial) {
    std::vector<int64_t> dims = Spatial(spatial, 1);
    dims.insert(dims.begin(), {first, second});
    return dims;
  }
};

// Returns why cuDNN cannot take tensors of these extents, or an empty string.
inline std::string WhyNotCudnn(const ConvGeometry& g) {
  if (g.spatial_rank() > 3) return "cuDNN has at most 3 spatial axes";
  const int64_t largest =
      g.batch * std::max(g.in_channels * g.input_count(), g.out_channels * g.output_count());
  if (largest == 0 || g.input_count() == 0) return "the bottom is empty";
  return largest > INT32_MAX ? "cuDNN counts the elements of a tensor in 32 bits" : "";
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_CONVOLUTION_CUDNN_EXTENTS_CUDA_H_
