// Unfolds the windows of an image into the columns of a matrix, and folds them back, for any number
// of spatial axes: the plain way to a convolution as a matrix product.
#ifndef DOPPIO_LAYERS_CONVOLUTION_IM2COL_H_
#define DOPPIO_LAYERS_CONVOLUTION_IM2COL_H_

#include <vector>

#include "core/base/threads.h"
#include "layers/convolution/conv_geometry.h"

namespace doppio {

// The convolution seen from its unfolded side: `image` is the side that windows slide over (the
// bottom of a Convolution, the top of a Deconvolution), `windows` the other.
class Unfolding {
 public:
  Unfolding(const ConvGeometry& geometry, int64_t channels, bool transposed)
      : g_(geometry),
        channels_(channels),
        image_(transposed ? geometry.output : geometry.input),
        windows_(transposed ? geometry.input : geometry.output) {}

  // Rows (channel, kernel position), columns (window).
  int64_t rows() const { return channels_ * g_.kernel_count(); }
  int64_t columns() const { return ConvGeometry::Product(windows_); }

  template <class T>
  void Unfold(const T* image, T* matrix) const {
    const int64_t pixels = ConvGeometry::Product(image_);
    const int64_t grain = 1 + 4096 / (g_.kernel_count() * columns() + 1);
    ParallelFor(channels_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        Visit(image + c * pixels, matrix + c * g_.kernel_count() * columns(),
              [](const T* pixel, T* cell) { *cell = pixel == nullptr ? T(0) : *pixel; });
      }
    });
  }

  // Writes the image: the sum over all windows a pixel is in.
  template <class T>
  void Fold(const T* matrix, T* image) const {
    const int64_t pixels = ConvGeometry::Product(image_);
    const int64_t grain = 1 + 4096 / (g_.kernel_count() * columns() + 1);
    ParallelFor(channels_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        std::fill(image + c * pixels, image + (c + 1) * pixels, T(0));
        Visit(image + c * pixels, matrix + c * g_.kernel_count() * columns(),
              [](T* pixel, const T* cell) {
                if (pixel != nullptr) *pixel += *cell;
              });
      }
    });
  }

 private:
  // Calls f(pixel or null in the padding, cell) for all cells of one channel, in storage order.
  template <class Pixel, class Cell, class F>
  void Visit(Pixel* image, Cell* cell, const F& f) const {
    const int rank = g_.spatial_rank();
    std::vector<int64_t> k(static_cast<size_t>(rank), 0), w(static_cast<size_t>(rank), 0);
    // Counts `index` up within `extents`; false after the last.
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
          inside = inside && at >= 0 && at < image_[i];
          offset = offset * image_[i] + at;
        }
        f(inside ? image + offset : nullptr, cell++);
      } while (next(w, windows_));
    } while (next(k, g_.kernel));
  }

  ConvGeometry g_;
  int64_t channels_;
  std::vector<int64_t> image_, windows_;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_CONVOLUTION_IM2COL_H_
