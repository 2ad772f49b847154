// The convolution of one block of images and its gradients, on arrays of image lanes
// (image_lanes.h).
#ifndef DOPPIO_LAYERS_CONVOLUTION_PLANE_CONVOLUTION_H_
#define DOPPIO_LAYERS_CONVOLUTION_PLANE_CONVOLUTION_H_

#include <algorithm>
#include <type_traits>

#include "layers/convolution/conv_geometry.h"
#include "layers/convolution/image_lanes.h"

namespace doppio {

// Computes a convolution with a square kernel of 3x3 or 5x5, stride 1, and neither groups nor
// dilation. The bottom's planes, and those of its gradient, include the padding. Planes of the top
// are computed in tiles.
class PlaneConvolution {
 public:
  using Images = image_lanes::Images;

  explicit PlaneConvolution(const ConvGeometry& g)
      : in_channels(g.in_channels),
        out_channels(g.out_channels),
        height(g.output[0]),
        width(g.output[1]),
        x_height(g.input[0] + 2 * g.pad[0]),
        x_width(g.input[1] + 2 * g.pad[1]),
        tile(image_lanes::CorrelateOutputs(static_cast<int>(g.kernel[0]))),
        kernel_(static_cast<int>(g.kernel[0])) {}

  // Returns true if this class can compute the convolution.
  static bool Fits(const ConvGeometry& g) {
    return g.axis == 1 && g.spatial_rank() == 2 && g.group == 1 && g.kernel[0] == g.kernel[1] &&
           (g.kernel[0] == 3 || g.kernel[0] == 5) && g.stride == std::vector<int64_t>{1, 1} &&
           g.dilation == std::vector<int64_t>{1, 1};
  }

  static int64_t RoundUp(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }
  int64_t plane() const { return height * width; }
  int64_t x_plane() const { return x_height * x_width; }
  int64_t weights() const { return in_channels * out_channels * kernel_ * kernel_; }
  // Numbers of channels in whole tiles: of the bottom's gradient, and of the top in Convolve.
  int64_t padded_inputs() const { return RoundUp(in_channels, image_lanes::kInputs); }
  int64_t padded_outputs() const { return RoundUp(out_channels, image_lanes::kOutputs); }
  // Returns the number of elements of `packed` below.
  int64_t packed() const {
    return std::max(padded_outputs() * in_channels, padded_inputs() * out_channels) * kernel_ *
           kernel_;
  }

  // Orders the weights for Convolve: [tile of top planes][bottom plane][row][column][plane].
  void PackForConvolve(const float* weights, float* packed) const {
    const int64_t inner = in_channels * kernel_ * kernel_;
    for (int64_t first = 0; first < out_channels; first += image_lanes::kOutputs) {
      for (int64_t i = 0; i < inner; ++i) {
        for (int64_t o = first; o < first + image_lanes::kOutputs; ++o) {
          *packed++ = o < out_channels ? weights[o * inner + i] : 0;
        }
      }
    }
  }
  // Orders the weights for Spread: [tile of bottom planes][top plane][row][column][plane].
  void PackForSpread(const float* weights, float* packed) const {
    const int64_t k = kernel_ * kernel_;
    for (int64_t first = 0; first < in_channels; first += image_lanes::kInputs) {
      for (int64_t o = 0; o < out_channels; ++o) {
        for (int64_t i = 0; i < k; ++i) {
          for (int64_t c = first; c < first + image_lanes::kInputs; ++c) {
            *packed++ = c < in_channels ? weights[(o * in_channels + c) * k + i] : 0;
          }
        }
      }
    }
  }

  // Computes kOutputs planes of the top, from plane `first` on, and writes them to `y`. `bias` has
  // padded_outputs() elements.
  void Convolve(int64_t first, const Images* x, const float* packed, const float* bias,
                Images* y) const {
    const float* weights = packed + first * in_channels * kernel_ * kernel_;
    WithKernel([&](auto kernel) {
      for (int64_t h = 0; h < height; ++h) {
        ForColumns<image_lanes::kColumns>([&](auto columns, int64_t w) {
          image_lanes::Convolve<kernel, columns>(x + h * x_width + w, {x_plane(), x_width},
                                                 in_channels, weights, bias + first,
                                                 y + h * width + w, plane());
        });
      }
    });
  }

  // Adds to the gradient of all weights of top planes [first, last). `dy` contains the gradients of
  // these planes, and zeros up to a whole tile.
  void Correlate(int64_t first, int64_t last, const Images* x, const Images* dy,
                 float* gradient) const {
    WithKernel([&](auto kernel) {
      constexpr int kTile = image_lanes::CorrelateOutputs(kernel);
      const int64_t step = in_channels * kernel * kernel;
      for (int64_t o = first; o < last; o += kTile, dy += kTile * plane()) {
        const int outputs = static_cast<int>(std::min<int64_t>(kTile, last - o));
        for (int64_t c = 0; c < in_channels; ++c) {
          for (int64_t kh = 0; kh < kernel; ++kh) {
            image_lanes::Correlate<kernel>(x + c * x_plane() + kh * x_width, x_width, dy, plane(),
                                           height, width, outputs,
                                           gradient + o * step + (c * kernel + kh) * kernel, step);
          }
        }
      }
    });
  }

  // Adds to the bottom's gradient what top planes [first, last), whose gradients are `dy`, give.
  void Spread(int64_t first, int64_t last, const Images* dy, const float* packed,
              Images* dx) const {
    WithKernel([&](auto kernel) {
      for (int64_t c = 0; c < in_channels; c += image_lanes::kInputs) {
        const float* weights =
            packed + (c * out_channels + first * image_lanes::kInputs) * kernel * kernel;
        for (int64_t h = 0; h < x_height; ++h) {
          // Row h - kh of the top must exist.
          const int low = static_cast<int>(std::max<int64_t>(0, h - height + 1));
          const int high = static_cast<int>(std::min<int64_t>(kernel, h + 1));
          ForColumns<image_lanes::kSpreadColumns>([&](auto columns, int64_t w) {
            image_lanes::Spread<kernel, columns>(dy + h * width + w, {plane(), width}, last - first,
                                                 low, high, weights,
                                                 dx + c * x_plane() + h * x_width + w, x_plane());
          });
        }
      }
    });
  }

  const int64_t in_channels, out_channels;
  const int64_t height, width;      // of the top
  const int64_t x_height, x_width;  // of the bottom with its padding
  const int64_t tile;               // top planes in a tile of Correlate

 private:
  // Calls f(std::integral_constant<int, n>()) with n = `value`, which is from 1 to kMost.
  template <int kMost, class F>
  static void WithConstant(int64_t value, const F& f) {
    if constexpr (kMost > 1) {
      if (value < kMost) return WithConstant<kMost - 1>(value, f);
    }
    f(std::integral_constant<int, kMost>());
  }
  // Calls f(kernel) with the kernel's extent as a constant.
  template <class F>
  void WithKernel(const F& f) const {
    if (kernel_ == 3) return f(std::integral_constant<int, 3>());
    f(std::integral_constant<int, 5>());
  }
  // Divides the columns of a row of the top into tiles of at most kMost, as equal as possible.
  // Calls f(number of columns as a constant, first column).
  template <int kMost, class F>
  void ForColumns(const F& f) const {
    const int64_t tiles = (width + kMost - 1) / kMost;
    for (int64_t i = 0; i < tiles; ++i) {
      const int64_t begin = width * i / tiles, end = width * (i + 1) / tiles;
      WithConstant<kMost>(end - begin, [&](auto columns) { f(columns, begin); });
    }
  }

  const int kernel_;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_CONVOLUTION_PLANE_CONVOLUTION_H_
