#include "parallel/reduce/reducer.h"

#include <algorithm>
#include <utility>

#include "core/base/clock.h"
#include "core/base/threads.h"
#include "core/math/tensor_ops.h"
#include "parallel/reduce/buckets.h"
#include "parallel/reduce/shares.h"

namespace doppio {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

Reducer::Reducer(ParamStore* params, Communicator* bulk, const ReducerOptions& options,
                 PassGate* gate)
    : params_(params),
      bulk_(bulk),
      options_(options),
      gate_(bulk->WaitsOnDevice() ? gate : nullptr),
      queue_(2 * params->params().size() + 2) {
  DOPPIO_CHECK(!params->gradients_share_memory(),
               "a gradient would be overwritten before it is summed");
  if (Is16Bit(options.type) && params->grads().count() > 0)
    copy_.emplace(params, options.type, bulk->size());
  MakeBuckets(options.bucket_bytes);
  thread_ = std::thread([this] { Reduce(); });
}

Reducer::~Reducer() {
  queue_.Close();
  thread_.join();
}

void Reducer::MakeBuckets(int64_t bucket_bytes) {
  std::vector<int> order;
  for (size_t i = 0; i < params_->params().size(); ++i) {
    if (params_->param(static_cast<int>(i)).gradient) order.push_back(static_cast<int>(i));
  }
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return params_->param(a).grad_offset < params_->param(b).grad_offset;
  });
  bucket_of_.resize(params_->params().size());
  const int64_t element = ElementBytes(params_->dtype());
  std::vector<GradientSlice> slices;
  for (int i : order) {
    const Param& param = params_->param(i);
    slices.push_back(
        {param.grad_offset * element, (param.grad_offset + param.grad.stored()) * element});
  }
  size_t first = 0;
  for (const size_t end : CutBuckets(slices, bucket_bytes)) {
    Bucket bucket;
    bucket.begin = slices[first].begin / element;
    bucket.end = slices[end - 1].end / element;
    for (; first < end; ++first) {
      bucket.params.push_back(order[first]);
      bucket_of_[order[first]] = buckets_.size();
    }
    bucket.missing = bucket.params.size();
    if (options_.sharding.on) Divide(&bucket);
    const ArenaRange all{bucket.begin, bucket.end};
    if (copy_) copy_->AddBucket(all, bucket.cuts.empty() ? all : shares_[bulk_->rank()].back());
    buckets_.push_back(std::move(bucket));
  }
}

// Divides a bucket among the ranks.
void Reducer::Divide(Bucket* bucket) {
  DOPPIO_CHECK(!bulk_->WaitsOnDevice(), "only ranks on the host divide the update");
  std::vector<int64_t> starts;
  for (int i : bucket->params) starts.push_back(params_->param(i).grad_offset);
  bucket->cuts =
      ShareCuts(bucket->begin, bucket->end, starts, bulk_->size(), options_.sharding.unit);
  shares_.resize(bulk_->size());
  for (int r = 0; r < bulk_->size(); ++r)
    shares_[r].push_back({bucket->begin + bucket->cuts[r], bucket->begin + bucket->cuts[r + 1]});
}

void Reducer::Ready(int param) {
  const size_t bucket = bucket_of_[param];
  if (--buckets_[bucket].missing == 0) Send(bucket);
}

bool Reducer::BeginsAt(int param) const {
  return buckets_[bucket_of_[param]].params.back() == param;
}

void Reducer::Send(size_t bucket) {
  buckets_[bucket].sent = true;
  if (copy_) copy_->Narrow(bucket);
  if (Traced(trace_)) buckets_[bucket].mark = trace_->Mark();
  bulk_->ExchangeAfterCompute(static_cast<int64_t>(bucket));
  Ask({Job::kBucket, bucket});
}

// Blocks until `done()`, which is called under mutex_. Throws the failure of the thread, if any.
template <class F>
void Reducer::Await(const F& done) {
  std::unique_lock<std::mutex> lock(mutex_);
  done_changed_.wait(lock, [&] { return done() || failure_; });
  if (failure_) std::rethrow_exception(failure_);
}

void Reducer::AllReduce(void* data, int64_t count, DType dtype) {
  bulk_->ExchangeAfterCompute(-1);
  Ask({Job::kSum, 0, data, count, dtype});
  Await([&] { return (holds_ ? settled_ : started_) == asked_; });
  bulk_->ComputeAfterExchange();
}

// Net calls this twice before the first sum if it restarts a forward for other shapes. Sums of the
// previous pass may still be in flight; later sums wait for this rank's announcement.
void Reducer::Begin(bool fresh) {
  if (gate_ != nullptr && fresh) Await([&] { return settled_ == asked_; });
  fresh_ = fresh;
  announced_ = false;
}

// Announces the pass once, before its first job, at a point that all ranks reach.
void Reducer::Announce() {
  if (gate_ == nullptr || announced_) return;
  announced_ = true;
  gate_->Announce(bulk_->rank(), ++pass_, fresh_);
}

void Reducer::Ask(Job job) {
  Announce();
  job.pass = pass_;
  ++asked_;
  queue_.Push(job);
}

void Reducer::Reduce() {
  UseAllCores();
  Job job;
  while (NextJob(&job)) {
    std::exception_ptr failure;
    try {
      Learn(job.pass);
      Start(job);
    } catch (...) {
      failure = std::current_exception();
    }
    {
      std::lock_guard<std::mutex> lock(mutex_);
      ++started_;
      if (failure && !failure_) failure_ = failure;
      done_changed_.notify_all();
    }
    Settle();
  }
}

// Returns false once the queue is closed. Polls started exchanges until the next job arrives,
// because the device would wait for ever for an exchange in which a lost rank does not take part.
bool Reducer::NextJob(Job* job) {
  constexpr int kOften = 100;
  for (int asked = 0; settled_ < started_ && !queue_.Ready() && !Settle(); ++asked) {
    if (asked < kOften) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }
  return queue_.Pop(job);
}

// At the first job of a pass, blocks until all ranks have announced the pass.
void Reducer::Learn(int64_t pass) {
  if (pass == known_pass_) return;
  const bool holds = gate_->AnyFresh(pass);
  known_pass_ = pass;
  std::lock_guard<std::mutex> lock(mutex_);
  holds_ = holds;
}

void Reducer::Start(const Job& job) {
  switch (job.kind) {
    case Job::kBucket:
      if (holds_) {
        held_.push_back(job.bucket);
      } else {
        StartBucket(job.bucket);
      }
      return;
    case Job::kSum:
      if (holds_) gate_->Arrive(bulk_->rank());
      bulk_->SetBucket(-1);
      bulk_->StartAllReduce(job.data, job.count, job.dtype);
      return;
    case Job::kRelease:
      if (!holds_) return;
      gate_->Arrive(bulk_->rank());
      for (size_t bucket : std::exchange(held_, {})) StartBucket(bucket);
      return;
    case Job::kGather:
      GatherBucket(job.bucket);
      return;
  }
}

// Counts an exchange of a bucket as under way.
void Reducer::StartedNow(size_t bucket, bool gather) {
  if (under_way_.empty()) busy_since_ = Clock::now();
  under_way_.push_back({bucket, MonotonicNs(), gather});
  bulk_->SetBucket(static_cast<int64_t>(bucket));
}

void Reducer::StartBucket(size_t bucket) {
  StartedNow(bucket, false);
  const Bucket& one = buckets_[bucket];
  const Tensor grads = params_->grads();
  void* at = copy_ ? copy_->at(bucket)
                   : static_cast<char*>(grads.raw) + one.begin * ElementBytes(grads.dtype);
  if (!one.cuts.empty()) return bulk_->ReduceScatter(at, one.cuts, sent_as());
  bulk_->StartAllReduce(at, one.end - one.begin, sent_as());
}

void Reducer::GatherBucket(size_t bucket) {
  StartedNow(bucket, true);
  const Bucket& one = buckets_[bucket];
  const Tensor values = params_->values();
  bulk_->AllGather(static_cast<char*>(values.raw) + one.begin * ElementBytes(values.dtype),
                   one.cuts, values.dtype);
}

// Returns true if all started exchanges are complete or have failed. Then counts their buckets as
// done, and leaves the communicator to the computing thread until the next job.
bool Reducer::Settle() {
  std::exception_ptr failure;
  try {
    if (!bulk_->ExchangesComplete()) return false;
  } catch (...) {
    failure = std::current_exception();
  }
  size_t reduced = 0;
  for (const UnderWay& one : under_way_) {
    if (Traced(trace_)) ShowExchange(one);
    if (!one.gather) ++reduced;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  if (!under_way_.empty()) busy_seconds_ += SecondsSince(busy_since_);
  done_ += reduced;
  under_way_.clear();
  settled_ = started_;
  if (failure && !failure_) failure_ = failure;
  done_changed_.notify_all();
  return true;
}

void Reducer::ShowExchange(const UnderWay& done) {
  const Bucket& bucket = buckets_[done.bucket];
  TimelineSpan span;
  span.name = (done.gather ? "weights of bucket " : "bucket ") + std::to_string(done.bucket) +
              ": " + params_->param(bucket.params[0]).layer;
  span.category = RunTrace::kExchanges;
  span.track = RunTrace::kExchange;
  span.begin = done.begun_ns;
  span.end = MonotonicNs();
  const DType type = done.gather ? params_->dtype() : sent_as();
  span.numbers = {{"bucket", static_cast<int64_t>(done.bucket)},
                  {"bytes", (bucket.end - bucket.begin) * ElementBytes(type)}};
  trace_->Add(std::move(span), bucket.mark);
}

// In a pass that is held back, meets the other ranks before the exchange of statistics: they may
// still be in their first update, or load code for it.
void Reducer::ArriveForStatistics() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!holds_) return;
  }
  gate_->Arrive(bulk_->rank());
}

void Reducer::Finish(GradientSink* next) {
  for (const Bucket& bucket : buckets_)
    DOPPIO_CHECK(bucket.sent, "backward has finished every gradient");
  if (gate_ != nullptr) Ask({Job::kRelease});
  double exposed = 0;
  for (size_t b = 0; b < buckets_.size(); ++b) {
    const Clock::time_point begun = Clock::now();
    Trace(
        trace_, TraceOf::kWait, RunTrace::kExposed, "wait for bucket",
        [&] { Await([&] { return done_ > b; }); }, static_cast<int64_t>(b));
    exposed += SecondsSince(begun);
    if (copy_) copy_->Widen(b);
    if (next == nullptr) continue;
    for (int param : buckets_[b].params) next->Ready(param);
    if (!shares_.empty()) Ask({Job::kGather, b});
  }
  exposed += AwaitAll(next != nullptr && !shares_.empty());
  const Clock::time_point begun = Clock::now();
  Trace(trace_, TraceOf::kWait, RunTrace::kExposed, "wait for statistics",
        [&] { AverageStatistics(); });
  const double statistics = SecondsSince(begun);

  std::lock_guard<std::mutex> lock(mutex_);
  busy_seconds_ += statistics;
  CountTimes(exposed + statistics);
  done_ = 0;
  announced_ = false;
  for (Bucket& bucket : buckets_) {
    totals_.bytes += (bucket.end - bucket.begin) * ElementBytes(sent_as());
    bucket.missing = bucket.params.size();
    bucket.sent = false;
  }
}

void Reducer::GatherValues() {
  DOPPIO_CHECK(options_.sharding.on, "every rank has updated all parameters");
  for (size_t b = 0; b < buckets_.size(); ++b) Ask({Job::kGather, b});
  const double exposed = AwaitAll(true);
  std::lock_guard<std::mutex> lock(mutex_);
  CountTimes(exposed);
}

// Blocks until all jobs are complete, and returns the seconds of this wait. Waiting for the last
// bucket is not enough, because there may be none. `gathers` is true if the last jobs copy values.
double Reducer::AwaitAll(bool gathers) {
  const auto wait = [&] { Await([&] { return settled_ == asked_; }); };
  if (!gathers) {
    wait();
    return 0;
  }
  const Clock::time_point begun = Clock::now();
  Trace(trace_, TraceOf::kWait, RunTrace::kExposed, "wait for weights", wait);
  for (const Bucket& bucket : buckets_)
    totals_.gathered_bytes += (bucket.end - bucket.begin) * ElementBytes(params_->dtype());
  return SecondsSince(begun);
}

// Adds the times since the last call to the totals, under mutex_. A wait begins before the
// exchanging thread starts the exchange and ends after it has noticed its end. That is not time of
// the exchange.
void Reducer::CountTimes(double waited) {
  totals_.exposed_seconds += std::min(waited, busy_seconds_ - totals_.busy_seconds);
  totals_.busy_seconds = busy_seconds_;
}

// Averages the statistics over the ranks. For means, the result is the one of a single big batch;
// for variances, it is the mean of the variances inside the ranks.
void Reducer::AverageStatistics() {
  const Tensor statistics = params_->statistics();
  if (statistics.count() == 0) return;
  ArriveForStatistics();
  bulk_->SetBucket(-1);
  bulk_->ExchangeAfterCompute(-1);
  Trace(trace_, TraceOf::kWait, RunTrace::kExchanges, "statistics",
        [&] { bulk_->AllReduce(statistics.raw, statistics.stored(), statistics.dtype); });
  OpsOf(params_->device()).Scale(1.0 / bulk_->size(), statistics);
}

}  // namespace doppio
