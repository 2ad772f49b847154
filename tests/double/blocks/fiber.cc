#include "tests/double/blocks/fiber.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "tests/double/blocks/hooks.h"
#include "tests/double/machine/fault.h"

// Saves the callee-saved registers (System V ABI, x86-64) on the stack and the stack pointer in
// `*save`, and then continues from the stack pointer `load`. Unlike swapcontext, it does not save
// signal masks, which would take a system call.
extern "C" void DoppioSwitchStack(void** save, void* load);
asm(R"(
.text
.p2align 4
.globl DoppioSwitchStack
.type DoppioSwitchStack, @function
DoppioSwitchStack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size DoppioSwitchStack, . - DoppioSwitchStack
)");

namespace doppio::gpu_double {
namespace {

constexpr size_t kFibers = 1024, kStackBytes = size_t{128} << 10, kGuardBytes = 4096;
constexpr size_t kStride = kStackBytes + kGuardBytes;
// The tops of the stacks have different offsets within a page, so that they do not compete for the
// same cache lines.
constexpr size_t kColourBytes = 192, kColours = 21;

}  // namespace

Fiber::Fiber(char* top, void (*main)()) {
  // Prepares the stack that DoppioSwitchStack loads: six registers and the return address. `main`
  // then sees the stack as after a call, 8 bytes below a multiple of 16.
  void** words = reinterpret_cast<void**>(top) - 8;
  std::memset(words, 0, 8 * sizeof *words);
  words[6] = reinterpret_cast<void*>(main);
  stack_pointer_ = words;
}

void Fiber::Resume() { DoppioSwitchStack(&caller_, stack_pointer_); }
void Fiber::Pause() { DoppioSwitchStack(&stack_pointer_, caller_); }

FiberPool::FiberPool(void (*main)()) : main_(main) {
  void* memory = mmap(nullptr, kFibers * kStride, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) Fault("memory", "no room for stacks: " + std::string(strerror(errno)));
  memory_ = static_cast<char*>(memory);
  WatchStacks(memory_, kFibers * kStride);
}

Fiber* FiberPool::Take() {
  if (idle_.empty()) {
    const size_t number = all_.size();
    if (number == kFibers) Fault("threads", "a block has more than 1024 threads");
    char* begin = memory_ + number * kStride;
    mprotect(begin, kGuardBytes, PROT_NONE);
    char* top = begin + kStride - number % kColours * kColourBytes;
    all_.push_back(std::make_unique<Fiber>(top, main_));
    return all_.back().get();
  }
  Fiber* fiber = idle_.back();
  idle_.pop_back();
  return fiber;
}

}  // namespace doppio::gpu_double
