#include "layers/activation/softmax_cuda.h"
#include "layers/activation/softmax_rows.cuh"

namespace doppio {
namespace {

template <class Int, class T>
static void WriteProbabilities(const Gpu& gpu, const SoftmaxShape& s, const T* x,
                               const SoftmaxRow* rows, T* y) {
  const SoftmaxPlaces<Int> places(s);
  ForEachIndex(
      gpu, s.count(), "softmax", DOPPIO_BODY(int64_t i) {
        y[i] = static_cast<T>(
            Probability(static_cast<float>(x[i]), rows[places(static_cast<Int>(i)).position]));
      });
}

template <class Int, class T>
static void WriteGradient(const Gpu& gpu, const SoftmaxShape& s, const T* y, const T* dy,
                          const float* dots, T* dx) {
  const SoftmaxPlaces<Int> places(s);
  ForEachIndex(
      gpu, s.count(), "softmax's gradient", DOPPIO_BODY(int64_t i) {
        const float difference =
            static_cast<float>(dy[i]) - dots[places(static_cast<Int>(i)).position];
        dx[i] = static_cast<T>(static_cast<float>(y[i]) * difference);
      });
}

template <class T>
static void Forward(const Gpu& gpu, const SoftmaxShape& s, const T* x, T* y, void* scratch) {
  SoftmaxRow* rows = static_cast<SoftmaxRow*>(scratch);
  ReduceSoftmaxRows(
      gpu, s, x, DOPPIO_BODY(int64_t position, SoftmaxRow row) { rows[position] = row; },
      rows + s.positions());
  WithIndexFor(s.count(),
               [&](auto zero) { WriteProbabilities<decltype(zero)>(gpu, s, x, rows, y); });
}

template <class T>
static void Backward(const Gpu& gpu, const SoftmaxShape& s, const T* y, const T* dy, T* dx,
                     void* scratch) {
  float* dots = static_cast<float*>(scratch);
  SoftmaxDots(gpu, s, y, dy, dots, dots + s.positions());
  WithIndexFor(s.count(),
               [&](auto zero) { WriteGradient<decltype(zero)>(gpu, s, y, dy, dots, dx); });
}

}  // namespace

int64_t SoftmaxScratchBytes(const SoftmaxShape& s) {
  return s.positions() * static_cast<int64_t>(sizeof(SoftmaxRow)) +
         ReduceClassesBytes<SoftmaxRow>(s);
}

void LaunchSoftmaxForward(const Gpu& gpu, const SoftmaxShape& s, DType type, const void* x, void* y,
                          void* scratch) {
  DispatchStored(type, [&](auto zero) {
    using T = decltype(zero);
    Forward(gpu, s, static_cast<const T*>(x), static_cast<T*>(y), scratch);
  });
}

void LaunchSoftmaxBackward(const Gpu& gpu, const SoftmaxShape& s, DType type, const void* y,
                           const void* dy, void* dx, void* scratch) {
  DispatchStored(type, [&](auto zero) {
    using T = decltype(zero);
    Backward(gpu, s, static_cast<const T*>(y), static_cast<const T*>(dy), static_cast<T*>(dx),
             scratch);
  });
}

}  // namespace doppio
