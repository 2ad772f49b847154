// The windows of a convolution for device code: the pixels of a window, and the windows that
// contain a pixel. The functions marked DOPPIO_HD run on every device and use no memory and no
// standard library.
#ifndef DOPPIO_LAYERS_CONVOLUTION_WINDOWS_H_
#define DOPPIO_LAYERS_CONVOLUTION_WINDOWS_H_

#include <cstdint>
#include <variant>

#include "layers/common/divider.h"
#include "layers/convolution/conv_geometry.h"

namespace doppio {

// Supports up to kAxes spatial axes. Missing axes are added in front, with one pixel and one
// window. A padded image must have less than 2^31 pixels along each axis and in total.
template <int kAxes>
struct Windows {
  int32_t image[kAxes], windows[kAxes], kernel[kAxes], stride[kAxes], pad[kAxes], dilation[kAxes];
  Divider<int32_t> by_image[kAxes], by_windows[kAxes], by_stride[kAxes];
  // Pixels of an image, windows in the image, and pixels in a window.
  int32_t pixels = 1, columns = 1, cells = 1;

  static Windows From(const ConvGeometry& g) {
    Windows w;
    const int missing = kAxes - static_cast<int>(g.kernel.size());
    for (int i = 0; i < kAxes; ++i) {
      auto extent = [&](const auto& values, int64_t otherwise) {
        return static_cast<int32_t>(i < missing ? otherwise : values[i - missing]);
      };
      w.image[i] = extent(g.input, 1);
      w.windows[i] = extent(g.output, 1);
      w.kernel[i] = extent(g.kernel, 1);
      w.stride[i] = extent(g.stride, 1);
      w.pad[i] = extent(g.pad, 0);
      w.dilation[i] = extent(g.dilation, 1);
      w.by_image[i] = Divider<int32_t>(w.image[i] > 0 ? w.image[i] : 1);
      w.by_windows[i] = Divider<int32_t>(w.windows[i]);
      w.by_stride[i] = Divider<int32_t>(w.stride[i]);
      w.pixels *= w.image[i];
      w.columns *= w.windows[i];
      w.cells *= w.kernel[i];
    }
    return w;
  }

  // Calls f(cell, inside, pixel) for the cells of a window in row-major order. Cells in the padding
  // have `inside` false and an invalid `pixel`.
  template <class F>
  DOPPIO_HD void ForEachCell(int32_t window, const F& f) const {
    int32_t corner[kAxes], k[kAxes];
    for (int i = kAxes - 1; i >= 0; --i) {
      const int32_t rest = by_windows[i](window);
      corner[i] = (window - rest * windows[i]) * stride[i] - pad[i];
      window = rest;
      k[i] = 0;
    }
    for (int32_t cell = 0; cell < cells; ++cell) {
      uint32_t pixel = 0;
      bool inside = true;
      for (int i = 0; i < kAxes; ++i) {
        const uint32_t at = static_cast<uint32_t>(corner[i] + k[i] * dilation[i]);
        const uint32_t extent = static_cast<uint32_t>(image[i]);
        inside = inside && at < extent;  // negative values wrap to large ones
        pixel = pixel * extent + at;
      }
      f(cell, inside, pixel);
      Next(k);
    }
  }

  // Calls f(cell, window) for every window that contains the pixel, with cells in row-major order.
  template <class F>
  DOPPIO_HD void ForEachWindow(int32_t pixel, const F& f) const {
    int32_t at[kAxes], k[kAxes];
    for (int i = kAxes - 1; i >= 0; --i) {
      const int32_t rest = by_image[i](pixel);
      at[i] = pixel - rest * image[i] + pad[i];
      pixel = rest;
      k[i] = 0;
    }
    for (int32_t cell = 0; cell < cells; ++cell) {
      int32_t window = 0;
      bool there = true;
      for (int i = 0; i < kAxes; ++i) {
        const int32_t corner = at[i] - k[i] * dilation[i];
        there = there && corner >= 0;
        const int32_t w = there ? by_stride[i](corner) : 0;
        there = there && w < windows[i] && w * stride[i] == corner;
        window = window * windows[i] + (there ? w : 0);
      }
      if (there) f(cell, window);
      Next(k);
    }
  }

 private:
  DOPPIO_HD void Next(int32_t* k) const {
    for (int i = kAxes - 1; i >= 0; --i) {
      if (++k[i] < kernel[i]) return;
      k[i] = 0;
    }
  }
};

constexpr int kMostWindowAxes = 8;
using AnyWindows = std::variant<Windows<2>, Windows<3>, Windows<kMostWindowAxes>>;

// Returns the windows of `g`, which must have at most kMostWindowAxes spatial axes.
inline AnyWindows WindowsOf(const ConvGeometry& g) {
  if (g.kernel.size() <= 2) return Windows<2>::From(g);
  if (g.kernel.size() == 3) return Windows<3>::From(g);
  return Windows<kMostWindowAxes>::From(g);
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_CONVOLUTION_WINDOWS_H_
