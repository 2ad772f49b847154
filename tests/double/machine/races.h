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
// The block's memory has a new owner: forget what was done to it.
void ForgetAccesses(const void* begin, int64_t bytes);

// What the threads of one kernel touch, told by the instrumentation of its loads and stores
// (blocks/hooks.cc). One kernel at a time in the process. Also finds races within the kernel: a
// byte that one thread wrote and another one read or wrote, unless both are threads of one block
// with a barrier in between (their `epoch`, which counts the block's barriers, differs) or both
// accesses are atomic; these are Fault("block-race"). Checks bounds (Fault "bounds") and that
// device memory is of `device` or of an enabled peer.
struct KernelThread {
  int64_t block = 0;
  int thread = 0;     // in the block
  int64_t epoch = 0;  // barriers that the block has passed
};
void BeginKernel(const std::string& what, int device);
void Touch(const KernelThread& thread, const void* at, int64_t bytes, bool writes, bool atomic);
// Accesses of the kernel, merged to ranges; bytes_moved: distinct bytes read plus distinct bytes
// written of device memory.
std::vector<Access> EndKernel(int64_t* bytes_moved);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_RACES_H_
