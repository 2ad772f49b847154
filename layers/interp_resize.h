// Bilinear resizing of planes with aligned corners: the first and last pixel of an axis stay where
// they are, the others lie evenly between them. The same math on every device; backward an element
// gathers from the outputs that read it.
#ifndef DOPPIO_LAYERS_INTERP_RESIZE_H_
#define DOPPIO_LAYERS_INTERP_RESIZE_H_

#include <cstdint>

#include "core/base/host_device.h"

namespace doppio {

// Pixels [begin, begin + extent) of `input` become `output` pixels.
struct ResizedAxis {
  int64_t input = 1, begin = 0, extent = 1, output = 1;

  // Output o is (1 - part) of pixel `first` and `part` of the next, counted from `begin`.
  struct Source {
    int64_t first;
    float part;
  };
  DOPPIO_HD Source Of(int64_t o) const {
    const int64_t steps = output - 1;
    if (steps == 0) return {0, 0};
    const int64_t at = o * (extent - 1);
    return {at / steps, static_cast<float>(at % steps) / static_cast<float>(steps)};
  }

  // Outputs outside [Low, High] do not read pixel `i`, counted from `begin`.
  DOPPIO_HD int64_t Low(int64_t i) const {
    return extent == 1 || i == 0 ? 0 : (i - 1) * (output - 1) / (extent - 1);
  }
  DOPPIO_HD int64_t High(int64_t i) const {
    if (extent == 1) return output - 1;
    const int64_t high = (i + 1) * (output - 1) / (extent - 1) + 1;
    return high < output ? high : output - 1;
  }
  // The share of pixel `i` in output `o`.
  DOPPIO_HD float Share(int64_t i, int64_t o) const {
    const Source source = Of(o);
    return i == source.first ? 1 - source.part : i == source.first + 1 ? source.part : 0;
  }
};

template <class T>
struct ResizeForward {
  ResizedAxis h, w;
  const T* x;
  T* y;

  // Element n of the top.
  DOPPIO_HD void operator()(int64_t n) const {
    const int64_t row = n / w.output, plane = row / h.output;
    const ResizedAxis::Source a = h.Of(row % h.output), b = w.Of(n % w.output);
    const T* corner = x + (plane * h.input + h.begin + a.first) * w.input + w.begin + b.first;
    // The next pixel is read only where it has a share: the last one has none behind it.
    const int64_t down = a.part > 0 ? w.input : 0, right = b.part > 0 ? 1 : 0;
    const T above = (1 - b.part) * corner[0] + b.part * corner[right];
    const T below = (1 - b.part) * corner[down] + b.part * corner[down + right];
    y[n] = (1 - a.part) * above + a.part * below;
  }
};

template <class T>
struct ResizeBackward {
  ResizedAxis h, w;
  const T* dy;
  T* dx;

  // Element n of the bottom.
  DOPPIO_HD void operator()(int64_t n) const {
    const int64_t row = n / w.input, plane = row / h.input;
    const int64_t i = row % h.input - h.begin, j = n % w.input - w.begin;
    T sum = 0;
    if (i >= 0 && i < h.extent && j >= 0 && j < w.extent) {
      for (int64_t a = h.Low(i); a <= h.High(i); ++a) {
        const T share = h.Share(i, a);
        if (share == 0) continue;
        for (int64_t b = w.Low(j); b <= w.High(j); ++b) {
          sum += share * w.Share(j, b) * dy[(plane * h.output + a) * w.output + b];
        }
      }
    }
    dx[n] = sum;
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_INTERP_RESIZE_H_
