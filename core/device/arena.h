// Places memory blocks with known lifetimes in one arena, so that blocks that are never alive at
// the same time share memory. Time is a sequence of steps.
#ifndef DOPPIO_CORE_DEVICE_ARENA_H_
#define DOPPIO_CORE_DEVICE_ARENA_H_

#include <cstdint>
#include <vector>

namespace doppio {

// The steps from `first` to `last`, inclusive.
struct Span {
  int first = 0;
  int last = 0;
};

// A block that is alive from step `first` to step `last`, inclusive, except in its holes. In a
// hole, other blocks may use the memory, and the block's contents are lost.
struct Lifetime {
  int64_t bytes = 0;
  int first = 0;
  int last = 0;
  int64_t offset = -1;  // in bytes, a multiple of 256; set by PlaceBlocks
  std::vector<Span> holes = {};
};

// Returns the size of a block in the arena: `bytes` rounded up to a multiple of 256.
int64_t PlacedBytes(int64_t bytes);

// Sets the offset of every block: largest blocks first, each in the smallest gap that fits. Returns
// the size of the arena in bytes.
int64_t PlaceBlocks(std::vector<Lifetime>* blocks);

}  // namespace doppio

#endif  // DOPPIO_CORE_DEVICE_ARENA_H_
