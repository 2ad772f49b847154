#include "layers/loss/contrastive_loss_cuda.h"

#include "core/device/launch.cuh"

namespace doppio {
namespace {

constexpr char kName[] = "ContrastiveLoss";

}  // namespace

// The loss of each pair, then room for sums.
int64_t ContrastiveScratchBytes(int64_t samples, int64_t values) {
  return samples * static_cast<int64_t>(sizeof(double)) +
         std::max(ReduceRowsBytes<double>(samples, values), ReduceRowsBytes<double>(1, samples));
}

void LaunchContrastiveForward(const Gpu& gpu, const ContrastivePairs& pairs, double divisor,
                              float* loss, float* slopes, void* scratch) {
  double* const losses = static_cast<double*>(scratch);
  void* const room = losses + pairs.samples;
  const int64_t values = pairs.values;
  ReduceRows(
      gpu, pairs.samples, values, kName, 0.0,
      DOPPIO_BODY(int64_t n, int64_t i) {
        const double d = static_cast<double>(pairs.a[n * values + i] - pairs.b[n * values + i]);
        return d * d;
      },
      Plus(),
      DOPPIO_BODY(int64_t n, double square) {
        const bool similar = pairs.terms.Similar(pairs.similar[n]);
        losses[n] = static_cast<double>(pairs.terms.Loss(similar, static_cast<float>(square)));
        if (slopes != nullptr) slopes[n] = pairs.terms.Slope(similar, static_cast<float>(square));
      },
      room);
  ReduceRows(
      gpu, 1, pairs.samples, kName, 0.0, DOPPIO_BODY(int64_t, int64_t n) { return losses[n]; },
      Plus(), DOPPIO_BODY(int64_t, double sum) { *loss = static_cast<float>(sum / 2 / divisor); },
      room);
}

void LaunchContrastiveBackward(const Gpu& gpu, const ContrastivePairs& pairs, double divisor,
                               const float* weight, const float* slopes, float* da, float* db) {
  ForEachIndex(
      gpu, pairs.samples * pairs.values, kName, DOPPIO_BODY(int64_t i) {
        const float scale = static_cast<float>(static_cast<double>(*weight) / divisor);
        const float gradient = scale * slopes[i / pairs.values] * (pairs.a[i] - pairs.b[i]);
        if (da != nullptr) da[i] = gradient;
        if (db != nullptr) db[i] = -gradient;
      });
}

}  // namespace doppio
