// The addresses of the double's memory: one range that is reserved once, cut into equal parts for
// pinned memory and for each device. Reserved addresses cost no memory until they are opened and
// touched.
#ifndef DOPPIO_TESTS_DOUBLE_MACHINE_ARENA_H_
#define DOPPIO_TESTS_DOUBLE_MACHINE_ARENA_H_

#include <atomic>
#include <cstdint>

#include "tests/double/machine/settings.h"

namespace doppio::gpu_double {

// Twice the memory that a device may have, so that addresses are not used again soon.
constexpr int64_t kPartBytes = kMostMemoryMib * 2 << 20;
// Part 0 is pinned memory, part 1 + D is device D.
constexpr int kParts = 1 + kMostDevices;
constexpr int64_t kArenaBytes = kPartBytes * kParts;
constexpr int64_t kPageBytes = 4096;

// 0 until the first call of Arena(), so that offsets of all addresses are outside then.
extern std::atomic<uintptr_t> arena_begin;

// The begin of the range; reserves it (PROT_NONE) at the first call. Thread-safe.
char* Arena();

// Whether `at` lies in the range, and where.
inline bool InArena(const void* at, int64_t* offset) {
  const uintptr_t begin = arena_begin.load(std::memory_order_relaxed);
  *offset = static_cast<int64_t>(reinterpret_cast<uintptr_t>(at) - begin);
  return begin != 0 && static_cast<uint64_t>(*offset) < static_cast<uint64_t>(kArenaBytes);
}

// Reserves `bytes` of addresses with this protection (PROT_*) that take no memory before they are
// touched; Fault("memory") without.
char* ReserveAddresses(int64_t bytes, int protection);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_ARENA_H_
