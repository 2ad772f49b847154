// Softmax on a GPU: reductions over the classes of each position, and the position and class of
// each element.
//
// Functions that contain DOPPIO_BODY lambdas are static, because nvcc distinguishes the lambdas of
// two files by their enclosing functions.
#ifndef DOPPIO_LAYERS_ACTIVATION_SOFTMAX_ROWS_CUH_
#define DOPPIO_LAYERS_ACTIVATION_SOFTMAX_ROWS_CUH_

#include <cmath>

#include "core/device/launch.cuh"
#include "layers/activation/softmax_shape.h"
#include "layers/common/divider.h"

namespace doppio {

// A summary of one position's classes, computed in one pass: the maximum, and the sum of e^(x -
// maximum).
struct SoftmaxRow {
  float max, sum;
};

// Combines the summaries of two sets of classes of one position.
struct MergeSoftmaxRows {
  DOPPIO_HD SoftmaxRow operator()(SoftmaxRow a, SoftmaxRow b) const {
    if (a.sum == 0) return b;  // `a` covers no classes yet
    if (b.sum == 0) return a;
    // One of the two exponents is always 0. NaN never compares greater; it reaches the result
    // through the sum.
    return b.max > a.max ? SoftmaxRow{b.max, b.sum + a.sum * std::exp(a.max - b.max)}
                         : SoftmaxRow{a.max, a.sum + b.sum * std::exp(b.max - a.max)};
  }
};

DOPPIO_HD inline float Probability(float x, SoftmaxRow row) {
  return std::exp(x - row.max) / row.sum;
}

// Calls finish(position, sum) for every position, where `sum` combines map(element) over the
// classes of the position. `room` has ReduceClassesBytes<Sum>(s) bytes.
template <class Sum, class Map, class Combine, class Finish>
static void ReduceClasses(const Gpu& gpu, const SoftmaxShape& s, const char* what, Sum zero,
                          const Map& map, const Combine& combine, const Finish& finish,
                          void* room) {
  const int64_t classes = s.classes, inner = s.inner, positions = s.positions();
  const auto of_class = DOPPIO_BODY(int64_t position, int64_t c) {
    return map((position / inner * classes + c) * inner + position % inner);
  };
  // Neighbouring threads should read neighbouring memory. If the classes of a position are
  // contiguous, or nearly so, a block reduces one position; otherwise each thread reduces its own
  // position.
  constexpr int64_t kNear = 32;
  if (inner < kNear) {
    ReduceRows(gpu, positions, classes, what, zero, of_class, combine, finish, room);
  } else {
    ForEachIndex(
        gpu, positions, what, DOPPIO_BODY(int64_t position) {
          launch::ReduceRow(position, classes, zero, of_class, combine, finish);
        });
  }
}
// Returns the size of the scratch memory that ReduceClasses needs, in bytes.
template <class Sum>
int64_t ReduceClassesBytes(const SoftmaxShape& s) {
  return ReduceRowsBytes<Sum>(s.positions(), s.classes);
}

// Calls finish(position, row) for every position of x. `room` has ReduceClassesBytes<SoftmaxRow>(s)
// bytes.
template <class T, class Finish>
static void ReduceSoftmaxRows(const Gpu& gpu, const SoftmaxShape& s, const T* x,
                              const Finish& finish, void* room) {
  ReduceClasses(
      gpu, s, "softmax", SoftmaxRow{0, 0},
      DOPPIO_BODY(int64_t i) {
        return SoftmaxRow{static_cast<float>(x[i]), 1};
      },
      MergeSoftmaxRows(), finish, room);
}

// dots[position] = sum over the position's classes of y * dy. `room` has
// ReduceClassesBytes<float>(s) bytes.
template <class T>
static void SoftmaxDots(const Gpu& gpu, const SoftmaxShape& s, const T* y, const T* dy, float* dots,
                        void* room) {
  ReduceClasses(
      gpu, s, "softmax's gradient", 0.0f,
      DOPPIO_BODY(int64_t i) { return static_cast<float>(y[i]) * static_cast<float>(dy[i]); },
      Plus(), DOPPIO_BODY(int64_t position, float sum) { dots[position] = sum; }, room);
}

// Maps an element's index to its position and its class. `Int` must hold s.count().
template <class Int>
class SoftmaxPlaces {
 public:
  explicit SoftmaxPlaces(const SoftmaxShape& s)
      : sample_(static_cast<Int>(s.classes * s.inner)),
        inner_(static_cast<Int>(s.inner)),
        by_sample_(s.classes * s.inner),
        by_inner_(s.inner) {}

  struct Place {
    Int position, label;
  };
  DOPPIO_HD Place operator()(Int i) const {
    const Int o = by_sample_(i), in_sample = i - o * sample_, label = by_inner_(in_sample);
    return {o * inner_ + in_sample - label * inner_, label};
  }

 private:
  Int sample_, inner_;
  Divider<Int> by_sample_, by_inner_;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ACTIVATION_SOFTMAX_ROWS_CUH_
