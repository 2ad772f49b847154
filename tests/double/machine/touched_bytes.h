// Shadow of the arena behind BeginKernel, Touch and EndKernel.
#ifndef DOPPIO_TESTS_DOUBLE_MACHINE_TOUCHED_BYTES_H_
#define DOPPIO_TESTS_DOUBLE_MACHINE_TOUCHED_BYTES_H_

#include <cstdint>

namespace doppio::gpu_double {

// Gives the memory back that the shadow of whole pages takes.
void ReleaseTouched(const void* begin, int64_t bytes);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_TOUCHED_BYTES_H_
