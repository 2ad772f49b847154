// The access state of one byte in the running kernel, in 5 bits, and its transitions. Together with
// the number of the turn that last touched the byte, the state detects every race within a kernel
// at its second access. This works for two reasons:
//
// - Only barriers of their own block order threads. The epochs of a block do not overlap in time,
// so
//   for accesses from the same block only those of its latest epoch (the group) matter. For other
//   blocks, all accesses matter.
// - Once several threads share a group without a race, or several blocks share a byte, all accesses
//   are of one kind: plain reads or atomics.
#ifndef DOPPIO_TESTS_DOUBLE_MACHINE_CELL_STATES_H_
#define DOPPIO_TESTS_DOUBLE_MACHINE_CELL_STATES_H_

#include <cstdint>

namespace doppio::gpu_double {

constexpr int kStateBits = 5;
constexpr int kStates = 1 << kStateBits;
constexpr uint8_t kRace = kStates - 1;

// kAtomicLoad applies only to bytes that nothing else touches. Atomic loads are never part of a
// race.
enum AccessKind { kRead, kWrite, kAtomic, kAtomicLoad, kAccessKinds };

// Relation of the thread that touches a byte to the thread that touched it last.
enum Relation { kSameThread, kOtherThread, kOtherEpoch, kOtherBlock, kRelations };

// The transition table.
struct CellStates {
  CellStates();
  uint8_t first[kAccessKinds];                      // next state of an untouched byte
  uint8_t next[kStates][kRelations][kAccessKinds];  // next state, or kRace
  bool reads[kStates];                              // the byte was read in this state
  bool writes[kStates];                             // the byte was written in this state
};

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_CELL_STATES_H_
