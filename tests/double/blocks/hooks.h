// What watches the loads and stores of kernels: GCC's -fsanitize=thread calls a function before
// each of them, and hooks.cc defines these functions in place of TSan's library. Functions of .cu
// files that the host runs are instrumented too; their accesses are ignored.
//
// Addresses decide what an access is:
//   stacks of the emulator      a local variable of the kernel: not watched
//   the kernel's arguments      may be read
//   writable static storage     shared memory, checked by shared_memory.h
//   other static storage        may be read (constant tables)
//   anything else               machine/races.h checks it (Touch): device memory, pinned memory, or
//                               a fault
#ifndef DOPPIO_TESTS_DOUBLE_BLOCKS_HOOKS_H_
#define DOPPIO_TESTS_DOUBLE_BLOCKS_HOOKS_H_

#include <cstddef>

namespace doppio::gpu_double {

// True while the calling host thread runs the code of a kernel's thread. `__thread` and the model
// make an access one instruction.
extern __thread bool in_kernel __attribute__((tls_model("initial-exec")));

// The memory that all stacks of the emulator are in.
void WatchStacks(const void* begin, size_t bytes);
// At the start of a kernel.
void WatchArguments(const void* begin, size_t bytes);

// For atomic operations, which do not call the hooks themselves.
void NoteAtomic(const void* at, size_t bytes);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_BLOCKS_HOOKS_H_
