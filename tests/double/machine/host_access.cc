// Controls host access to device memory: OpenMemory, and the SIGSEGV handler that opens a block at
// its first access or reports a forbidden access.
#include <signal.h>
#include <sys/mman.h>

#include <cerrno>

#include "tests/double/machine/arena.h"
#include "tests/double/machine/fault.h"
#include "tests/double/machine/memory.h"
#include "tests/double/machine/memory_map.h"

namespace doppio::gpu_double {
namespace {

struct sigaction previous;

// Handles SIGSEGV. The fault is synchronous: the interrupted instruction accessed closed memory. No
// thread does that while holding the map's mutex, so the handler can lock it.
void Answer(int, siginfo_t* info, void*) {
  const int saved = errno;
  int64_t offset = 0;
  // The signal comes from kill() or from a fault elsewhere. The instruction faults again, and then
  // the previous handler runs.
  if (info->si_code <= 0 || !InArena(info->si_addr, &offset)) {
    ::sigaction(SIGSEGV, &previous, nullptr);
    if (info->si_code <= 0) ::raise(SIGSEGV);
    return;
  }
  {
    MemoryMap& map = TheMemoryMap();
    const std::lock_guard<std::mutex> lock(map.mutex);
    LiveBlock* const live = FindLive(&map, info->si_addr, 1);
    if (live == nullptr || map.open_count == 0) {
      const std::string where = DescribeLocked(map, info->si_addr);
      if (map.open_count == 0 && (live != nullptr || where.rfind("freed", 0) == 0)) {
        Fault("host-access", "the host touches " + where);
      }
      Fault("bounds", "an access to " + where);
    }
    // Another thread may have opened the block in the meantime.
    if (!live->open) {
      Open(live);
      map.open.push_back(live->block.begin);
    }
  }
  errno = saved;
}

// An alternate signal stack, because the stacks of fibers may be too small for the handler.
class AlternateStack {
 public:
  AlternateStack() {
    stack_t now = {};
    if (::sigaltstack(nullptr, &now) != 0 || !(now.ss_flags & SS_DISABLE)) return;
    begin_ = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (begin_ == MAP_FAILED) Fault("memory", "no alternate stack");
    stack_t stack = {};
    stack.ss_sp = begin_;
    stack.ss_size = kBytes;
    ::sigaltstack(&stack, nullptr);
  }
  ~AlternateStack() {
    if (begin_ == nullptr) return;
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    ::sigaltstack(&none, nullptr);
    ::munmap(begin_, kBytes);
  }
  AlternateStack(const AlternateStack&) = delete;
  AlternateStack& operator=(const AlternateStack&) = delete;

 private:
  static constexpr size_t kBytes = 128 << 10;
  void* begin_ = nullptr;
};

}  // namespace

void WatchHostAccess() {
  thread_local AlternateStack stack;
  MemoryMap& map = TheMemoryMap();
  const std::lock_guard<std::mutex> lock(map.mutex);
  struct sigaction now = {};
  ::sigaction(SIGSEGV, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == Answer) return;
  struct sigaction ours = {};
  ours.sa_sigaction = Answer;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigemptyset(&ours.sa_mask);
  // Another handler may have been installed since. It becomes the next one after this handler.
  ::sigaction(SIGSEGV, &ours, &previous);
}

OpenMemory::OpenMemory() {
  WatchHostAccess();
  MemoryMap& map = TheMemoryMap();
  const std::lock_guard<std::mutex> lock(map.mutex);
  ++map.open_count;
}

OpenMemory::~OpenMemory() {
  MemoryMap& map = TheMemoryMap();
  const std::lock_guard<std::mutex> lock(map.mutex);
  if (--map.open_count > 0) return;
  for (const char* begin : map.open) Close(&map.live.at(begin));
  map.open.clear();
}

}  // namespace doppio::gpu_double
