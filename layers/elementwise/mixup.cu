#include "layers/elementwise/mixup_cuda.h"

#include "core/device/launch.cuh"

namespace doppio {

int64_t MixupRoomBytes(const MixupForm& form) {
  return ReduceRowsBytes<WrongLabelWord>(1, form.samples);
}

void LaunchMixupShares(const Gpu& gpu, const MixupForm& form, uint64_t first_sample,
                       double* shares) {
  ForEachIndex(
      gpu, form.samples, "Mixup's shares", DOPPIO_BODY(int64_t row) {
        shares[row] = form.Share(first_sample + static_cast<uint64_t>(row));
      });
}

template <class T>
static void MixData(const Gpu& gpu, const MixupForm& form, const double* shares, const T* x, T* y) {
  ForEachIndex(
      gpu, form.samples * form.per_sample, "Mixup", DOPPIO_BODY(int64_t i) {
        const int64_t row = i / form.per_sample;
        const int64_t other = i + (form.Partner(row) - row) * form.per_sample;
        y[i] = static_cast<T>(
            Mixed(shares[row], static_cast<float>(x[i]), static_cast<float>(x[other])));
      });
}

void LaunchMixupData(const Gpu& gpu, const MixupForm& form, const double* shares, DType type,
                     const void* from, void* to) {
  DispatchStored(type, [&](auto zero) {
    using T = decltype(zero);
    MixData(gpu, form, shares, static_cast<const T*>(from), static_cast<T*>(to));
  });
}

void LaunchMixupLabels(const Gpu& gpu, const MixupForm& form, const double* shares,
                       const float* labels, float* to, WrongLabelWord* wrong, void* room) {
  ForEachIndex(
      gpu, form.samples * form.classes, "Mixup's labels", DOPPIO_BODY(int64_t i) {
        const int64_t row = i / form.classes, c = i - row * form.classes;
        const int64_t own = form.Class(labels[row]), other = form.Class(labels[form.Partner(row)]);
        to[i] = own < 0 || other < 0
                    ? NAN
                    : Mixed(shares[row], own == c ? 1.0f : 0.0f, other == c ? 1.0f : 0.0f);
      });
  ReduceRows(
      gpu, 1, form.samples, "Mixup's labels", kNoWrongLabel,
      DOPPIO_BODY(int64_t, int64_t row) {
        return form.Class(labels[row]) < 0 ? PackWrongLabel(row, labels[row]) : kNoWrongLabel;
      },
      DOPPIO_BODY(WrongLabelWord a, WrongLabelWord b) { return a < b ? a : b; },
      DOPPIO_BODY(int64_t, WrongLabelWord first) {
        if (first != kNoWrongLabel) *wrong = first;
      },
      room);
}

}  // namespace doppio
