// Sums the gradients of all ranks while backward runs. The arena of gradients, which is in the
// order in which backward completes them, is split into buckets. The reducer's own thread reduces
// each bucket as soon as its last gradient is complete.
//
// If the ranks divide the update, each bucket is divided among them: a reduce-scatter replaces its
// all-reduce, and an all-gather of its values follows its update.
#ifndef DOPPIO_PARALLEL_REDUCE_REDUCER_H_
#define DOPPIO_PARALLEL_REDUCE_REDUCER_H_

#include <vector>

#include "parallel/reduce/exchange_thread.h"
#include "parallel/reduce/gradient_buckets.h"

namespace doppio {

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

  void Ready(int param) override;
  bool BeginsAt(int param) const override;
  void Finish(GradientSink* next) override;
  const UpdateShares* shares() const override { return divides() ? &buckets_.shares() : nullptr; }
  void GatherValues() override;
  SumsInStream* sums_in_stream() override { return this; }
  void SetTrace(RunTrace* trace) override;
  Totals totals() const override { return totals_; }
  // Returns the number of buckets.
  size_t buckets() const { return buckets_.size(); }

 private:
  bool divides() const { return !buckets_.shares().empty(); }
  void AllReduce(void* data, int64_t count, DType dtype) override;
  void Begin(bool fresh) override;
  void Announce();
  void Ask(ExchangeJob job);
  void Send(size_t bucket);
  void AskToGather(size_t bucket);
  double AwaitGather();
  double AverageStatistics();
  void CountTimes(double waited, double busy);

  ParamStore* const params_;
  Communicator* const bulk_;
  PassGate* const gate_;  // null if nothing is held back
  const GradientBuckets buckets_;
  std::vector<size_t> missing_;  // per bucket: number of gradients that are not ready yet
  Totals totals_;
  RunTrace* trace_ = nullptr;
  int64_t pass_ = 0;  // number of the pass last announced to the gate
  bool fresh_ = false, announced_ = false;
  ExchangeThread thread_;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_REDUCE_REDUCER_H_
