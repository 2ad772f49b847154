#include "core/device/device_cuda.h"

namespace doppio {

const std::vector<int>& CompiledArchs() {
  // nvcc's own list of what it compiles this file for, so it cannot differ from what the build was
  // told.
  static const std::vector<int> archs = {__CUDA_ARCH_LIST__};
  return archs;
}

}  // namespace doppio
