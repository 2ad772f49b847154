#include "core/device/launch.cuh"
#include "layers/pooling/plain_pooling_cuda.h"

namespace doppio {

void LaunchPlainPooling(const Gpu& gpu, int64_t n, const PlainPoolingForward<float>& body) {
  ForEachIndex(gpu, n, "Pooling", body);
}

void LaunchPlainPooling(const Gpu& gpu, int64_t n, const PlainPoolingBackward<float>& body) {
  ForEachIndex(gpu, n, "Pooling's gradient", body);
}

}  // namespace doppio
