// Include this file in a test of kernels that leave layers to oneDNN where its vectors are longer
// than those that the program is compiled for (WhyShortVectors). It limits oneDNN to the same
// vectors, so that the kernels compute in every build.
#ifndef DOPPIO_TESTS_LAYERS_COMMON_SAME_VECTORS_H_
#define DOPPIO_TESTS_LAYERS_COMMON_SAME_VECTORS_H_

#include <cstdlib>

#include "layers/common/lanes.h"

namespace doppio {

// Runs before oneDNN's first use, which reads the variable. A value of the user stays.
[[maybe_unused]] static const bool kSameVectors =
    kFloatLanes == 16 || setenv("ONEDNN_MAX_CPU_ISA", kFloatLanes == 8 ? "AVX2" : "SSE41", 0) == 0;

}  // namespace doppio

#endif  // DOPPIO_TESTS_LAYERS_COMMON_SAME_VECTORS_H_
