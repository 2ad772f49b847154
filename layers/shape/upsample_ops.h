// The math of Upsample, the same on every device: functions of an element of the top or the bottom.
#ifndef DOPPIO_LAYERS_SHAPE_UPSAMPLE_OPS_H_
#define DOPPIO_LAYERS_SHAPE_UPSAMPLE_OPS_H_

#include <cstdint>

#include "core/base/host_device.h"

namespace doppio {

struct UpsampleForm {
  int64_t planes = 0, height = 1, width = 1;
  int64_t scale_h = 1, scale_w = 1;  // not with a size of the top's own
  int64_t top_height = 1, top_width = 1;

  DOPPIO_HD int64_t bottom_count() const { return planes * height * width; }
  DOPPIO_HD int64_t top_count() const { return planes * top_height * top_width; }
};

template <class T>
struct RepeatPixels {
  UpsampleForm form;
  const T* x;
  T* y;
  DOPPIO_HD void operator()(int64_t n) const {
    const int64_t row = n / form.top_width, plane = row / form.top_height;
    const int64_t i = row % form.top_height / form.scale_h, j = n % form.top_width / form.scale_w;
    y[n] = x[(plane * form.height + i) * form.width + j];
  }
};

template <class T>
struct SumPixels {
  UpsampleForm form;
  const T* dy;
  T* dx;
  DOPPIO_HD void operator()(int64_t n) const {
    const int64_t row = n / form.width, plane = row / form.height;
    const int64_t i = row % form.height * form.scale_h, j = n % form.width * form.scale_w;
    T sum = 0;
    for (int64_t a = i; a < i + form.scale_h; ++a) {
      for (int64_t b = j; b < j + form.scale_w; ++b) {
        sum += dy[(plane * form.top_height + a) * form.top_width + b];
      }
    }
    dx[n] = sum;
  }
};

// Where element n of the bottom goes in the top; -1 for an index that is none there.
template <class T>
DOPPIO_HD int64_t PlaceByMask(const UpsampleForm& form, const T* mask, int64_t n) {
  const int64_t plane = n / (form.height * form.width), size = form.top_height * form.top_width;
  // Also false for NaN.
  if (!(mask[n] >= 0 && mask[n] < static_cast<T>(size))) return -1;
  return plane * size + static_cast<int64_t>(mask[n]);
}

// Of several elements that go to one place the last one is taken: `last` names it, or is -1.
template <class T>
struct TakeLast {
  const int32_t* last;
  const T* x;
  T* y;
  DOPPIO_HD void operator()(int64_t n) const { y[n] = last[n] < 0 ? T(0) : x[last[n]]; }
};

template <class T>
struct ReadByMask {
  UpsampleForm form;
  const T* mask;
  const T* dy;
  T* dx;
  DOPPIO_HD void operator()(int64_t n) const {
    const int64_t place = PlaceByMask(form, mask, n);
    dx[n] = place < 0 ? T(0) : dy[place];
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SHAPE_UPSAMPLE_OPS_H_
