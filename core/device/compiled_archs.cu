#include "core/device/device_cuda.h"

namespace doppio {

const std::vector<int>& CompiledArchs() {
  // nvcc defines this list from its own options, so it always matches the compiled code.
  static const std::vector<int> archs = {__CUDA_ARCH_LIST__};
  return archs;
}

}  // namespace doppio
