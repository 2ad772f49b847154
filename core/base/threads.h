// The process's only pool of compute threads: OpenMP's. oneDNN uses the same pool, so the two never
// compete for cores. Data threads (data/pipeline/pipeline.cc) are ordinary threads and never call
// ParallelFor.
#ifndef DOPPIO_CORE_BASE_THREADS_H_
#define DOPPIO_CORE_BASE_THREADS_H_

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <mutex>

namespace doppio {

constexpr int kMaxThreads = 4096;  // more than any machine has cores

// Throws UsageError unless OMP_NUM_THREADS and OMP_THREAD_LIMIT, if set, are numbers, or lists of
// numbers, from 1 to kMaxThreads. OpenMP would crash with a larger one. Called before OpenMP starts
// threads.
void CheckThreadVariables();
// Starts and ends `threads` - 1 threads. Throws std::system_error if the system's limit does not
// allow them. OpenMP would end the process instead.
void CheckThreadsStart(int threads);

// Returns the number of threads in a parallel region: that of SetNumThreads, or else
// OMP_NUM_THREADS, or else the number of cores that this process may use.
inline int NumThreads() { return omp_get_max_threads(); }

// Sets NumThreads() for all threads that call ClampNumThreads later, in place of OMP_NUM_THREADS.
// Must be called before other threads start.
void SetNumThreads(int threads);
// Returns true if the user chose the number of threads, by SetNumThreads or OMP_NUM_THREADS.
bool NumThreadsChosen();

// Limits the calling thread's NumThreads() to the threads that OpenMP really provides, which are
// fewer than OMP_NUM_THREADS if OMP_THREAD_LIMIT is lower or OMP_DYNAMIC is set. Otherwise a
// barrier in a oneDNN kernel would wait forever for threads that never start. Each thread that
// computes calls this first. Returns NumThreads().
int ClampNumThreads();

// Pins each compute thread, including the calling one, to its own core. Does nothing and returns
// false if the number of compute threads is 1 or differs from the number of available cores, or if
// OpenMP's own variables (OMP_PROC_BIND, OMP_PLACES) are set. Threads started later inherit the
// caller's core, so they must call UseAllCores first.
bool PinComputeThreads();
// Lets the calling thread run on all cores that the process was started with.
void UseAllCores();
// For calls into libraries that start threads, which inherit the caller's cores. While an
// OnAllCores exists, the calling thread may run on all cores that the process was started with. The
// destructor restores the thread's previous cores and must run on the same thread.
class OnAllCores {
 public:
  OnAllCores();
  ~OnAllCores();
  OnAllCores(const OnAllCores&) = delete;
  OnAllCores& operator=(const OnAllCores&) = delete;

 private:
  cpu_set_t before_;
  const bool known_;  // true if before_ could be read
};

// Divides the compute threads among several ranks in one process. While a ComputeShare exists, the
// thread that created it computes with the share of `rank` out of `ranks`: at least one thread,
// pinned to separate cores under the same conditions as PinComputeThreads. All ranks get the same
// number of threads, because it decides which kernels compute, and so the layouts of parameters.
class ComputeShare {
 public:
  ComputeShare(int rank, int ranks);
  ~ComputeShare();
  ComputeShare(const ComputeShare&) = delete;
  ComputeShare& operator=(const ComputeShare&) = delete;

 private:
  const int threads_before_;
  const int ranks_before_;
  const bool repin_;
};

// While a ThreadCount exists, the calling thread's NumThreads() is `threads`; 0 leaves it
// unchanged.
class ThreadCount {
 public:
  explicit ThreadCount(int threads) : before_(NumThreads()) {
    if (threads > 0) omp_set_num_threads(threads);
  }
  ~ThreadCount() { omp_set_num_threads(before_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  const int before_;
};

// Returns the number of cores that the process was started with, or 1 if unknown. Unlike
// std::thread::hardware_concurrency, the result does not depend on the calling thread's affinity.
int ProcessCores();
// Returns the calling rank's share of ProcessCores(), at least 1. Outside any ComputeShare this is
// all of them.
int RankCores();

// Keeps the exception of the first of several threads, because none may leave a parallel region.
class ThreadError {
 public:
  // Keeps the current exception, unless that of a thread with a lower number is kept. Called in a
  // handler. Thread-safe.
  void Keep(int64_t thread);
  // Throws the exception that is kept, if there is one.
  void Rethrow() const {
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
  int64_t thread_ = 0;  // that has thrown error_
};

// Calls f(begin, end) on disjoint ranges that cover [0, n), one range per thread. Each range has at
// least `grain` items, so small loops run on the caller. The ranges depend only on n, grain and the
// number of threads. If `f` throws, the other ranges are completed, and the exception of the first
// range that failed is thrown. A loop that stops at its first wrong item therefore reports the same
// item with any number of threads.
template <class F>
void ParallelFor(int64_t n, int64_t grain, const F& f) {
  const int64_t wanted = std::max<int64_t>(1, n / std::max<int64_t>(1, grain));
  const int threads = static_cast<int>(std::min<int64_t>(NumThreads(), wanted));
  if (threads <= 1) {
    if (n > 0) f(int64_t{0}, n);
    return;
  }
  ThreadError error;
#pragma omp parallel num_threads(threads)
  {
    const int64_t rank = omp_get_thread_num(), size = omp_get_num_threads();
    const int64_t begin = n * rank / size, end = n * (rank + 1) / size;
    // The copy makes the values captured by `f` local to the thread. Loops vectorise only if no
    // store can alias them.
    const F mine = f;
    try {
      if (begin < end) mine(begin, end);
    } catch (...) {
      error.Keep(rank);
    }
  }
  error.Rethrow();
}

// Calls f(i) for each i in [0, n), divided among the threads as by ParallelFor.
template <class F>
void ParallelForEach(int64_t n, int64_t grain, const F& f) {
  ParallelFor(n, grain, [f](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_THREADS_H_
