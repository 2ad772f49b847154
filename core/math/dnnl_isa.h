// Reports the instruction set that oneDNN's kernels use on this CPU.
#ifndef DOPPIO_CORE_MATH_DNNL_ISA_H_
#define DOPPIO_CORE_MATH_DNNL_ISA_H_

#include <string>

namespace doppio {

// Returns, for example, "AVX-512 AMX". Takes into account limits from oneDNN's environment
// variables (ONEDNN_MAX_CPU_ISA).
std::string DnnlIsa();

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_DNNL_ISA_H_
