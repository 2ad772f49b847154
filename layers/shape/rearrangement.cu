#include "core/device/launch.cuh"
#include "layers/common/divider.h"
#include "layers/shape/rearrangement_cuda.h"

namespace doppio {
namespace {

// Where element i of a box lies, counted in row-major order.
template <class Int>
struct BoxPlaces {
  int axes = 0;
  Divider<Int> by_extent[kMostBoxAxes];
  int64_t extent[kMostBoxAxes], bottom[kMostBoxAxes], top[kMostBoxAxes];
  int64_t bottom_offset;

  explicit BoxPlaces(const StridedBox& box) : bottom_offset(box.bottom_offset) {
    for (const StridedBox::Axis& axis : box.axes) {
      by_extent[axes] = Divider<Int>(axis.extent);
      extent[axes] = axis.extent;
      bottom[axes] = axis.bottom;
      top[axes] = axis.top;
      ++axes;
    }
  }

  template <class F>
  DOPPIO_HD void At(int64_t i, const F& f) const {
    int64_t in_bottom = bottom_offset, in_top = 0;
    for (int a = axes - 1; a >= 0; --a) {
      const int64_t rest = by_extent[a](static_cast<Int>(i));
      in_bottom += (i - rest * extent[a]) * bottom[a];
      in_top += (i - rest * extent[a]) * top[a];
      i = rest;
    }
    f(in_bottom, in_top);
  }
};

template <class Int, class T>
static void Copy(const Gpu& gpu, const StridedBox& box, const T* from, T* to, bool to_top) {
  const BoxPlaces<Int> places(box);
  ForEachIndex(
      gpu, box.count(), "a rearrangement", DOPPIO_BODY(int64_t i) {
        places.At(i, [=](int64_t bottom, int64_t top) {
          if (to_top) {
            to[top] = from[bottom];
          } else {
            to[bottom] = from[top];
          }
        });
      });
}

template <class T>
static void CopyElements(const Gpu& gpu, const StridedBox& box, const void* from, void* to,
                         bool to_top) {
  WithIndexFor(box.count(), [&](auto zero) {
    Copy<decltype(zero)>(gpu, box, static_cast<const T*>(from), static_cast<T*>(to), to_top);
  });
}

static void CopyBox(const Gpu& gpu, const StridedBox& box, int64_t element_bytes, const void* from,
                    void* to, bool to_top) {
  if (element_bytes == 2) {
    CopyElements<uint16_t>(gpu, box, from, to, to_top);
  } else {
    CopyElements<uint32_t>(gpu, box, from, to, to_top);
  }
}

}  // namespace

void LaunchBoxToTop(const Gpu& gpu, const StridedBox& box, int64_t element_bytes,
                    const void* bottom, void* top) {
  CopyBox(gpu, box, element_bytes, bottom, top, true);
}

void LaunchBoxToBottom(const Gpu& gpu, const StridedBox& box, int64_t element_bytes,
                       const void* top, void* bottom) {
  CopyBox(gpu, box, element_bytes, top, bottom, false);
}

}  // namespace doppio
