// What a byte has seen in the kernel that runs, in 5 bits, and what the next access makes of it.
// Together with the number of the turn that touched the byte last, this finds every race within a
// kernel at its second access. The reasoning:
//  - Threads are ordered only by barriers of their block. A block's epochs do not mix in time, so
//  of one block's accesses only those of
//    the latest epoch (the group) matter to the block, while for other blocks all of them matter.
//  - Once several threads share a group, or several blocks a byte, without a race, all accesses are
//  of one kind: plain reads or atomics.
#ifndef DOPPIO_TESTS_DOUBLE_MACHINE_CELL_STATES_H_
#define DOPPIO_TESTS_DOUBLE_MACHINE_CELL_STATES_H_

#include <cstdint>

namespace doppio::gpu_double {

constexpr int kStateBits = 5;
constexpr int kStates = 1 << kStateBits;
constexpr uint8_t kRace = kStates - 1;

// Atomic loads are read_atomically only if nothing else touches the byte; they are never part of a
// race.
enum AccessKind { kRead, kWrite, kAtomic, kAtomicLoad, kAccessKinds };

// The thread that touches a byte, seen from the one that touched it last.
enum Relation { kSameThread, kOtherThread, kOtherEpoch, kOtherBlock, kRelations };

struct CellStates {
  CellStates();
  uint8_t first[kAccessKinds];                      // of a byte that nobody has touched
  uint8_t next[kStates][kRelations][kAccessKinds];  // or kRace
  bool reads[kStates];                              // whether the byte was read ...
  bool writes[kStates];                             // ... or written
};

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_CELL_STATES_H_
