// Convolution of several images at once: each lane of a vector belongs to another image. Unlike
// lanes of channels, no lane is wasted if a layer has few channels or an odd number of them. The
// functions compute one tile of a result in registers. They are for square kernels of stride 1; the
// caller pads the images.
#ifndef DOPPIO_LAYERS_CONVOLUTION_IMAGE_LANES_H_
#define DOPPIO_LAYERS_CONVOLUTION_IMAGE_LANES_H_

#include <cstdint>

#include "layers/common/lane_squares.h"

namespace doppio::image_lanes {

// The number of images that are computed together: the floats of one register.
constexpr int kImages = kFloatLanes;
// The same element of kImages images. An array of planes is Images[channels][rows][columns].
using Images = Lanes<float, kImages>;

// Channels and columns of a tile. The accumulators of each tile fit into 24 of AVX-512's 32
// registers, or into 12 of the 16 of other CPUs, with room for the factors.
constexpr int kOutputs = kManyRegisters ? 4 : 2;  // of Convolve
constexpr int kColumns = kManyRegisters ? 6 : 5;
constexpr int kInputs = kManyRegisters ? 2 : 1;  // of Spread
constexpr int kSpreadColumns = 8;
constexpr int CorrelateOutputs(int kernel) { return (kManyRegisters ? 24 : 12) / kernel / 2 * 2; }

// The strides of an array of planes, in elements of type Images.
struct Planes {
  int64_t plane, row;
};

// Convolves one row of `channels` planes, and writes kWide neighbouring columns of kOutputs top
// planes. `x` points to the window of the first column; `weights` contains kOutputs factors for
// each channel, row and column of the kernel.
template <int kKernel, int kWide>
void Convolve(const Images* x, Planes of_x, int64_t channels, const float* weights,
              const float* bias, Images* y, int64_t plane_of_y) {
  Images sum[kOutputs][kWide];
#pragma GCC unroll 8
  for (int o = 0; o < kOutputs; ++o) {
#pragma GCC unroll 8
    for (int j = 0; j < kWide; ++j) sum[o][j] = Images{} + bias[o];
  }
  for (int64_t c = 0; c < channels; ++c, x += of_x.plane) {
    const Images* row = x;
    for (int kh = 0; kh < kKernel; ++kh, row += of_x.row) {
#pragma GCC unroll 8
      for (int kw = 0; kw < kKernel; ++kw, weights += kOutputs) {
#pragma GCC unroll 8
        for (int j = 0; j < kWide; ++j) {
          const Images pixels = row[j + kw];
#pragma GCC unroll 8
          for (int o = 0; o < kOutputs; ++o) sum[o][j] += pixels * weights[o];
        }
      }
    }
  }
#pragma GCC unroll 8
  for (int o = 0; o < kOutputs; ++o) {
#pragma GCC unroll 8
    for (int j = 0; j < kWide; ++j) y[o * plane_of_y + j] = sum[o][j];
  }
}

// Adds the gradient that kWide neighbouring columns of a row of the top, and the rows above it,
// give to one row of kInputs bottom planes. Row kh of the kernel reads top row `dy - kh`, for kh in
// [first, last). `weights` contains kInputs factors for each top plane, row and column of the
// kernel.
template <int kKernel, int kWide>
void Spread(const Images* dy, Planes of_y, int64_t outputs, int first, int last,
            const float* weights, Images* dx, int64_t plane_of_x) {
  constexpr int kReached = kWide + kKernel - 1;
  Images sum[kInputs][kReached] = {};
  for (int64_t o = 0; o < outputs; ++o, dy += of_y.plane, weights += kKernel * kKernel * kInputs) {
    for (int kh = first; kh < last; ++kh) {
      const Images* gradient = dy - kh * of_y.row;
      const float* factor = weights + kh * kKernel * kInputs;
#pragma GCC unroll 8
      for (int j = 0; j < kWide; ++j) {
        const Images from = gradient[j];
#pragma GCC unroll 8
        for (int kw = 0; kw < kKernel; ++kw) {
#pragma GCC unroll 8
          for (int c = 0; c < kInputs; ++c) sum[c][j + kw] += from * factor[kw * kInputs + c];
        }
      }
    }
  }
#pragma GCC unroll 8
  for (int c = 0; c < kInputs; ++c) {
#pragma GCC unroll 16
    for (int j = 0; j < kReached; ++j) dx[c * plane_of_x + j] += sum[c][j];
  }
}

// Adds to the gradient of one row of the kernel, for one bottom plane and CorrelateOutputs(kKernel)
// top planes, the products of `height` x `width` pixels, summed over the images. `x` points to the
// pixel that meets the first weight of this row for the first element of `dy`. The gradient of top
// plane o begins at `gradient` + o * `step`; only the first `outputs` planes exist there.
template <int kKernel>
void Correlate(const Images* x, int64_t row_of_x, const Images* dy, int64_t plane_of_y,
               int64_t height, int64_t width, int outputs, float* gradient, int64_t step) {
  constexpr int kTile = CorrelateOutputs(kKernel);
  Images sum[kTile][kKernel] = {};
  for (int64_t h = 0; h < height; ++h, x += row_of_x, dy += width) {
    for (int64_t w = 0; w < width; ++w) {
#pragma GCC unroll 16
      for (int o = 0; o < kTile; ++o) {
        const Images from = dy[o * plane_of_y + w];
#pragma GCC unroll 8
        for (int kw = 0; kw < kKernel; ++kw) sum[o][kw] += from * x[w + kw];
      }
    }
  }
  constexpr int kSums = kTile * kKernel;
  float total[(kSums + kImages - 1) / kImages * kImages];
#pragma GCC unroll 8
  for (int first = 0; first < kSums; first += kImages) {
    Images group[kImages] = {};
#pragma GCC unroll 16
    for (int i = 0; i < kImages; ++i) {
      if (first + i < kSums) group[i] = sum[(first + i) / kKernel][(first + i) % kKernel];
    }
    StoreLanes(total + first, SumEach(group));
  }
  for (int o = 0; o < outputs; ++o) {
    for (int kw = 0; kw < kKernel; ++kw) gradient[o * step + kw] += total[o * kKernel + kw];
  }
}

// Gathers `count` neighbouring elements of `images` images, which begin `step` elements apart, in
// lanes. The lanes of absent images are 0.
template <class T>
void Gather(const T* from, int64_t step, int images, int64_t count, Images* to) {
  int64_t i = 0;
  for (; i + kImages <= count; i += kImages) {
    Images square[kImages] = {};
    for (int n = 0; n < images; ++n) square[n] = LoadWide<kImages>(from + n * step + i);
    TransposeSquare(square);
    for (int n = 0; n < kImages; ++n) to[i + n] = square[n];
  }
  for (; i < count; ++i) {
    Images column{};
    for (int n = 0; n < images; ++n) column[n] = static_cast<float>(from[n * step + i]);
    to[i] = column;
  }
}

// The inverse of Gather: writes the lanes of `images` images.
template <class T>
void Scatter(const Images* from, int64_t step, int images, int64_t count, T* to) {
  int64_t i = 0;
  for (; i + kImages <= count; i += kImages) {
    Images square[kImages];
    for (int n = 0; n < kImages; ++n) square[n] = from[i + n];
    TransposeSquare(square);
    for (int n = 0; n < images; ++n) StoreRounded<kImages>(to + n * step + i, square[n]);
  }
  for (; i < count; ++i) {
    for (int n = 0; n < images; ++n) to[n * step + i] = static_cast<T>(from[i][n]);
  }
}

}  // namespace doppio::image_lanes

#endif  // DOPPIO_LAYERS_CONVOLUTION_IMAGE_LANES_H_
