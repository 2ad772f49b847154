#include "layers/normalization/normalize_cuda.h"

#include "layers/activation/softmax_rows.cuh"

namespace doppio {
namespace {

constexpr char kName[] = "Normalize";

// All elements of one factor: its channel, or everything.
Channels FactorElements(const NormalizeShape& s) {
  const int64_t samples = s.groups.count() / std::max<int64_t>(1, s.channels * s.inner);
  return s.shared ? Channels(s.groups.count()) : Channels({samples, s.channels, s.inner}, 1, 2);
}

}  // namespace

// A float for each norm, then room for sums.
int64_t NormalizeScratchBytes(const NormalizeShape& s) {
  const Channels factors = FactorElements(s);
  return (s.groups.positions() + 1) / 2 * 2 * static_cast<int64_t>(sizeof(float)) +
         std::max(ReduceClassesBytes<double>(s.groups),
                  ReduceRowsBytes<double>(factors.channels(), factors.positions()));
}

void LaunchNormalize(const Gpu& gpu, const NormalizeShape& s, const float* x, const float* factors,
                     float* inverses, float* y, void* scratch) {
  ReduceClasses(
      gpu, s.groups, kName, 0.0,
      DOPPIO_BODY(int64_t i) { return static_cast<double>(x[i]) * static_cast<double>(x[i]); },
      Plus(),
      DOPPIO_BODY(int64_t group, double squares) {
        inverses[group] = static_cast<float>(1 / std::sqrt(squares + s.eps));
      },
      scratch);
  const SoftmaxPlaces<int64_t> places(s.groups);
  ForEachIndex(
      gpu, s.groups.count(), kName, DOPPIO_BODY(int64_t i) {
        y[i] = x[i] * inverses[places(i).position] * factors[s.Factor(i)];
      });
}

void LaunchNormalizeBackward(const Gpu& gpu, const NormalizeShape& s, const float* x,
                             const float* dy, const float* factors, const float* inverses,
                             const SumTarget& factor_grad, float* dx, void* scratch) {
  float* const along = static_cast<float*>(scratch);
  void* const room = along + (s.groups.positions() + 1) / 2 * 2;
  const SoftmaxPlaces<int64_t> places(s.groups);
  if (factor_grad.to != nullptr) {
    const Channels of_factor = FactorElements(s);
    ReduceRows(
        gpu, of_factor.channels(), of_factor.positions(), kName, 0.0,
        DOPPIO_BODY(int64_t f, int64_t k) {
          const int64_t i = of_factor.At(f, k);
          return static_cast<double>(x[i] * inverses[places(i).position] * dy[i]);
        },
        Plus(), DOPPIO_BODY(int64_t f, double sum) { factor_grad.Store(f, sum); }, room);
  }
  if (dx == nullptr) return;
  ReduceClasses(
      gpu, s.groups, kName, 0.0,
      DOPPIO_BODY(int64_t i) {
        return static_cast<double>(x[i]) * static_cast<double>(factors[s.Factor(i)] * dy[i]);
      },
      Plus(),
      DOPPIO_BODY(int64_t group, double dot) {
        along[group] = static_cast<float>(dot) * inverses[group] * inverses[group];
      },
      room);
  ForEachIndex(
      gpu, s.groups.count(), kName, DOPPIO_BODY(int64_t i) {
        const int64_t group = places(i).position;
        dx[i] = (factors[s.Factor(i)] * dy[i] - x[i] * along[group]) * inverses[group];
      });
}

}  // namespace doppio
