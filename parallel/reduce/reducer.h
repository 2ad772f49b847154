// Sums the gradients of all ranks while backward runs. The arena of gradients, which is in the
// order in which backward completes them, is split into buckets. The reducer's own thread reduces
// each bucket as soon as its last gradient is complete.
//
// If the ranks divide the update, each bucket is divided among them: a reduce-scatter replaces its
// all-reduce, and an all-gather of its values follows its update.
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
#include "core/net/contract/communicator.h"
#include "core/net/run/run_trace.h"
#include "core/net/store/params.h"
#include "parallel/gpu/pass_gate.h"
#include "parallel/reduce/gradient_copy.h"

namespace doppio {

struct ReducerOptions {
  // Minimum size of a bucket; the last one may be smaller. Smaller buckets start earlier, larger
  // ones need fewer messages. A world that makes a reducer replaces kAutoBucketBytes.
  int64_t bucket_bytes = int64_t{16} << 20;
  // Type of gradients in the exchange. For a 16-bit type, gradients are rounded.
  DType type = DType::kFloat32;
  // If it is on, the ranks compute on the host.
  Sharding sharding = {};
};

class Reducer : public GradientExchange, private SumsInStream {
 public:
  // `params`, `bulk` and `gate` must outlive the reducer. The gradients of `params` must not share
  // memory. Only the reducer may use `bulk`. `gate` belongs to all ranks of `bulk` and is used if
  // exchanges wait on the devices; it is null if the ranks are in different processes.
  //
  // In a pass that is fresh for any rank (SumsInStream::Begin), buckets are held back until all
  // ranks have issued the whole pass to their devices and have called Finish. Sums that a layer
  // needs (SumsInStream::AllReduce) cannot be held back: all ranks meet before such a sum starts,
  // and continue when it is complete. So no device waits in an exchange while a rank is setting
  // things up.
  Reducer(ParamStore* params, Communicator* bulk, const ReducerOptions& options,
          PassGate* gate = nullptr);
  ~Reducer() override;

  void Ready(int param) override;
  bool BeginsAt(int param) const override;
  void Finish(GradientSink* next) override;
  const UpdateShares* shares() const override { return shares_.empty() ? nullptr : &shares_; }
  void GatherValues() override;
  SumsInStream* sums_in_stream() override { return this; }
  void SetTrace(RunTrace* trace) override { trace_ = trace; }
  Totals totals() const override { return totals_; }
  // Returns the number of buckets.
  size_t buckets() const { return buckets_.size(); }

 private:
  struct Bucket {
    std::vector<int> params;     // indices of parameters, in arena order
    int64_t begin = 0, end = 0;  // elements of the arenas
    std::vector<int64_t> cuts;   // of the ranks' shares, relative to `begin`; empty: not divided
    size_t missing = 0;          // number of gradients that are not ready yet
    bool sent = false;           // true once passed to the thread
    int mark = -1;               // mark of the trace when the bucket was complete; -1: none
  };

  // A request to the exchanging thread. Every rank makes its requests in the same order.
  struct Job {
    // kSum: for SumsInStream; kRelease: start the held-back buckets; kGather: copy the values of
    // the ranks' shares of a bucket.
    enum Kind { kBucket, kSum, kRelease, kGather };
    Kind kind = kBucket;
    size_t bucket = 0;     // for kBucket and kGather
    void* data = nullptr;  // for kSum, as are count and dtype
    int64_t count = 0;
    DType dtype = DType::kFloat32;
    int64_t pass = 0;  // number of the pass, as announced to the gate; set by Ask
  };

  void MakeBuckets(int64_t bucket_bytes);
  void Divide(Bucket* bucket);
  void AllReduce(void* data, int64_t count, DType dtype) override;
  void Begin(bool fresh) override;
  void Announce();
  void Ask(Job job);
  DType sent_as() const { return copy_ ? options_.type : params_->dtype(); }
  void Send(size_t bucket);
  void Reduce();  // body of the thread, which alone calls the functions from here to Settle
  bool NextJob(Job* job);
  void Learn(int64_t pass);
  void Start(const Job& job);
  void StartBucket(size_t bucket);
  void GatherBucket(size_t bucket);
  bool Settle();
  template <class F>
  void Await(const F& done);
  double AwaitAll(bool gathers);
  void CountTimes(double waited);
  void ArriveForStatistics();
  void AverageStatistics();

  ParamStore* const params_;
  Communicator* const bulk_;
  const ReducerOptions options_;
  PassGate* const gate_;              // null if nothing is held back
  std::optional<GradientCopy> copy_;  // the 16-bit copy, if used
  std::vector<Bucket> buckets_;
  UpdateShares shares_;            // empty if every rank updates all parameters
  std::vector<size_t> bucket_of_;  // by parameter of the store
  BoundedQueue<Job> queue_;
  Totals totals_;
  RunTrace* trace_ = nullptr;
  // Used by the computing thread only.
  int64_t asked_ = 0;  // number of jobs since the start
  int64_t pass_ = 0;   // number of the pass last announced to the gate
  bool fresh_ = false, announced_ = false;

  // Started exchanges of buckets that are not known to be complete. Only the exchanging thread uses
  // the members from here to known_pass_.
  struct UnderWay {
    size_t bucket;
    int64_t begun_ns;
    bool gather;  // of its values, not of its gradients
  };
  void StartedNow(size_t bucket, bool gather);
  void ShowExchange(const UnderWay& done);
  std::vector<UnderWay> under_way_;
  // Time at which under_way_ last became non-empty.
  std::chrono::steady_clock::time_point busy_since_;
  std::vector<size_t> held_;  // buckets held back
  int64_t known_pass_ = 0;    // pass that holds_ describes

  std::mutex mutex_;
  std::condition_variable done_changed_;
  // mutex_ guards the members from here to failure_.
  size_t done_ = 0;  // number of buckets reduced in this pass
  // Numbers of jobs started (including held-back ones) and completed. Only the thread writes them.
  int64_t started_ = 0, settled_ = 0;
  bool holds_ = false;  // true if the pass is fresh for some rank; only the thread writes it
  double busy_seconds_ = 0;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_REDUCE_REDUCER_H_
