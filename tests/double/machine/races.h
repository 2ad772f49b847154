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
  // 0: all bytes are touched. Otherwise some: at least one of any gap + 1 neighbours. Such an
  // access is told as a race only where this proves one, never with another of its kind.
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

// The step `time` of `actor`, which happened after everything that `before` knows, made these
// accesses. Fault("race", both places) when one of them overlaps an earlier access of which
// `before` does not know and one of the two writes. Accesses to pageable host memory are left out.
void NoteAccesses(const std::string& what, int actor, int64_t time, const Clock& before,
                  const std::vector<Access>& accesses);
// Forgets what was done to these bytes: their block is freed. The memory's own call.
void ForgetAccesses(const void* begin, int64_t bytes);

// What the threads of one kernel touch, told by the instrumentation of its loads and stores
// (blocks/hooks.cc). One kernel at a time in the process, and its calls of Touch come one at a
// time. Also finds races within the kernel: a byte that one thread wrote and another one read or
// wrote, unless both are threads of one block with a barrier in between (their `epoch`, which
// counts the block's barriers, differs) or both accesses are atomic; these are Fault("block-race").
// Exact for each byte and without false alarms; of several earlier threads, it names the last one.
// Checks bounds (Fault "bounds") and that device memory is of `device` or of a peer that it may
// reach (Fault "peer"). Limits: the owners of bytes beyond the first 2^27 turns of threads in a
// kernel are unknown, and races with them are missed; so are those with blocks beyond 2^32, threads
// beyond 2^10 and epochs beyond 2^22.
struct KernelThread {
  int64_t block = 0;
  int thread = 0;     // in the block
  int64_t epoch = 0;  // barriers that the block has passed
};
void BeginKernel(const std::string& what, int device);
// Ignores pageable memory, and everything outside of kernels.
void Touch(const KernelThread& thread, const void* at, int64_t bytes, bool writes, bool atomic);
// Accesses of the kernel, merged to ranges: exact up to some thousands for each block of memory,
// beyond that with gaps. bytes_moved: distinct bytes read plus distinct bytes written of device
// memory; atomic updates do both.
std::vector<Access> EndKernel(int64_t* bytes_moved);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_RACES_H_
