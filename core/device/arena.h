// Lifetimes to offsets: places blocks that live over ranges of steps in one piece of memory, so
// that blocks which are never alive together share it.
#ifndef DOPPIO_CORE_DEVICE_ARENA_H_
#define DOPPIO_CORE_DEVICE_ARENA_H_

#include <cstdint>
#include <vector>

namespace doppio {

// Steps [first, last], both included.
struct Span {
  int first = 0;
  int last = 0;
};

// Alive in steps [first, last] outside its holes: there others may use its place, and what it held
// is lost.
struct Lifetime {
  int64_t bytes = 0;
  int first = 0;
  int last = 0;
  int64_t offset = -1;  // filled in by PlaceBlocks, a multiple of 256
  std::vector<Span> holes = {};
};

// Bytes that a block occupies in the arena: `bytes`, rounded up to a multiple of 256.
int64_t PlacedBytes(int64_t bytes);

// Best fit, biggest first. Returns the bytes of the whole arena.
int64_t PlaceBlocks(std::vector<Lifetime>* blocks);

}  // namespace doppio

#endif  // DOPPIO_CORE_DEVICE_ARENA_H_
