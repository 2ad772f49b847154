// Unfolded windows for Convolution and Im2col on a GPU: which images can be unfolded, how many at a
// time, and the kernels for tensors in single precision with plain layout.
#ifndef DOPPIO_LAYERS_CONVOLUTION_UNFOLD_CUH_
#define DOPPIO_LAYERS_CONVOLUTION_UNFOLD_CUH_

#include <algorithm>
#include <string>
#include <variant>

#include "core/device/launch.cuh"
#include "layers/convolution/conv_geometry.h"
#include "layers/convolution/windows.h"

namespace doppio {

// Most indices of a launch: planes times pixels or windows.
constexpr int64_t kMostIndices = int64_t{1} << 30;

// Returns true if every window is the pixel at the same position, so that the image is already the
// unfolded matrix.
inline bool IsUnfolded(const ConvGeometry& g) {
  return g.kernel_count() == 1 && g.output == g.input &&
         std::all_of(g.stride.begin(), g.stride.end(), [](int64_t s) { return s == 1; }) &&
         std::all_of(g.pad.begin(), g.pad.end(), [](int64_t p) { return p == 0; });
}

// Returns how many images to unfold at a time: as many as fit into 64 MiB, at least 1. `bytes` is
// the size of one unfolded image.
inline int64_t ImagesAtATime(const ConvGeometry& g, int64_t bytes) {
  constexpr int64_t kUnfoldedBytes = int64_t{64} << 20;
  const int64_t largest =
      std::max({g.in_channels * g.input_count(),
                std::max(g.in_channels, g.out_channels) * g.output_count(), int64_t{1}});
  return std::clamp<int64_t>(
      std::min(kUnfoldedBytes / std::max<int64_t>(1, bytes), kMostIndices / largest), 1,
      std::max<int64_t>(1, g.batch));
}

// Splits the batch into runs of at most `at_a_time` images, and calls f(first, images) for one run
// after the other.
template <class F>
void ForSomeImages(const ConvGeometry& g, int64_t at_a_time, const F& f) {
  for (int64_t first = 0; first < g.batch; first += at_a_time) {
    f(first, std::min(at_a_time, g.batch - first));
  }
}

// Returns why an image cannot be unfolded, or an empty string.
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

// Writes the windows of each of `planes` planes (an image's channel) as the columns of a matrix,
// whose rows are the cells of a window. All planes together must have less than 2^31 pixels and
// less than 2^31 windows, here and below.
//
// Each thread processes a window of a plane, cell by cell, so neighbouring threads read and write
// neighbouring addresses.
template <int kAxes>
static void UnfoldPlanes(const Gpu& gpu, const Windows<kAxes>& w, int64_t planes, const float* x,
                         float* matrix) {
  const Divider<int32_t> by_columns(w.columns);
  ForEachIndex(
      gpu, planes * w.columns, "unfolding windows", DOPPIO_BODY(int64_t i) {
        const int64_t plane = by_columns(static_cast<int32_t>(i));
        const int64_t window = i - plane * w.columns;
        const float* image = x + plane * w.pixels;
        float* column = matrix + plane * w.cells * w.columns + window;
        w.ForEachCell(static_cast<int32_t>(window), [=](int32_t cell, bool inside, uint32_t pixel) {
          column[static_cast<int64_t>(cell) * w.columns] = inside ? image[pixel] : 0.f;
        });
      });
}

// The opposite direction: sets every pixel to the sum of its cells over all windows that contain
// the pixel. Each thread gathers the cells of one pixel. There are no atomics, and the order of
// additions is always the same.
template <int kAxes>
static void FoldPlanes(const Gpu& gpu, const Windows<kAxes>& w, int64_t planes, const float* matrix,
                       float* x) {
  const Divider<int32_t> by_pixels(w.pixels);
  ForEachIndex(
      gpu, planes * w.pixels, "folding windows", DOPPIO_BODY(int64_t i) {
        const int64_t plane = by_pixels(static_cast<int32_t>(i));
        const float* cells = matrix + plane * w.cells * w.columns;
        float sum = 0;
        w.ForEachWindow(static_cast<int32_t>(i - plane * w.pixels),
                        [&](int32_t cell, int32_t window) {
                          sum += cells[static_cast<int64_t>(cell) * w.columns + window];
                        });
        x[i] = sum;
      });
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_CONVOLUTION_UNFOLD_CUH_
