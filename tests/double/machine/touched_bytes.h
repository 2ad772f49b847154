// The shadow memory of the arena, which BeginKernel, Touch and EndKernel use.
#ifndef DOPPIO_TESTS_DOUBLE_MACHINE_TOUCHED_BYTES_H_
#define DOPPIO_TESTS_DOUBLE_MACHINE_TOUCHED_BYTES_H_

#include <cstdint>

namespace doppio::gpu_double {

// Releases the shadow memory of these bytes. Affects whole pages only.
void ReleaseTouched(const void* begin, int64_t bytes);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_TOUCHED_BYTES_H_
