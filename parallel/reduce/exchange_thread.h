// The thread of a reducer that makes the exchanges, while the computing thread goes on. Every rank
// asks for the same jobs in the same order.
#ifndef DOPPIO_PARALLEL_REDUCE_EXCHANGE_THREAD_H_
#define DOPPIO_PARALLEL_REDUCE_EXCHANGE_THREAD_H_

#include <chrono>
#include <thread>
#include <vector>

#include "core/base/queue.h"
#include "core/net/run/run_trace.h"
#include "parallel/gpu/pass_gate.h"
#include "parallel/reduce/exchange_progress.h"
#include "parallel/reduce/gradient_buckets.h"

namespace doppio {

// A request to the thread.
struct ExchangeJob {
  // kSum: for SumsInStream; kRelease: start the held-back buckets; kGather: copy the values of the
  // ranks' shares of a bucket.
  enum Kind { kBucket, kSum, kRelease, kGather };
  Kind kind = kBucket;
  int64_t pass = 0;      // number of the pass, as announced to the gate
  size_t bucket = 0;     // for kBucket and kGather
  int mark = -1;         // mark of the trace at which a bucket was complete; -1: none
  void* data = nullptr;  // for kSum, as are count and dtype
  int64_t count = 0;
  DType dtype = DType::kFloat32;
};

// Used by one computing thread.
class ExchangeThread {
 public:
  // The arguments must outlive the thread; `gate` is null if nothing is held back. `most_jobs` is
  // the number of jobs that may wait before Ask blocks.
  ExchangeThread(Communicator* bulk, const GradientBuckets& buckets, PassGate* gate,
                 size_t most_jobs);
  ~ExchangeThread();

  void Ask(const ExchangeJob& job);
  // See ExchangeProgress. AwaitStart and AwaitAll refer to the jobs asked for so far.
  void AwaitStart() { progress_.AwaitStart(asked_); }
  void AwaitAll() { progress_.AwaitAll(asked_); }
  ExchangeProgress& progress() { return progress_; }
  void SetTrace(RunTrace* trace) { trace_ = trace; }

 private:
  // A started exchange of a bucket that is not known to be complete.
  struct UnderWay {
    size_t bucket;
    int mark;
    int64_t begun_ns;
    bool gather;  // of its values, not of its gradients
  };

  void Run();
  bool NextJob(ExchangeJob* job);
  void Learn(int64_t pass);
  void Start(const ExchangeJob& job);
  void StartedNow(const ExchangeJob& job);
  void StartBucket(const ExchangeJob& job);
  void GatherBucket(const ExchangeJob& job);
  bool Settle();
  void ShowExchange(const UnderWay& done);

  Communicator* const bulk_;
  const GradientBuckets& buckets_;
  PassGate* const gate_;
  BoundedQueue<ExchangeJob> queue_;
  ExchangeProgress progress_;
  RunTrace* trace_ = nullptr;
  int64_t asked_ = 0;  // number of jobs since the start; used by the computing thread only
  // Used by the exchanging thread only.
  std::vector<UnderWay> under_way_;
  // Time at which under_way_ last became non-empty.
  std::chrono::steady_clock::time_point busy_since_;
  std::vector<ExchangeJob> held_;  // buckets held back
  int64_t known_pass_ = 0;         // pass that progress_.holds() describes
  std::thread thread_;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_REDUCE_EXCHANGE_THREAD_H_
