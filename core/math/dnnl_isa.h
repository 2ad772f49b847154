// The instruction set that oneDNN's kernels use on this CPU.
#ifndef DOPPIO_CORE_MATH_DNNL_ISA_H_
#define DOPPIO_CORE_MATH_DNNL_ISA_H_

#include <string>

namespace doppio {

// E.g. "AVX-512 AMX". oneDNN's environment variables (ONEDNN_MAX_CPU_ISA) may lower it.
std::string DnnlIsa();

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_DNNL_ISA_H_
