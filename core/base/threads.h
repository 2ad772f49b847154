// The one pool of compute threads: OpenMP's, which oneDNN uses as well, so that they never compete.
// Data threads (data/pipeline/pipeline.cc) are ordinary threads and never call ParallelFor.
#ifndef DOPPIO_CORE_BASE_THREADS_H_
#define DOPPIO_CORE_BASE_THREADS_H_

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <cstdint>

namespace doppio {

// Threads that a parallel region gets: OMP_NUM_THREADS or the cores this process may use.
inline int NumThreads() { return omp_get_max_threads(); }

// Makes NumThreads() tell the calling thread what it really gets, which is less than
// OMP_NUM_THREADS where OMP_THREAD_LIMIT is lower or OMP_DYNAMIC is set: a barrier in one of
// oneDNN's kernels waits for ever for threads that were promised and do not come. Returns
// NumThreads(). For each thread that computes, before it does.
int SettleThreads();

// Keeps each compute thread, the calling one among them, on a core of its own, where there are as
// many as cores that the process may use; elsewhere, and where OpenMP's own variables
// (OMP_PROC_BIND, OMP_PLACES) are set, does nothing. False when nothing was done. Threads that are
// started later begin on the caller's core: they call UseAllCores first.
bool PinComputeThreads();
// The calling thread may run on all cores that the process was started with.
void UseAllCores();
// For calls of libraries that start threads, which inherit the caller's cores. While it lives, the
// calling thread may run on all cores that the process was started with. The destructor, on the
// same thread, restores the cores that the thread had before.
class OnAllCores {
 public:
  OnAllCores();
  ~OnAllCores();
  OnAllCores(const OnAllCores&) = delete;
  OnAllCores& operator=(const OnAllCores&) = delete;

 private:
  cpu_set_t before_;
  const bool known_;  // whether before_ could be read
};

// Where several threads of the process each compute with threads of their own: while it lives, the
// thread that made it has the share of `rank` among `ranks`, at least one thread, on cores of its
// own where PinComputeThreads would pin.
class ComputeShare {
 public:
  ComputeShare(int rank, int ranks);
  ~ComputeShare();
  ComputeShare(const ComputeShare&) = delete;
  ComputeShare& operator=(const ComputeShare&) = delete;

 private:
  const int ranks_before_;
  const int threads_before_;
  const bool repin_;
};

// The cores that the process was started with; 1 when nobody knows. std::thread's
// hardware_concurrency would count the caller's.
int ProcessCores();
// This rank's share of them, at least one: all, outside every ComputeShare.
int RankCores();

// Calls f(begin, end) on disjoint ranges that cover [0, n), one per thread, each of at least
// `grain` items (so that small work stays on the caller). The ranges depend on n, grain and the
// number of threads only. `f` must not throw.
template <class F>
void ParallelFor(int64_t n, int64_t grain, const F& f) {
  const int64_t wanted = std::max<int64_t>(1, n / std::max<int64_t>(1, grain));
  const int threads = static_cast<int>(std::min<int64_t>(NumThreads(), wanted));
  if (threads <= 1) {
    if (n > 0) f(int64_t{0}, n);
    return;
  }
#pragma omp parallel num_threads(threads)
  {
    const int64_t rank = omp_get_thread_num(), size = omp_get_num_threads();
    const int64_t begin = n * rank / size, end = n * (rank + 1) / size;
    // A copy, so that what `f` captured by value is the thread's own: loops vectorise only if no
    // store can alias it.
    const F mine = f;
    if (begin < end) mine(begin, end);
  }
}

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_THREADS_H_
