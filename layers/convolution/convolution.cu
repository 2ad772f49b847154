#include "core/device/launch.cuh"
#include "layers/convolution/convolution_cuda.h"

namespace doppio {
namespace {

// A thread for each window of a plane: neighbours read and write neighbouring addresses, cell after
// cell.
template <int kAxes>
void Unfold(const Gpu& gpu, const Windows<kAxes>& w, int64_t planes, const float* x,
            float* matrix) {
  const Divider<int32_t> by_columns(w.columns);
  ForEachIndex(
      gpu, planes * w.columns, "unfolding windows", DOPPIO_BODY(int64_t i) {
        const int64_t plane = by_columns(static_cast<int32_t>(i));
        const int64_t window = i - plane * w.columns;
        const float* image = x + plane * w.pixels;
        float* column = matrix + plane * w.cells * w.columns + window;
        w.ForEachCell(static_cast<int32_t>(window), [=](int32_t cell, bool inside, uint32_t pixel) {
          column[static_cast<int64_t>(cell) * w.columns] = inside ? image[pixel] : 0.f;
        });
      });
}

// A thread for each pixel, which gathers: no atomics, always the same order.
template <int kAxes>
void Fold(const Gpu& gpu, const Windows<kAxes>& w, int64_t planes, const float* matrix, float* x) {
  const Divider<int32_t> by_pixels(w.pixels);
  ForEachIndex(
      gpu, planes * w.pixels, "folding windows", DOPPIO_BODY(int64_t i) {
        const int64_t plane = by_pixels(static_cast<int32_t>(i));
        const float* cells = matrix + plane * w.cells * w.columns;
        float sum = 0;
        w.ForEachWindow(static_cast<int32_t>(i - plane * w.pixels),
                        [&](int32_t cell, int32_t window) {
                          sum += cells[static_cast<int64_t>(cell) * w.columns + window];
                        });
        x[i] = sum;
      });
}

}  // namespace

void LaunchUnfold(const Gpu& gpu, const AnyWindows& windows, int64_t planes, const float* x,
                  float* matrix) {
  std::visit([&](const auto& w) { Unfold(gpu, w, planes, x, matrix); }, windows);
}

void LaunchFold(const Gpu& gpu, const AnyWindows& windows, int64_t planes, const float* matrix,
                float* x) {
  std::visit([&](const auto& w) { Fold(gpu, w, planes, matrix, x); }, windows);
}

}  // namespace doppio
