// Checks the loads and stores of kernels. With -fsanitize=thread, GCC calls a function before each
// of them. hooks.cc defines these functions in place of TSan's library. Host functions in .cu files
// are instrumented too; their accesses are ignored.
//
// The address of an access decides how it is checked:
//
// - Stacks of the emulator: a local variable of the kernel. Not checked.
// - The kernel's arguments: may be read.
// - Writable static storage: shared memory. Checked by shared_memory.h.
// - Other static storage: constant tables. May be read.
// - Any other address: device memory, pinned memory, or an error. Checked by Touch in
//   machine/races.h.
#ifndef DOPPIO_TESTS_DOUBLE_BLOCKS_HOOKS_H_
#define DOPPIO_TESTS_DOUBLE_BLOCKS_HOOKS_H_

#include <cstddef>

namespace doppio::gpu_double {

// True while the calling host thread runs a kernel thread. With `__thread` and this TLS model, an
// access takes one instruction.
extern __thread bool in_kernel __attribute__((tls_model("initial-exec")));

// Sets the memory range that contains all stacks of the emulator.
void WatchStacks(const void* begin, size_t bytes);
// Sets the memory range of the arguments. Called at the start of a kernel.
void WatchArguments(const void* begin, size_t bytes);

// Checks an atomic operation. Atomic operations call this function because they do not trigger the
// hooks.
void NoteAtomic(const void* at, size_t bytes);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_BLOCKS_HOOKS_H_
