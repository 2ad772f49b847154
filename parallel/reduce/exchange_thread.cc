#include "parallel/reduce/exchange_thread.h"

#include <string>
#include <utility>

#include "core/base/clock.h"
#include "core/base/threads.h"

namespace doppio {

ExchangeThread::ExchangeThread(Communicator* bulk, const GradientBuckets& buckets, PassGate* gate,
                               size_t most_jobs)
    : bulk_(bulk), buckets_(buckets), gate_(gate), queue_(most_jobs) {
  thread_ = std::thread([this] { Run(); });
}

ExchangeThread::~ExchangeThread() {
  queue_.Close();
  thread_.join();
}

void ExchangeThread::Ask(const ExchangeJob& job) {
  ++asked_;
  queue_.Push(job);
}

void ExchangeThread::Run() {
  UseAllCores();
  ExchangeJob job;
  while (NextJob(&job)) {
    std::exception_ptr failure;
    try {
      Learn(job.pass);
      Start(job);
    } catch (...) {
      failure = std::current_exception();
    }
    progress_.Started(failure);
    Settle();
  }
}

// Returns false once the queue is closed. Polls started exchanges until the next job arrives,
// because the device would wait for ever for an exchange in which a lost rank does not take part.
bool ExchangeThread::NextJob(ExchangeJob* job) {
  constexpr int kOften = 100;
  for (int asked = 0; !progress_.AllSettled() && !queue_.Ready() && !Settle(); ++asked) {
    if (asked < kOften) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }
  return queue_.Pop(job);
}

// At the first job of a pass, blocks until all ranks have announced the pass.
void ExchangeThread::Learn(int64_t pass) {
  if (pass == known_pass_) return;
  progress_.Hold(gate_->AnyFresh(pass));
  known_pass_ = pass;
}

void ExchangeThread::Start(const ExchangeJob& job) {
  const bool holds = progress_.holds();
  switch (job.kind) {
    case ExchangeJob::kBucket:
      return holds ? held_.push_back(job) : StartBucket(job);
    case ExchangeJob::kSum:
      if (holds) gate_->Arrive(bulk_->rank());
      bulk_->SetBucket(-1);
      return bulk_->StartAllReduce(job.data, job.count, job.dtype);
    case ExchangeJob::kRelease:
      if (!holds) return;
      gate_->Arrive(bulk_->rank());
      for (const ExchangeJob& held : std::exchange(held_, {})) StartBucket(held);
      return;
    case ExchangeJob::kGather:
      return GatherBucket(job);
  }
}

// Counts an exchange of a bucket as under way.
void ExchangeThread::StartedNow(const ExchangeJob& job) {
  if (under_way_.empty()) busy_since_ = std::chrono::steady_clock::now();
  under_way_.push_back({job.bucket, job.mark, MonotonicNs(), job.kind == ExchangeJob::kGather});
  bulk_->SetBucket(static_cast<int64_t>(job.bucket));
}

void ExchangeThread::StartBucket(const ExchangeJob& job) {
  StartedNow(job);
  const GradientBucket& one = buckets_[job.bucket];
  void* const at = buckets_.sent(job.bucket);
  if (!one.cuts.empty()) return bulk_->ReduceScatter(at, one.cuts, buckets_.sent_as());
  bulk_->StartAllReduce(at, one.range.end - one.range.begin, buckets_.sent_as());
}

void ExchangeThread::GatherBucket(const ExchangeJob& job) {
  StartedNow(job);
  bulk_->AllGather(buckets_.values(job.bucket), buckets_[job.bucket].cuts, buckets_.value_type());
}

// Returns true if all started exchanges are complete or have failed. Then counts their buckets as
// reduced, and leaves the communicator to the computing thread until the next job.
bool ExchangeThread::Settle() {
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
  const double seconds = under_way_.empty() ? 0 : SecondsSince(busy_since_);
  under_way_.clear();
  progress_.Settled(reduced, seconds, failure);
  return true;
}

void ExchangeThread::ShowExchange(const UnderWay& done) {
  TimelineSpan span;
  span.name = (done.gather ? "weights of bucket " : "bucket ") + std::to_string(done.bucket) +
              ": " + buckets_[done.bucket].layer;
  span.category = RunTrace::kExchanges;
  span.track = RunTrace::kExchange;
  span.begin = done.begun_ns;
  span.end = MonotonicNs();
  span.numbers = {{"bucket", static_cast<int64_t>(done.bucket)},
                  {"bytes", done.gather ? buckets_.value_bytes(done.bucket)
                                        : buckets_.sent_bytes(done.bucket)}};
  trace_->Add(std::move(span), done.mark);
}

}  // namespace doppio
