// The math of Upsample, shared by all devices, as functors of the index of an element of the top or
// the bottom.
#ifndef DOPPIO_LAYERS_SHAPE_UPSAMPLE_OPS_H_
#define DOPPIO_LAYERS_SHAPE_UPSAMPLE_OPS_H_

#include <cstdint>
#include <string>

#include "core/base/error.h"
#include "core/base/host_device.h"

namespace doppio {

// Planes of height x width are enlarged to planes of top_height x top_width.
struct UpsampleGrid {
  int64_t planes = 0, height = 1, width = 1;
  int64_t scale_h = 1, scale_w = 1;  // not used if the net file gives the top's size
  int64_t top_height = 1, top_width = 1;

  DOPPIO_HD int64_t bottom_count() const { return planes * height * width; }
  DOPPIO_HD int64_t top_count() const { return planes * top_height * top_width; }
};

// Writes element n of the top: repeats each pixel scale_h x scale_w times.
template <class T>
struct RepeatPixels {
  UpsampleGrid grid;
  const T* x;
  T* y;
  DOPPIO_HD void operator()(int64_t n) const {
    const int64_t row = n / grid.top_width, plane = row / grid.top_height;
    const int64_t i = row % grid.top_height / grid.scale_h, j = n % grid.top_width / grid.scale_w;
    y[n] = x[(plane * grid.height + i) * grid.width + j];
  }
};

// Writes element n of the bottom's gradient for RepeatPixels.
template <class T>
struct SumPixels {
  UpsampleGrid grid;
  const T* dy;
  T* dx;
  DOPPIO_HD void operator()(int64_t n) const {
    const int64_t row = n / grid.width, plane = row / grid.height;
    const int64_t i = row % grid.height * grid.scale_h, j = n % grid.width * grid.scale_w;
    T sum = 0;
    for (int64_t a = i; a < i + grid.scale_h; ++a) {
      for (int64_t b = j; b < j + grid.scale_w; ++b) {
        sum += dy[(plane * grid.top_height + a) * grid.top_width + b];
      }
    }
    dx[n] = sum;
  }
};

// Returns the index in the top of element n of the bottom, or -1 if the mask points outside of the
// plane.
template <class T>
DOPPIO_HD int64_t PlaceByMask(const UpsampleGrid& grid, const T* mask, int64_t n) {
  const int64_t plane = n / (grid.height * grid.width), size = grid.top_height * grid.top_width;
  // The condition inside the negation is also false for NaN.
  if (!(mask[n] >= 0 && mask[n] < static_cast<T>(size))) return -1;
  return plane * size + static_cast<int64_t>(mask[n]);
}

// Writes element n of the top: the bottom's element last[n], or 0 if last[n] is -1. `last` has, for
// each element of the top, the index of the last element of the bottom that the mask puts there.
template <class T>
struct TakeLast {
  const int32_t* last;
  const T* x;
  T* y;
  DOPPIO_HD void operator()(int64_t n) const { y[n] = last[n] < 0 ? T(0) : x[last[n]]; }
};

// Writes element n of the bottom's gradient: the top's gradient at the mask's index, or 0 if the
// index is outside of the plane.
template <class T>
struct ReadByMask {
  UpsampleGrid grid;
  const T* mask;
  const T* dy;
  T* dx;
  DOPPIO_HD void operator()(int64_t n) const {
    const int64_t place = PlaceByMask(grid, mask, n);
    dx[n] = place < 0 ? T(0) : dy[place];
  }
};

// The form of Upsample: what its kernels need from the net file and the bottoms' shapes.
struct UpsampleForm {
  UpsampleGrid grid;
  bool masked = false;  // true: bottom 1 is a mask
  SourceLoc mask_at;    // the location of the mask in the net file

  // Returns the error for a mask of `layer` that holds an index outside of the top.
  UserError BadMask(const std::string& layer) const {
    return UserError(mask_at, "layer '", layer, "': the mask holds an index outside of the top's ",
                     grid.top_height, "x", grid.top_width,
                     "; it must come from a MAX Pooling whose bottom has that size");
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SHAPE_UPSAMPLE_OPS_H_
