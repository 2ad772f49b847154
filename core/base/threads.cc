#include "core/base/threads.h"

#include <sched.h>

#include <cstdlib>
#include <future>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/text/split_at.h"
#include "core/base/text/whole_number.h"

namespace doppio {
namespace {

int chosen_threads = 0;              // set by SetNumThreads; 0: OpenMP's number
thread_local int sharing_ranks = 1;  // number of ranks in the innermost ComputeShare

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

// Returns true if compute threads may be pinned. `threads` is the number of all compute threads of
// the process.
bool MayPin(int threads) {
  return !UserPlacesThreads() && threads > 1 &&
         static_cast<size_t>(threads) == StartCores().list.size();
}

// Pins the calling thread's compute threads to consecutive cores, beginning with core number
// `first` of the process. Returns true if the calls succeeded.
bool PinTo(int first) {
  const std::vector<int>& cores = StartCores().list;
  bool pinned = true;
#pragma omp parallel num_threads(NumThreads()) reduction(&& : pinned)
  {
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(cores[first + omp_get_thread_num()], &own);
    pinned = sched_setaffinity(0, sizeof own, &own) == 0;
  }
  return pinned;
}

}  // namespace

void CheckThreadVariables() {
  for (const char* name : {"OMP_NUM_THREADS", "OMP_THREAD_LIMIT"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr) continue;
    for (std::string number : SplitAt(value, ',')) {
      number.erase(number.find_last_not_of(" \t") + 1).erase(0, number.find_first_not_of(" \t"));
      const int64_t threads = ParseWholeNumber(number).value_or(0);
      if (threads >= 1 && threads <= kMaxThreads) continue;
      throw UsageError(name, " needs 1 to ", kMaxThreads, "; got '", value, "'");
    }
  }
}

void CheckThreadsStart(int threads) {
  std::vector<std::future<void>> trials;  // their destructors wait for the threads
  std::promise<void> end;                 // ends the threads when it is destroyed
  const std::shared_future<void> ended = end.get_future().share();
  for (int i = 1; i < threads; ++i)
    trials.push_back(std::async(std::launch::async, [ended] { ended.wait(); }));
}

void SetNumThreads(int threads) { chosen_threads = threads; }

bool NumThreadsChosen() { return chosen_threads > 0 || std::getenv("OMP_NUM_THREADS") != nullptr; }

int ClampNumThreads() {
  omp_set_dynamic(0);
  // In a ComputeShare, the calling thread has fewer threads than the process.
  const int threads =
      chosen_threads > 0 && sharing_ranks == 1 ? chosen_threads : omp_get_max_threads();
  omp_set_num_threads(std::min(threads, omp_get_thread_limit()));
  return NumThreads();
}

bool PinComputeThreads() { return MayPin(NumThreads()) && PinTo(0); }

ComputeShare::ComputeShare(int rank, int ranks)
    : threads_before_(ClampNumThreads()),
      ranks_before_(std::exchange(sharing_ranks, ranks)),
      repin_(ranks > 1 && MayPin(threads_before_)) {
  const int share = std::max(1, threads_before_ / ranks);
  omp_set_num_threads(share);
  if (repin_ && ranks <= threads_before_) {
    PinTo(share * rank);
  } else if (ranks > 1) {
    UseAllCores();
  }
}

ComputeShare::~ComputeShare() {
  sharing_ranks = ranks_before_;
  omp_set_num_threads(threads_before_);
  if (repin_) PinTo(0);
}

void UseAllCores() {
  const Cores& cores = StartCores();
  if (cores.known) sched_setaffinity(0, sizeof cores.all, &cores.all);
}

OnAllCores::OnAllCores() : known_(sched_getaffinity(0, sizeof before_, &before_) == 0) {
  if (known_) UseAllCores();
}

OnAllCores::~OnAllCores() {
  if (known_) sched_setaffinity(0, sizeof before_, &before_);
}

int RankCores() { return std::max(1, ProcessCores() / sharing_ranks); }

int ProcessCores() { return std::max<int>(1, static_cast<int>(StartCores().list.size())); }

void ThreadError::Keep(int64_t thread) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (error_ != nullptr && thread_ < thread) return;
  error_ = std::current_exception();
  thread_ = thread;
}

}  // namespace doppio
