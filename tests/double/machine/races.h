// Races: accesses to device and pinned memory that no stream, event or wait of the host orders,
// found by vector clocks.
#ifndef DOPPIO_TESTS_DOUBLE_MACHINE_RACES_H_
#define DOPPIO_TESTS_DOUBLE_MACHINE_RACES_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace doppio::gpu_double {

// Bytes that a piece of work touches.
struct Access {
  const void* at = nullptr;
  int64_t bytes = 0;
  bool writes = false;
  // 0: touches all bytes. Otherwise touches at least one of any gap + 1 consecutive bytes. An
  // access with a gap is reported as a race only where this proves one, so never against another
  // access with a gap.
  int64_t gap = 0;
};

// An actor is a stream or a thread of the host; each counts its own steps.
int NewActor(const std::string& name);

class Clock {
 public:
  void Join(const Clock& other);
  void Set(int actor, int64_t time);
  int64_t Of(int actor) const;  // 0 for an actor that it knows nothing of
 private:
  std::unordered_map<int, int64_t> times_;
};

// Records the accesses of step `time` of `actor`, which happened after every step in `before`.
// Fault("race") with both places when one of them overlaps an access of another actor that is not
// in `before` and one of the two writes. Ignores pageable host memory.
void NoteAccesses(const std::string& what, int actor, int64_t time, const Clock& before,
                  const std::vector<Access>& accesses);
// Forgets all accesses to these bytes. Freeing a block calls it.
void ForgetAccesses(const void* begin, int64_t bytes);

struct KernelThread {
  int64_t block = 0;
  int thread = 0;     // in the block
  int64_t epoch = 0;  // barriers that the block has passed
};
// Records what the threads of a kernel touch, as told by the instrumentation of its loads and
// stores (blocks/hooks.cc). The process runs one kernel at a time, and calls of Touch do not
// overlap.
//
// Touch checks
//  - bounds: Fault("bounds") outside of live blocks;
//  - devices: Fault("peer") at memory of a device that the kernel's device has no access to;
//  - races within the kernel: Fault("block-race") when one thread writes a byte that another one
//  reads or writes, unless both belong to one
//    block and their epochs differ, or both accesses are atomic. This is exact for each byte. It
//    never reports a race that is none. Of several earlier threads, the message names the last one.
// Limits: it misses races with bytes first touched after 2^27 switches between threads in one
// kernel, and those of blocks from 2^32, threads from 2^10 and epochs from 2^22 on. Atomic loads
// never race.
void BeginKernel(const std::string& what, int device);
// Ignores pageable memory. Does nothing while no kernel runs.
void Touch(const KernelThread& thread, const void* at, int64_t bytes, bool writes, bool atomic);
// Returns the kernel's accesses as ranges; beyond 4096 ranges in a block, near ones are merged to
// ranges with gaps. *bytes_moved: distinct bytes read plus distinct bytes written of device memory;
// an atomic update does both.
std::vector<Access> EndKernel(int64_t* bytes_moved);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_RACES_H_
