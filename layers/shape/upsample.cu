#include "core/device/launch.cuh"
#include "layers/shape/upsample_cuda.h"

namespace doppio {
namespace {

// The largest of whole numbers is the same in any order.
__global__ void FindLast(const UpsampleForm form, const float* mask, int32_t* last, uint32_t* bad) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t n = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       n < form.bottom_count(); n += step) {
    const int64_t place = PlaceByMask(form, mask, n);
    if (place < 0) {
      atomicExch(bad, 1u);
    } else {
      atomicMax(last + place, static_cast<int32_t>(n));
    }
  }
}

}  // namespace

void LaunchUpsample(const Gpu& gpu, int64_t n, const RepeatPixels<float>& body) {
  ForEachIndex(gpu, n, "Upsample", body);
}
void LaunchUpsample(const Gpu& gpu, int64_t n, const SumPixels<float>& body) {
  ForEachIndex(gpu, n, "Upsample's gradient", body);
}
void LaunchUpsample(const Gpu& gpu, int64_t n, const TakeLast<float>& body) {
  ForEachIndex(gpu, n, "Upsample", body);
}
void LaunchUpsample(const Gpu& gpu, int64_t n, const ReadByMask<float>& body) {
  ForEachIndex(gpu, n, "Upsample's gradient", body);
}

void LaunchFindLast(const Gpu& gpu, const UpsampleForm& form, const float* mask, int32_t* last,
                    uint32_t* bad) {
  ForEachIndex(
      gpu, form.top_count(), "Upsample", DOPPIO_BODY(int64_t n) { last[n] = -1; });
  if (form.bottom_count() == 0) return;
  Launch(gpu, "Upsample", &FindLast, BlocksFor(form.bottom_count()), form, mask, last, bad);
}

}  // namespace doppio
