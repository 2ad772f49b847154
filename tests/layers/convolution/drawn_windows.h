// The windows of convolutions and of Im2col, while rows draw them.
#ifndef DOPPIO_TESTS_LAYERS_CONVOLUTION_DRAWN_WINDOWS_H_
#define DOPPIO_TESTS_LAYERS_CONVOLUTION_DRAWN_WINDOWS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/layers/common/drawn_fields.h"
#include "tests/random/draw.h"

namespace doppio {

constexpr int64_t kMostConvSide = 24;  // of the top of a Deconvolution

// The window along one spatial axis.
struct ConvWindow {
  int64_t kernel = 1, stride = 1, pad = 0, dilation = 1;
  // The extent of the dilated kernel.
  int64_t extent() const { return dilation * (kernel - 1) + 1; }
  int64_t Windows(int64_t input) const { return (input + 2 * pad - extent()) / stride + 1; }
  // The extent that a Deconvolution makes of `input`.
  int64_t Enlarged(int64_t input) const { return stride * (input - 1) + extent() - 2 * pad; }
};

using ConvWindows = std::vector<ConvWindow>;

// Draws a window that fits an input of this extent; the kernel is at most `most`.
inline ConvWindow DrawConvWindow(Draw& draw, int64_t input, int64_t most) {
  ConvWindow w;
  if (draw.Chance(0.5)) w.pad = draw.Int(1, 3);
  const int64_t padded = input + 2 * w.pad;
  w.kernel = draw.Chance(0.1) ? padded : draw.Of<int64_t>({1, 2, 3, 3, 3, 4, 5, 7});
  w.kernel = std::min({w.kernel, padded, most});
  if (draw.Chance(0.25)) w.dilation = draw.Int(1, 3);
  while (w.extent() > padded) --w.dilation;
  w.stride = draw.Of<int64_t>({1, 1, 1, 1, 2, 2, 3, w.kernel + 1});
  return w;
}

// Draws a window of a Deconvolution for inputs of extents from `least` to `largest`.
inline ConvWindow DrawEnlargingWindow(Draw& draw, int64_t least, int64_t largest) {
  ConvWindow w;
  w.kernel = draw.Of<int64_t>({1, 2, 3, 3, 4, 5, 7});
  w.stride = draw.Of<int64_t>({1, 1, 2, 2, 3, w.kernel + 1});
  if (draw.Chance(0.25)) w.dilation = draw.Int(1, 3);
  while (w.stride > 1 && w.Enlarged(largest) > kMostConvSide) --w.stride;
  while (w.kernel > 1 && w.Enlarged(largest) > kMostConvSide) --w.kernel;
  if (draw.Chance(0.5)) w.pad = draw.Int(1, 3);
  while (w.Enlarged(least) < 1) --w.pad;
  return w;
}

// Draws a window that keeps the extents of the bottom.
inline ConvWindow DrawKeepingWindow(Draw& draw) {
  ConvWindow w;
  w.kernel = draw.Of<int64_t>({1, 3, 5});
  w.dilation = draw.Chance(0.2) ? 2 : 1;
  w.pad = (w.extent() - 1) / 2;
  return w;
}

// Draws a window for each axis; often the same for all.
inline ConvWindows DrawConvWindows(Draw& draw, const std::vector<int64_t>& input, bool transposed,
                                   int64_t most) {
  if (input.empty()) return {};
  const auto one = [&](int64_t least, int64_t largest) {
    return transposed ? DrawEnlargingWindow(draw, least, largest)
                      : DrawConvWindow(draw, least, most);
  };
  if (draw.Chance(0.6)) {
    const auto [least, largest] = std::minmax_element(input.begin(), input.end());
    return ConvWindows(input.size(), one(*least, *largest));
  }
  ConvWindows windows;
  for (const int64_t extent : input) windows.push_back(one(extent, extent));
  return windows;
}

inline std::vector<int64_t> EachOf(const ConvWindows& windows, int64_t ConvWindow::*member) {
  std::vector<int64_t> values;
  for (const ConvWindow& window : windows) values.push_back(window.*member);
  return values;
}

inline int64_t ProductOf(const std::vector<int64_t>& values) {
  int64_t product = 1;
  for (const int64_t value : values) product *= value;
  return product;
}

inline void SetConvWindows(Draw& draw, const ConvWindows& windows, DrawnFields* fields) {
  fields->SetExtents("kernel_size", "kernel", EachOf(windows, &ConvWindow::kernel), -1, true);
  fields->SetExtents("stride", "stride", EachOf(windows, &ConvWindow::stride), 1, true);
  fields->SetExtents("pad", "pad", EachOf(windows, &ConvWindow::pad), 0, true);
  const bool hole = draw.Chance(0.5);  // DeepLab's name
  fields->SetExtents(hole ? "hole" : "dilation", hole ? "hole" : "",
                     EachOf(windows, &ConvWindow::dilation), 1, true);
}

// Adds the fields that choose among other programs' implementations.
inline void SetConvLibraries(DrawnFields* fields) {
  fields->MaybeOneOf(
      0.3, "engine",
      {"DEFAULT", "CAFFE", "CUDNN", "MKL2017", "MKLDNN", "LIBDNN", "INTEL_SPATIAL", "FFT"});
  fields->MaybeBool(0.1, "force_nd_im2col");
  fields->MaybeOneOf(0.08, "cudnn_convolution_algo_seeker", {"GET", "FINDEX"});
  fields->MaybeText(0.08, "conv_algos_override", "1,0,-1");
  fields->MaybeOneOf(0.08, "conv_algorithm", {"\"direct\"", "\"winograd\"", "\"auto\""});
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_LAYERS_CONVOLUTION_DRAWN_WINDOWS_H_
