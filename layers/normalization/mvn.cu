#include "layers/normalization/mvn_cuda.h"

#include "layers/common/channel_sums.cuh"

namespace doppio {
namespace {

constexpr char kName[] = "MVN";

}  // namespace

// Two sums for each row, then room to form them in.
int64_t MvnScratchBytes(int64_t rows, int64_t length) {
  return rows * static_cast<int64_t>(sizeof(TwoSums)) + ReduceRowsBytes<TwoSums>(rows, length);
}

void LaunchMvn(const Gpu& gpu, int64_t rows, int64_t length, float eps, const float* x, float* y,
               float* inverses, void* scratch) {
  if (length == 0) return;
  double* const means = static_cast<double*>(scratch);
  void* const room = static_cast<TwoSums*>(scratch) + rows;
  const double n = static_cast<double>(length);
  ReduceRows(
      gpu, rows, length, kName, 0.0,
      DOPPIO_BODY(int64_t row, int64_t i) { return static_cast<double>(x[row * length + i]); },
      Plus(), DOPPIO_BODY(int64_t row, double sum) { means[row] = sum / n; }, room);
  if (inverses != nullptr) {
    ReduceRows(
        gpu, rows, length, kName, 0.0,
        DOPPIO_BODY(int64_t row, int64_t i) {
          const double d = static_cast<double>(x[row * length + i]) - means[row];
          return d * d;
        },
        Plus(),
        DOPPIO_BODY(int64_t row, double sum) {
          inverses[row] = static_cast<float>(1 / (std::sqrt(sum / n) + static_cast<double>(eps)));
        },
        room);
  }
  const IndexDivider row_of(length, rows * length);
  ForEachIndex(
      gpu, rows * length, kName, DOPPIO_BODY(int64_t i) {
        const int64_t row = row_of(i);
        const float centred = static_cast<float>(static_cast<double>(x[i]) - means[row]);
        y[i] = inverses != nullptr ? centred * inverses[row] : centred;
      });
}

void LaunchMvnBackward(const Gpu& gpu, int64_t rows, int64_t length, const float* y,
                       const float* dy, const float* inverses, float* dx, void* scratch) {
  if (length == 0) return;
  TwoSums* const means = static_cast<TwoSums*>(scratch);
  const double n = static_cast<double>(length);
  ReduceRows(
      gpu, rows, length, kName, TwoSums{0, 0},
      DOPPIO_BODY(int64_t row, int64_t i) {
        const double d = static_cast<double>(dy[row * length + i]);
        return TwoSums{d, inverses != nullptr ? static_cast<double>(y[row * length + i]) * d : 0};
      },
      PlusTwoSums(),
      DOPPIO_BODY(int64_t row, TwoSums sums) {
        means[row] = {sums.first / n, sums.second / n};
      },
      means + rows);
  const IndexDivider row_of(length, rows * length);
  ForEachIndex(
      gpu, rows * length, kName, DOPPIO_BODY(int64_t i) {
        const int64_t row = row_of(i);
        const float centred = dy[i] - static_cast<float>(means[row].first);
        dx[i] = inverses == nullptr
                    ? centred
                    : (centred - y[i] * static_cast<float>(means[row].second)) * inverses[row];
      });
}

}  // namespace doppio
