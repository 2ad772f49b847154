// Checks of shared memory, byte by byte.
#ifndef DOPPIO_TESTS_DOUBLE_BLOCKS_SHARED_MEMORY_H_
#define DOPPIO_TESTS_DOUBLE_BLOCKS_SHARED_MEMORY_H_

#include <cstddef>

namespace doppio::gpu_double {

// A block begins; what earlier ones left in shared memory has no value.
void BeginSharedBlock();
// The block has passed a barrier.
void PassSharedBarrier();

// The current thread (emulator.h) reads or writes. Fault("block-race") if another thread of the
// block wrote the byte, or read it and this one writes, with no barrier in between;
// Fault("shared") for a byte that is read before the block has written it. An atomic operation is a
// write that no other atomic operation races with.
enum class SharedAccess { kRead, kWrite, kAtomic };
void NoteShared(const void* at, size_t bytes, SharedAccess access);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_BLOCKS_SHARED_MEMORY_H_
