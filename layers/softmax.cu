#include "layers/softmax_cuda.h"
#include "layers/softmax_rows.cuh"

namespace doppio {
namespace {

template <class Int>
void WriteProbabilities(const Gpu& gpu, const SoftmaxShape& s, const float* x, const SoftmaxRow* rows, float* y) {
  const SoftmaxPlaces<Int> places(s);
  ForEachIndex(gpu, s.count(), "softmax", DOPPIO_BODY(int64_t i) {
    y[i] = Probability(x[i], rows[places(static_cast<Int>(i)).position]);
  });
}

template <class Int>
void WriteGradient(const Gpu& gpu, const SoftmaxShape& s, const float* y, const float* dy, const float* dots,
                   float* dx) {
  const SoftmaxPlaces<Int> places(s);
  ForEachIndex(gpu, s.count(), "softmax's gradient", DOPPIO_BODY(int64_t i) {
    dx[i] = y[i] * (dy[i] - dots[places(static_cast<Int>(i)).position]);
  });
}

}  // namespace

int64_t SoftmaxScratchBytes(const SoftmaxShape& s) {
  return s.positions() * static_cast<int64_t>(sizeof(SoftmaxRow)) + ReduceClassesBytes<SoftmaxRow>(s);
}

void LaunchSoftmaxForward(const Gpu& gpu, const SoftmaxShape& s, const float* x, float* y, void* scratch) {
  SoftmaxRow* rows = static_cast<SoftmaxRow*>(scratch);
  ReduceSoftmaxRows(
      gpu, s, x, DOPPIO_BODY(int64_t position, SoftmaxRow row) { rows[position] = row; }, rows + s.positions());
  WithIndexFor(s.count(), [&](auto zero) { WriteProbabilities<decltype(zero)>(gpu, s, x, rows, y); });
}

void LaunchSoftmaxBackward(const Gpu& gpu, const SoftmaxShape& s, const float* y, const float* dy, float* dx,
                           void* scratch) {
  float* dots = static_cast<float*>(scratch);
  SoftmaxDots(gpu, s, y, dy, dots, dots + s.positions());
  WithIndexFor(s.count(), [&](auto zero) { WriteGradient<decltype(zero)>(gpu, s, y, dy, dots, dx); });
}

}  // namespace doppio
