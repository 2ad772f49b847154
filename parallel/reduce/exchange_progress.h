// How far a thread is that exchanges gradients, for the thread that computes them.
#ifndef DOPPIO_PARALLEL_REDUCE_EXCHANGE_PROGRESS_H_
#define DOPPIO_PARALLEL_REDUCE_EXCHANGE_PROGRESS_H_

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>

namespace doppio {

// Counts jobs, which are done in the order in which they were asked for. Thread-safe.
class ExchangeProgress {
 public:
  // Called by the exchanging thread. A failure is kept; only the first one counts.
  //
  // One more job has started. Held-back jobs count as started.
  void Started(std::exception_ptr failure);
  // All started jobs are complete, among them `reduced` buckets, after `seconds` of exchanges.
  void Settled(size_t reduced, double seconds, std::exception_ptr failure);
  // Sets whether the pass is fresh for some rank, so that jobs are held back.
  void Hold(bool holds);
  bool AllSettled() const;

  bool holds() const;

  // Called by the computing thread. Block until job `asked`, counted from 1, has started, or, in a
  // pass that is held back, is complete; until all jobs to `asked` are complete; until more than
  // `bucket` buckets of this pass are reduced. They throw the failure, if there is one.
  void AwaitStart(int64_t asked);
  void AwaitAll(int64_t asked);
  void AwaitBucket(size_t bucket);
  // Begins to count the buckets of the next pass.
  void NextPass();
  // Adds to the seconds of exchanges, and returns their sum.
  double AddBusy(double seconds);

 private:
  template <class F>
  void Await(const F& done);

  mutable std::mutex mutex_;  // guards all other members
  std::condition_variable changed_;
  size_t reduced_ = 0;                 // buckets of this pass
  int64_t started_ = 0, settled_ = 0;  // jobs
  bool holds_ = false;
  double busy_seconds_ = 0;
  std::exception_ptr failure_;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_REDUCE_EXCHANGE_PROGRESS_H_
