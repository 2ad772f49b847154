// Address space of the simulated memory. One range is reserved once and divided into equal parts
// for pinned memory and for each device. Reserved addresses use no memory until they are opened and
// touched.
#ifndef DOPPIO_TESTS_DOUBLE_MACHINE_ARENA_H_
#define DOPPIO_TESTS_DOUBLE_MACHINE_ARENA_H_

#include <atomic>
#include <cstdint>

#include "tests/double/machine/settings.h"

namespace doppio::gpu_double {

// A part is twice as large as a device's maximum memory, so that addresses are not reused soon.
constexpr int64_t kPartBytes = kMostMemoryMib * 2 << 20;
// Part 0 is for pinned memory, and part 1 + D is for device D.
constexpr int kParts = 1 + kMostDevices;
constexpr int64_t kArenaBytes = kPartBytes * kParts;
constexpr int64_t kPageBytes = 4096;

// 0 until the first call of Arena(), so that no address is in the arena before that.
extern std::atomic<uintptr_t> arena_begin;

// Returns the start of the range. The first call reserves it (PROT_NONE). Thread-safe.
char* Arena();

// Returns true if `at` is in the range, and writes its position in the range to `*offset`.
inline bool InArena(const void* at, int64_t* offset) {
  const uintptr_t begin = arena_begin.load(std::memory_order_relaxed);
  *offset = static_cast<int64_t>(reinterpret_cast<uintptr_t>(at) - begin);
  return begin != 0 && static_cast<uint64_t>(*offset) < static_cast<uint64_t>(kArenaBytes);
}

// Reserves `bytes` of addresses with the given protection (PROT_*). They use no memory until they
// are touched. Fault("memory") if the reservation fails.
char* ReserveAddresses(int64_t bytes, int protection);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_ARENA_H_
