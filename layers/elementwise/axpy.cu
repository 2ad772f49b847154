#include "layers/elementwise/axpy_cuda.h"

#include "core/device/launch.cuh"
#include "layers/common/channels_cuda.h"

namespace doppio {
namespace {

constexpr char kName[] = "Axpy";

IndexDivider ByLength(const AxpyRuns& in) { return IndexDivider(in.length, in.runs * in.length); }

}  // namespace

void LaunchAxpy(const Gpu& gpu, const AxpyRuns& in, const float* y, float* top) {
  if (in.length == 0) return;
  const IndexDivider run = ByLength(in);
  ForEachIndex(
      gpu, in.runs * in.length, kName,
      DOPPIO_BODY(int64_t i) { top[i] = in.a[run(i)] * in.x[i] + y[i]; });
}

int64_t AxpyScratchBytes(int64_t runs, int64_t length) {
  return ReduceRowsBytes<double>(runs, length);
}

void LaunchAxpyBackward(const Gpu& gpu, const AxpyRuns& in, const float* dy, float* da, float* dx,
                        void* scratch) {
  const int64_t length = in.length;
  if (da != nullptr) {
    ReduceRows(
        gpu, in.runs, length, kName, 0.0,
        DOPPIO_BODY(int64_t run, int64_t i) {
          return static_cast<double>(in.x[run * length + i] * dy[run * length + i]);
        },
        Plus(), DOPPIO_BODY(int64_t run, double sum) { da[run] = static_cast<float>(sum); },
        scratch);
  }
  if (dx == nullptr || length == 0) return;
  const IndexDivider run = ByLength(in);
  ForEachIndex(
      gpu, in.runs * length, kName, DOPPIO_BODY(int64_t i) { dx[i] = in.a[run(i)] * dy[i]; });
}

}  // namespace doppio
