// Unfolds the windows of an image into the columns of a matrix, and folds them back, for any number
// of spatial axes, on the CPU. The reference kernel of Convolution multiplies by this matrix.
#ifndef DOPPIO_LAYERS_CONVOLUTION_IM2COL_H_
#define DOPPIO_LAYERS_CONVOLUTION_IM2COL_H_

#include <vector>

#include "core/base/threads.h"
#include "layers/convolution/conv_geometry.h"

namespace doppio {

// Images have `channels` channels and the spatial extents ConvGeometry::input.
class Unfolding {
 public:
  Unfolding(const ConvGeometry& geometry, int64_t channels) : g_(geometry), channels_(channels) {}

  // Extents of the matrix: one row per (channel, kernel position), one column per window.
  int64_t rows() const { return channels_ * g_.kernel_count(); }
  int64_t columns() const { return g_.output_count(); }

  // Writes the windows of an image to the columns of the matrix, with zeros in the padding.
  template <class T>
  void Unfold(const T* image, T* matrix) const {
    ForChannels(image, matrix, [this](const T* plane, T* cells) {
      Visit(plane, cells,
            [](const T* pixel, T* cell) { *cell = pixel == nullptr ? T(0) : *pixel; });
    });
  }

  // Sets every pixel to the sum of its cells over all windows that contain the pixel.
  template <class T>
  void Fold(const T* matrix, T* image) const {
    ForChannels(image, matrix, [this](T* plane, const T* cells) {
      std::fill(plane, plane + g_.input_count(), T(0));
      Visit(plane, cells, [](T* pixel, const T* cell) {
        if (pixel != nullptr) *pixel += *cell;
      });
    });
  }

 private:
  // Calls f(plane of the image, its cells of the matrix) for all channels, in parallel.
  template <class Pixel, class Cell, class F>
  void ForChannels(Pixel* image, Cell* matrix, const F& f) const {
    const int64_t pixels = g_.input_count(), cells = g_.kernel_count() * columns();
    ParallelFor(channels_, 1 + 4096 / (cells + 1), [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) f(image + c * pixels, matrix + c * cells);
    });
  }

  // Calls f(pixel, cell) for all cells of one channel, in storage order. `pixel` is null in the
  // padding.
  template <class Pixel, class Cell, class F>
  void Visit(Pixel* image, Cell* cell, const F& f) const {
    const int rank = g_.spatial_rank();
    std::vector<int64_t> k(g_.kernel.size()), w(g_.kernel.size());
    // Advances `index` within `extents` in row-major order. Returns false after the last index.
    auto next = [rank](std::vector<int64_t>& index, const std::vector<int64_t>& extents) {
      for (int i = rank - 1; i >= 0; --i) {
        if (++index[i] < extents[i]) return true;
        index[i] = 0;
      }
      return false;
    };
    do {
      do {
        int64_t offset = 0;
        bool inside = true;
        for (int i = 0; i < rank; ++i) {
          const int64_t at = w[i] * g_.stride[i] - g_.pad[i] + k[i] * g_.dilation[i];
          inside = inside && at >= 0 && at < g_.input[i];
          offset = offset * g_.input[i] + at;
        }
        f(inside ? image + offset : nullptr, cell++);
      } while (next(w, g_.output));
    } while (next(k, g_.kernel));
  }

  ConvGeometry g_;
  int64_t channels_;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_CONVOLUTION_IM2COL_H_
