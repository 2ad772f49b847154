// What both convolutions by matrix products with unfolded windows have in common, in plain numbers:
// which images they take, and how many at a time.
#ifndef DOPPIO_LAYERS_CONVOLUTION_UNFOLDED_CONVOLUTION_CUDA_H_
#define DOPPIO_LAYERS_CONVOLUTION_UNFOLDED_CONVOLUTION_CUDA_H_

#include <algorithm>
#include <string>

#include "layers/convolution/conv_geometry.h"
#include "layers/convolution/windows.h"

namespace doppio {

constexpr int64_t kMostIndices = int64_t{1} << 30;  // of a launch, see LaunchUnfold

// Windows that are single pixels, in the same order: the bottom is the matrix.
inline bool IsUnfolded(const ConvGeometry& g) {
  return g.kernel_count() == 1 && g.output == g.input &&
         std::all_of(g.stride.begin(), g.stride.end(), [](int64_t s) { return s == 1; }) &&
         std::all_of(g.pad.begin(), g.pad.end(), [](int64_t p) { return p == 0; });
}

// As many as fit into 64 MiB when one has so many bytes unfolded.
inline int64_t ImagesAtATime(const ConvGeometry& g, int64_t bytes) {
  constexpr int64_t kUnfoldedBytes = int64_t{64} << 20;
  const int64_t largest =
      std::max({g.in_channels * g.input_count(),
                std::max(g.in_channels, g.out_channels) * g.output_count(), int64_t{1}});
  return std::clamp<int64_t>(
      std::min(kUnfoldedBytes / std::max<int64_t>(1, bytes), kMostIndices / largest), 1,
      std::max<int64_t>(1, g.batch));
}

// Empty, or why an image cannot be unfolded.
inline std::string WhyNotUnfold(const ConvGeometry& g) {
  if (g.spatial_rank() > kMostWindowAxes) {
    return "it has at most " + std::to_string(kMostWindowAxes) + " spatial axes";
  }
  int64_t padded = 1;
  for (size_t i = 0; i < g.input.size() && padded < kMostIndices; ++i) {
    padded *= std::min(kMostIndices, g.input[i] + 2 * g.pad[i]);
  }
  if (padded >= kMostIndices || g.in_channels * g.input_count() >= kMostIndices ||
      std::max(g.in_channels, g.out_channels) * g.output_count() >= kMostIndices) {
    return "an image is too large for its 32-bit indices";
  }
  return "";
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_CONVOLUTION_UNFOLDED_CONVOLUTION_CUDA_H_
