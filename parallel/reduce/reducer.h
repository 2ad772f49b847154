// Sums the gradients of all ranks while backward goes on. The arena of gradients, which lies in the
// order in which backward finishes them, is cut into buckets; a thread of the reducer's own reduces
// each as soon as its last gradient is there.
#ifndef DOPPIO_PARALLEL_REDUCE_REDUCER_H_
#define DOPPIO_PARALLEL_REDUCE_REDUCER_H_

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/base/queue.h"
#include "core/net/run/communicator.h"
#include "core/net/store/params.h"
#include "core/net/run/run_trace.h"
#include "parallel/reduce/gradient_copy.h"
#include "parallel/gpu/pass_gate.h"

namespace doppio {

struct ReducerOptions {
  // The least that a bucket holds; the last one may hold less. Smaller ones start earlier, larger
  // ones cost fewer messages.
  int64_t bucket_bytes = int64_t{16} << 20;
  DType type = DType::kFloat32;  // that gradients have on their way; a 16-bit one is rounded to
};

class Reducer : public GradientExchange, private SumsInStream {
 public:
  // `params`, whose gradients do not share memory, `bulk` and `gate` outlive the reducer, which is
  // the only one to use `bulk`. `gate`, of all ranks of `bulk`, is used where exchanges wait on the
  // devices; null: the ranks are in different processes.
  //
  // In a pass that is fresh for any rank (SumsInStream::Begin), buckets are held back until all
  // ranks have asked their devices for the whole pass and call Finish. Sums cannot be held back.
  // Before one starts, all ranks have come to it, and they go on when it is done: so no device
  // waits in an exchange while a rank sets things up.
  Reducer(ParamStore* params, Communicator* bulk, const ReducerOptions& options,
          PassGate* gate = nullptr);
  ~Reducer() override;

  void Ready(int param) override;
  bool BeginsAt(int param) const override;
  void Finish(GradientSink* next) override;
  SumsInStream* sums_in_stream() override { return this; }
  void SetTrace(RunTrace* trace) override { trace_ = trace; }
  Totals totals() const override { return totals_; }
  size_t buckets() const { return buckets_.size(); }

 private:
  struct Bucket {
    std::vector<int> params;     // of the store, in arena order
    int64_t begin = 0, end = 0;  // in the arena of gradients, in elements
    size_t missing = 0;          // that are not ready yet
    bool sent = false;           // to the thread
    int mark = -1;               // of the trace, where it was
  };

  // A request to the exchanging thread. Every rank makes its requests in the same order.
  struct Job {
    enum Kind { kBucket, kSum, kRelease };  // kSum: of SumsInStream; kRelease: what is held back
    Kind kind = kBucket;
    int64_t pass = 0;  // of the gate
    size_t bucket = 0;
    void* data = nullptr;  // of a sum, as what follows
    int64_t count = 0;
    DType dtype = DType::kFloat32;
  };

  void MakeBuckets(int64_t bucket_bytes);
  void AllReduce(void* data, int64_t count, DType dtype) override;
  void Begin(bool fresh) override;
  void Announce();
  void Ask(Job job);
  DType sent_as() const { return copy_ ? options_.type : params_->dtype(); }
  void Send(size_t bucket);
  void Reduce();  // the thread, which alone calls what follows up to Settle
  bool NextJob(Job* job);
  void Learn(int64_t pass);
  void Start(const Job& job);
  void StartBucket(size_t bucket);
  bool Settle();
  void ShowReduction(size_t bucket, int64_t begun_ns);
  void WaitFor(size_t bucket);
  void WaitForSums();
  void ArriveForStatistics();
  void AverageStatistics();

  ParamStore* const params_;
  Communicator* const bulk_;
  const ReducerOptions options_;
  PassGate* const gate_;              // null: nothing is held back
  std::optional<GradientCopy> copy_;  // of 16 bits
  std::vector<Bucket> buckets_;
  std::vector<size_t> bucket_of_;  // per parameter of the store
  BoundedQueue<Job> queue_;
  Totals totals_;
  RunTrace* trace_ = nullptr;
  // Used by the computing thread only.
  int64_t asked_ = 0;  // jobs since the start
  int64_t pass_ = 0;   // announced to the gate
  bool fresh_ = false, announced_ = false;

  // Buckets that were started and not found done; of the thread.
  struct UnderWay {
    size_t bucket;
    int64_t begun_ns;
  };
  std::vector<UnderWay> under_way_;
  std::chrono::steady_clock::time_point busy_since_;  // likewise; where there are any
  std::vector<size_t> held_;                          // buckets; of the thread
  int64_t known_pass_ = 0;                            // of holds_; likewise

  std::mutex mutex_;
  std::condition_variable done_changed_;
  size_t done_ = 0;                    // buckets of this pass; guarded, as what follows
  int64_t started_ = 0, settled_ = 0;  // jobs, of which some are held; only the thread writes them
  bool holds_ = false;                 // the pass is fresh for some rank; likewise
  double busy_seconds_ = 0;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_REDUCE_REDUCER_H_
