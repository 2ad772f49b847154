#include "layers/loss/smooth_l1_loss_cuda.h"

#include "core/device/launch.cuh"

namespace doppio {
namespace {

constexpr char kName[] = "SmoothL1Loss";

}  // namespace

int64_t SmoothL1ScratchBytes(int64_t count) { return ReduceRowsBytes<double>(1, count); }

void LaunchSmoothL1Forward(const Gpu& gpu, int64_t count, const SmoothL1<float>& terms,
                           double divisor, float* loss, void* scratch) {
  ReduceRows(
      gpu, 1, count, kName, 0.0,
      DOPPIO_BODY(int64_t, int64_t i) { return static_cast<double>(terms.Loss(i)); }, Plus(),
      DOPPIO_BODY(int64_t, double sum) { *loss = static_cast<float>(sum / divisor); }, scratch);
}

void LaunchSmoothL1Backward(const Gpu& gpu, int64_t count, const SmoothL1<float>& terms,
                            double divisor, const float* weight, float* dx, float* dtarget) {
  ForEachIndex(
      gpu, count, kName, DOPPIO_BODY(int64_t i) {
        const float scale = static_cast<float>(static_cast<double>(*weight) / divisor);
        const float gradient = scale * terms.Gradient(i);
        if (dx != nullptr) dx[i] = gradient;
        if (dtarget != nullptr) dtarget[i] = -gradient;
      });
}

}  // namespace doppio
