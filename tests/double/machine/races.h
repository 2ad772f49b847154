// Detects races with vector clocks: accesses to device and pinned memory that are not ordered by a
// stream, an event or a wait of the host.
#ifndef DOPPIO_TESTS_DOUBLE_MACHINE_RACES_H_
#define DOPPIO_TESTS_DOUBLE_MACHINE_RACES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace doppio::gpu_double {

// Bytes that a piece of work accesses.
struct Access {
  const void* at = nullptr;
  int64_t bytes = 0;
  bool writes = false;
  // If 0, the work accesses all bytes. Otherwise it accesses at least one of any gap + 1
  // consecutive bytes. An access with a gap is reported as a race only if the gap proves one, so
  // never against another access with a gap.
  int64_t gap = 0;
};

// Registers an actor, which is a stream or a branch of a graph. Each actor counts its own steps.
int NewActor(const std::string& name);
// Changes the name that messages use for later steps of the actor.
void RenameActor(int actor, const std::string& name);

// A vector clock.
class Clock {
 public:
  void Join(const Clock& other);
  void Set(int actor, int64_t time);
  int64_t Of(int actor) const;  // 0 for an unknown actor
 private:
  std::vector<int64_t> times_;  // by actor; 0 for actors beyond the end
};

// Records the accesses in step `time` of `actor`, which happened after all steps in `before`.
// Fault("race"), naming both accesses, if one of them overlaps an access of another actor that is
// not in `before`, and at least one of the two writes. Ignores pageable host memory.
void NoteAccesses(const std::string& what, int actor, int64_t time, const Clock& before,
                  const std::vector<Access>& accesses);
// Forgets all accesses to these bytes. Called when a block is freed.
void ForgetAccesses(const void* begin, int64_t bytes);

// A thread of the running kernel.
struct KernelThread {
  int64_t block = 0;
  int thread = 0;     // index in the block
  int64_t epoch = 0;  // number of barriers that the block has passed
};
// Records the accesses of a kernel's threads, as reported by the instrumentation of its loads and
// stores (blocks/hooks.cc). The process runs one kernel at a time, and calls of Touch must not
// overlap.
//
// Touch checks:
//
// - Bounds: Fault("bounds") outside of live blocks.
// - Devices: Fault("peer") for memory of a device that the kernel's device cannot access.
// - Races within the kernel: Fault("block-race") if one thread writes a byte that another one reads
//   or writes, unless both belong to one block and their epochs differ, or both accesses are
//   atomic. The check is exact for each byte and has no false positives. Of several earlier
//   threads, the message names the last one.
//
// Limits: the check misses races with bytes that are first accessed after 2^27 switches between
// threads in one kernel, and races of blocks from 2^32, threads from 2^10 and epochs from 2^22 on.
// Atomic loads never race.
void BeginKernel(const std::string& what, int device);
// Records one access. Ignores pageable memory. Does nothing while no kernel runs.
void Touch(const KernelThread& thread, const void* at, int64_t bytes, bool writes, bool atomic);
// Returns the kernel's accesses as ranges. If a block has more than 4096 ranges, nearby ranges are
// merged into ranges with gaps. Writes to *bytes_moved the number of distinct bytes of device
// memory that were read plus those that were written; an atomic update counts as both.
std::vector<Access> EndKernel(int64_t* bytes_moved);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_RACES_H_
