// Stacks that a host thread switches between.
#ifndef DOPPIO_TESTS_DOUBLE_BLOCKS_FIBER_H_
#define DOPPIO_TESTS_DOUBLE_BLOCKS_FIBER_H_

#include <memory>
#include <vector>

namespace doppio::gpu_double {

// A stack and where its code stands. Runs `main` from its first Resume on; `main` never returns.
class Fiber {
 public:
  Fiber(char* top, void (*main)());
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Goes on with the fiber until it calls Pause.
  void Resume();
  // For the fiber that runs: goes back to the caller of Resume.
  void Pause();

  int thread = 0;  // of the kernel that waits on this stack

 private:
  void* stack_pointer_;
  void* caller_ = nullptr;
};

// At most 1024 fibers, made when they are first taken, each with 128 KiB and a guard page below.
class FiberPool {
 public:
  explicit FiberPool(void (*main)());
  Fiber* Take();
  void GiveBack(Fiber* fiber) { idle_.push_back(fiber); }

 private:
  void (*main_)();
  char* memory_;
  std::vector<std::unique_ptr<Fiber>> all_;
  std::vector<Fiber*> idle_;
};

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_BLOCKS_FIBER_H_
