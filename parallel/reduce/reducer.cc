#include "parallel/reduce/reducer.h"

#include <algorithm>
#include <chrono>

#include "core/base/clock.h"
#include "core/math/tensor_ops.h"

namespace doppio {
namespace {

ParamStore* WithSeparateGradients(ParamStore* params) {
  DOPPIO_CHECK(!params->arenas().gradients_share_memory(),
               "a gradient would be overwritten before it is summed");
  return params;
}

}  // namespace

Reducer::Reducer(ParamStore* params, Communicator* bulk, const ReducerOptions& options,
                 PassGate* gate)
    : params_(WithSeparateGradients(params)),
      bulk_(bulk),
      gate_(bulk->WaitsOnDevice() ? gate : nullptr),
      buckets_(params, *bulk, options),
      thread_(bulk, buckets_, gate_, 2 * params->params().size() + 2) {
  for (const GradientBucket& bucket : buckets_.all()) missing_.push_back(bucket.params.size());
}

void Reducer::SetTrace(RunTrace* trace) {
  trace_ = trace;
  thread_.SetTrace(trace);
}

void Reducer::Ready(int param) {
  const size_t bucket = buckets_.Of(param);
  if (--missing_[bucket] == 0) Send(bucket);
}

bool Reducer::BeginsAt(int param) const {
  return buckets_[buckets_.Of(param)].params.back() == param;
}

void Reducer::Send(size_t bucket) {
  buckets_.Narrow(bucket);
  ExchangeJob job;
  job.bucket = bucket;
  if (Traced(trace_)) job.mark = trace_->Mark();
  bulk_->ExchangeAfterCompute(static_cast<int64_t>(bucket));
  Ask(job);
}

void Reducer::AllReduce(void* data, int64_t count, DType dtype) {
  bulk_->ExchangeAfterCompute(-1);
  ExchangeJob job;
  job.kind = ExchangeJob::kSum;
  job.data = data;
  job.count = count;
  job.dtype = dtype;
  Ask(job);
  thread_.AwaitStart();
  bulk_->ComputeAfterExchange();
}

// Net calls this twice before the first sum if it restarts a forward for other shapes. Sums of the
// previous pass may still be in flight; later sums wait for this rank's announcement.
void Reducer::Begin(bool fresh) {
  if (gate_ != nullptr && fresh) thread_.AwaitAll();
  fresh_ = fresh;
  announced_ = false;
}

// Announces the pass once, before its first job, at a point that all ranks reach.
void Reducer::Announce() {
  if (gate_ == nullptr || announced_) return;
  announced_ = true;
  gate_->Announce(bulk_->rank(), ++pass_, fresh_);
}

void Reducer::Ask(ExchangeJob job) {
  Announce();
  job.pass = pass_;
  thread_.Ask(job);
}

void Reducer::Finish(GradientSink* next) {
  for (const size_t missing : missing_)
    DOPPIO_CHECK(missing == 0, "backward has finished every gradient");
  if (gate_ != nullptr) {
    ExchangeJob job;
    job.kind = ExchangeJob::kRelease;
    Ask(job);
  }
  double exposed = 0;
  for (size_t b = 0; b < buckets_.size(); ++b) {
    const auto begun = std::chrono::steady_clock::now();
    Trace(
        trace_, TraceOf::kWait, RunTrace::kExposed, "wait for bucket",
        [&] { thread_.progress().AwaitBucket(b); }, static_cast<int64_t>(b));
    exposed += SecondsSince(begun);
    buckets_.Widen(b);
    if (next == nullptr) continue;
    for (int param : buckets_[b].params) next->Ready(param);
    if (divides()) AskToGather(b);
  }
  if (next != nullptr && divides()) {
    exposed += AwaitGather();
  } else {
    thread_.AwaitAll();  // there may be no bucket
  }
  const double statistics = AverageStatistics();
  CountTimes(exposed + statistics, statistics);
  thread_.progress().NextPass();
  announced_ = false;
  for (size_t b = 0; b < buckets_.size(); ++b) {
    totals_.bytes += buckets_.sent_bytes(b);
    missing_[b] = buckets_[b].params.size();
  }
}

void Reducer::GatherValues() {
  DOPPIO_CHECK(divides() || buckets_.size() == 0, "every rank has updated all parameters");
  for (size_t b = 0; b < buckets_.size(); ++b) AskToGather(b);
  CountTimes(AwaitGather(), 0);
}

void Reducer::AskToGather(size_t bucket) {
  ExchangeJob job;
  job.kind = ExchangeJob::kGather;
  job.bucket = bucket;
  Ask(job);
}

// Blocks until the values of all buckets are copied, and returns the seconds of this wait.
double Reducer::AwaitGather() {
  const auto begun = std::chrono::steady_clock::now();
  Trace(trace_, TraceOf::kWait, RunTrace::kExposed, "wait for weights",
        [&] { thread_.AwaitAll(); });
  for (size_t b = 0; b < buckets_.size(); ++b) totals_.gathered_bytes += buckets_.value_bytes(b);
  return SecondsSince(begun);
}

// Adds to the totals: the seconds of a wait, and those of exchanges that the thread has not made. A
// wait begins before the exchanging thread starts the exchange and ends after it has noticed its
// end. That is not time of the exchange.
void Reducer::CountTimes(double waited, double busy) {
  const double all = thread_.progress().AddBusy(busy);
  totals_.exposed_seconds += std::min(waited, all - totals_.busy_seconds);
  totals_.busy_seconds = all;
}

// Averages the statistics over the ranks, and returns the seconds that it took. For means, the
// result is the one of a single big batch; for variances, it is the mean of the variances inside
// the ranks.
double Reducer::AverageStatistics() {
  const auto begun = std::chrono::steady_clock::now();
  Trace(trace_, TraceOf::kWait, RunTrace::kExposed, "wait for statistics", [&] {
    const Tensor statistics = params_->arenas().statistics();
    if (statistics.count() == 0) return;
    // Other ranks of a pass that is held back may still be in their first update, or load code for
    // it.
    if (thread_.progress().holds()) gate_->Arrive(bulk_->rank());
    bulk_->SetBucket(-1);
    bulk_->ExchangeAfterCompute(-1);
    Trace(trace_, TraceOf::kWait, RunTrace::kExchanges, "statistics",
          [&] { bulk_->AllReduce(statistics.raw, statistics.stored(), statistics.dtype); });
    OpsOf(params_->device()).Scale(1.0 / bulk_->size(), statistics);
  });
  return SecondsSince(begun);
}

}  // namespace doppio
