// Which instructions oneDNN's kernels use on this CPU.
#ifndef DOPPIO_CORE_MATH_DNNL_ISA_H_
#define DOPPIO_CORE_MATH_DNNL_ISA_H_

#include <string>

namespace doppio {

// "AVX-512 AMX"; environment variables of oneDNN (ONEDNN_MAX_CPU_ISA) may hold it back.
std::string DnnlIsa();

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_DNNL_ISA_H_
