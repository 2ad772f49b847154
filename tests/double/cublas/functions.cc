#include "tests/double/cublas/functions.h"

#include <cublas_v2.h>

namespace doppio::gpu_double {

const std::vector<std::pair<const char*, void*>>& CublasFunctions() {
#define DOPPIO_FUNCTION(name) \
  { #name, reinterpret_cast < void*>(&name) }
  static const auto* const functions = new std::vector<std::pair<const char*, void*>>{
      DOPPIO_FUNCTION(cublasCreate_v2),       DOPPIO_FUNCTION(cublasDestroy_v2),
      DOPPIO_FUNCTION(cublasSetStream_v2),    DOPPIO_FUNCTION(cublasSetWorkspace_v2),
      DOPPIO_FUNCTION(cublasSetMathMode),     DOPPIO_FUNCTION(cublasGemmStridedBatchedEx_64),
      DOPPIO_FUNCTION(cublasGetStatusString), DOPPIO_FUNCTION(cublasGetProperty),
  };
#undef DOPPIO_FUNCTION
  return *functions;
}

}  // namespace doppio::gpu_double
