// Checks each byte of shared memory.
#ifndef DOPPIO_TESTS_DOUBLE_BLOCKS_SHARED_MEMORY_H_
#define DOPPIO_TESTS_DOUBLE_BLOCKS_SHARED_MEMORY_H_

#include <cstddef>

namespace doppio::gpu_double {

// Starts a block. Values that earlier blocks left in shared memory are undefined.
void BeginSharedBlock();
// Records that the block has passed a barrier.
void PassSharedBarrier();

// Checks an access of the current thread (emulator.h). Fault("block-race") if, since the last
// barrier, another thread of the block wrote the byte, or read a byte that this access writes.
// Fault("shared") if the byte is read before the block has written it. An atomic operation is a
// write that does not race with other atomic operations.
enum class SharedAccess { kRead, kWrite, kAtomic };
void NoteShared(const void* at, size_t bytes, SharedAccess access);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_BLOCKS_SHARED_MEMORY_H_
