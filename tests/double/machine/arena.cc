#include "tests/double/machine/arena.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "tests/double/machine/fault.h"

namespace doppio::gpu_double {

std::atomic<uintptr_t> arena_begin{0};

char* ReserveAddresses(int64_t bytes, int protection) {
  void* const at =
      ::mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) {
    Fault("memory", "cannot reserve " + std::to_string(bytes >> 30) +
                        " GiB of addresses: " + std::strerror(errno) + "; lift ulimit -v");
  }
  ::madvise(at, bytes, MADV_DONTDUMP);
  // With huge pages, each small block would take 2 MiB.
  ::madvise(at, bytes, MADV_NOHUGEPAGE);
  return static_cast<char*>(at);
}

char* Arena() {
  static char* const arena = [] {
    char* const at = ReserveAddresses(kArenaBytes, PROT_NONE);
    arena_begin = reinterpret_cast<uintptr_t>(at);
    return at;
  }();
  return arena;
}

}  // namespace doppio::gpu_double
