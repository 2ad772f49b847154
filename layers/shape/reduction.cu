#include "core/device/launch.cuh"
#include "layers/shape/reduction_cuda.h"

namespace doppio {

void LaunchReduction(const Gpu& gpu, const ReductionRows& rows, double factor, const float* x,
                     float* y, void* room) {
  ReduceRows(
      gpu, rows.rows, rows.columns, "Reduction", 0.0,
      DOPPIO_BODY(int64_t row, int64_t i) {
        return static_cast<double>(TermOf(rows.term, x[row * rows.columns + i]));
      },
      Plus(), DOPPIO_BODY(int64_t row, double sum) { y[row] = static_cast<float>(factor * sum); },
      room);
}

int64_t ReductionRoom(const ReductionRows& rows) {
  return ReduceRowsBytes<double>(rows.rows, rows.columns);
}

void LaunchReductionGradient(const Gpu& gpu, const ReductionRows& rows, double factor,
                             const float* x, const float* dy, float* dx) {
  const float scale = static_cast<float>(factor);
  const bool reads = rows.term != ReductionTerm::kValue;
  ForEachIndex(
      gpu, rows.rows * rows.columns, "Reduction's gradient", DOPPIO_BODY(int64_t i) {
        dx[i] = scale * dy[i / rows.columns] * (reads ? SlopeOf(rows.term, x[i]) : 1.0f);
      });
}

}  // namespace doppio
