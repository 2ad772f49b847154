#include "core/base/threads.h"

#include <sched.h>

#include <cstdlib>
#include <vector>

namespace doppio {
namespace {

// The cores that the process was started with.
struct Cores {
  Cores() {
    CPU_ZERO(&all);
    known = sched_getaffinity(0, sizeof all, &all) == 0;
    for (int core = 0; known && core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &all)) list.push_back(core);
    }
  }
  bool known = false;
  cpu_set_t all;
  std::vector<int> list;
};

const Cores& StartCores() {
  static const Cores cores;
  return cores;
}

bool UserPlacesThreads() {
  for (const char* name : {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

}  // namespace

bool PinComputeThreads() {
  const std::vector<int>& cores = StartCores().list;
  const size_t threads = static_cast<size_t>(NumThreads());
  if (UserPlacesThreads() || threads < 2 || threads != cores.size()) return false;
  bool pinned = true;
#pragma omp parallel num_threads(NumThreads()) reduction(&& : pinned)
  {
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(cores[static_cast<size_t>(omp_get_thread_num())], &own);
    pinned = sched_setaffinity(0, sizeof own, &own) == 0;
  }
  return pinned;
}

void UseAllCores() {
  const Cores& cores = StartCores();
  if (cores.known) sched_setaffinity(0, sizeof cores.all, &cores.all);
}

int ProcessCores() { return std::max<int>(1, static_cast<int>(StartCores().list.size())); }

}  // namespace doppio
