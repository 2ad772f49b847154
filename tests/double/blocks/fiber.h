// Stacks between which a host thread can switch.
#ifndef DOPPIO_TESTS_DOUBLE_BLOCKS_FIBER_H_
#define DOPPIO_TESTS_DOUBLE_BLOCKS_FIBER_H_

#include <memory>
#include <vector>

namespace doppio::gpu_double {

// A stack with the code that runs on it. The first Resume starts `main`, which must never return.
class Fiber {
 public:
  Fiber(char* top, void (*main)());
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Continues the fiber until it calls Pause.
  void Resume();
  // Returns to the caller of Resume. Must be called by the fiber itself.
  void Pause();

  int thread = 0;  // kernel thread that waits on this stack

 private:
  void* stack_pointer_;
  void* caller_ = nullptr;
};

// Creates fibers on demand, at most 1024. Each fiber has 128 KiB of stack and a guard page below.
class FiberPool {
 public:
  explicit FiberPool(void (*main)());
  // Returns an idle fiber, or a new one. The pool keeps ownership.
  Fiber* Take();
  // Makes a fiber available again.
  void GiveBack(Fiber* fiber) { idle_.push_back(fiber); }

 private:
  void (*main_)();
  char* memory_;
  std::vector<std::unique_ptr<Fiber>> all_;
  std::vector<Fiber*> idle_;
};

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_BLOCKS_FIBER_H_
