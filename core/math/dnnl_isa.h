// Reports the instruction set that oneDNN's kernels use on this CPU, and the types for which it has
// products.
#ifndef DOPPIO_CORE_MATH_DNNL_ISA_H_
#define DOPPIO_CORE_MATH_DNNL_ISA_H_

#include <string>

#include "core/tensor/dtype.h"

namespace doppio {

// Returns, for example, "AVX-512 AMX". Takes into account limits from oneDNN's environment
// variables (ONEDNN_MAX_CPU_ISA).
std::string DnnlIsa();

// Returns why oneDNN does not multiply factors of this type on this CPU, or "" if it does: products
// of a 16-bit type need instructions of their own (AVX-512 BF16, AVX-512 FP16, AMX).
std::string WhyNoDnnlProducts(DType type);

// Returns why kernels with vectors of `lanes` floats are slower than oneDNN's on this CPU, or "" if
// their vectors are as long: oneDNN generates its code for the CPU that runs it, while the program
// may be compiled for older ones.
std::string WhyShortVectors(int lanes);

// Returns true if the CPU multiplies tiles of this type (AMX), many times as fast as vectors.
bool MultipliesInTiles(DType type);

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_DNNL_ISA_H_
