// Interp: bilinear resizing of planes with aligned corners. The first and the last pixel of an axis
// keep their values, and the other output pixels are spaced evenly between them. On a GPU, each
// element is computed by itself; in the backward pass, each element of the bottom's gradient adds
// up the gradients of the outputs that read it.
#ifndef DOPPIO_LAYERS_SHAPE_INTERP_KERNEL_H_
#define DOPPIO_LAYERS_SHAPE_INTERP_KERNEL_H_

#include <cstdint>

#include "core/base/host_device.h"
#include "layers/common/divider.h"

namespace doppio {

// Resizes one axis: the pixels [begin, begin + extent) of an axis of `input` pixels become `output`
// pixels. Requires extent * output < 2^31.
struct ResizedAxis {
  ResizedAxis(int64_t input, int64_t begin, int64_t extent, int64_t output)
      : input(input), begin(begin), extent(extent), output(output), by_steps(output - 1) {}

  int64_t input, begin, extent, output;
  Divider<int32_t> by_steps;

  // The source of an output pixel: (1 - part) * pixel `first` + part * (the next pixel). `first` is
  // relative to `begin`.
  template <class T>
  struct Source {
    int64_t first;
    T part;
  };
  // Returns the source of output pixel o.
  template <class T>
  DOPPIO_HD Source<T> Of(int64_t o) const {
    if (output == 1) return {0, 0};
    const int32_t steps = static_cast<int32_t>(output - 1);
    const int32_t at = static_cast<int32_t>(o * (extent - 1)), first = by_steps(at);
    return {first, static_cast<T>(at - first * steps) / static_cast<T>(steps)};
  }

  // Low and High return bounds of the outputs that read pixel `i`: outputs outside [Low, High] do
  // not read it. `i` is relative to `begin`.
  DOPPIO_HD int64_t Low(int64_t i) const {
    return extent == 1 || i == 0 ? 0 : (i - 1) * (output - 1) / (extent - 1);
  }
  DOPPIO_HD int64_t High(int64_t i) const {
    if (extent == 1) return output - 1;
    const int64_t high = (i + 1) * (output - 1) / (extent - 1) + 1;
    return high < output ? high : output - 1;
  }
  // Returns the weight of pixel `i` in output `o`.
  template <class T>
  DOPPIO_HD T Share(int64_t i, int64_t o) const {
    const Source<T> source = Of<T>(o);
    return i == source.first ? 1 - source.part : i == source.first + 1 ? source.part : 0;
  }
};

// Finds the plane, row i and column j of element n of planes of height x width.
struct PixelFinder {
  PixelFinder(int64_t planes, int64_t height, int64_t width)
      : height(height),
        width(width),
        by_height(height, planes * height),
        by_width(width, planes * height * width) {}
  struct Pixel {
    int64_t plane, i, j;
  };
  DOPPIO_HD Pixel operator()(int64_t n) const {
    const int64_t row = by_width(n), plane = by_height(row);
    return {plane, row - plane * height, n - row * width};
  }
  int64_t height, width;
  IndexDivider by_height, by_width;
};

template <class T>
struct ResizeForward {
  ResizedAxis h, w;
  PixelFinder find;  // for the top
  const T* x;
  T* y;

  // Writes element n of the top.
  DOPPIO_HD void operator()(int64_t n) const {
    const PixelFinder::Pixel at = find(n);
    const ResizedAxis::Source<T> a = h.Of<T>(at.i), b = w.Of<T>(at.j);
    const T* corner = x + (at.plane * h.input + h.begin + a.first) * w.input + w.begin + b.first;
    // The next pixel is read only if its weight is not 0, because there is none after the last
    // pixel.
    const int64_t down = a.part > 0 ? w.input : 0, right = b.part > 0 ? 1 : 0;
    const T above = (1 - b.part) * corner[0] + b.part * corner[right];
    const T below = (1 - b.part) * corner[down] + b.part * corner[down + right];
    y[n] = (1 - a.part) * above + a.part * below;
  }
};

template <class T>
struct ResizeBackward {
  ResizedAxis h, w;
  PixelFinder find;  // for the bottom
  const T* dy;
  T* dx;

  // Writes element n of the bottom's gradient.
  DOPPIO_HD void operator()(int64_t n) const {
    const PixelFinder::Pixel at = find(n);
    const int64_t i = at.i - h.begin, j = at.j - w.begin;
    T sum = 0;
    if (i >= 0 && i < h.extent && j >= 0 && j < w.extent) {
      for (int64_t a = h.Low(i); a <= h.High(i); ++a) {
        const T share = h.Share<T>(i, a);
        if (share == 0) continue;
        for (int64_t b = w.Low(j); b <= w.High(j); ++b) {
          sum += share * w.Share<T>(j, b) * dy[(at.plane * h.output + a) * w.output + b];
        }
      }
    }
    dx[n] = sum;
  }
};

// The form of an Interp layer: its settings and the extents of its bottom.
struct InterpForm {
  // Number of samples times number of channels.
  int64_t planes;
  ResizedAxis h, w;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SHAPE_INTERP_KERNEL_H_
