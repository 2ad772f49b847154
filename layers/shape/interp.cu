#include "core/device/launch.cuh"
#include "layers/shape/interp_cuda.h"

namespace doppio {

void LaunchResize(const Gpu& gpu, int64_t n, const ResizeForward<float>& body) {
  ForEachIndex(gpu, n, "Interp", body);
}

void LaunchResize(const Gpu& gpu, int64_t n, const ResizeBackward<float>& body) {
  ForEachIndex(gpu, n, "Interp's gradient", body);
}

}  // namespace doppio
