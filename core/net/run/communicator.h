// The interfaces through which ranks that train together communicate. Kernels, solvers and the
// reducer use them; parallel/ implements them with threads, MPI, peer copies and NCCL.
#ifndef DOPPIO_CORE_NET_RUN_COMMUNICATOR_H_
#define DOPPIO_CORE_NET_RUN_COMMUNICATOR_H_

#include <cstdint>
#include <memory>
#include <string>

#include "core/net/run/gradient_sink.h"
#include "core/tensor/dtype.h"

namespace doppio {

class ParamStore;
class RunTrace;

// One rank's endpoint. AllReduce, Broadcast and Barrier are collective: every rank makes the same
// calls in the same order, from one thread at a time. Each call returns when the rank's own data is
// complete, and throws PeerError if another rank is lost or has aborted.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Sets data[i] to the sum over the ranks. The sum has the same bits on all ranks, and also in
  // every run if the implementation fixes the order of additions. `data` is in the memory that the
  // communicator works on.
  virtual void AllReduce(void* data, int64_t count, DType dtype) = 0;
  // Copies root's data to all ranks.
  virtual void Broadcast(void* data, int64_t bytes, int root) = 0;
  // Blocks until all ranks have called Barrier.
  virtual void Barrier() = 0;

  // For a device that computes asynchronously: enqueues an AllReduce and may return before the sums
  // are ready. The sums are ready before any work that the device gets after the next
  // ComputeAfterExchange(). This call, ExchangesComplete() or the next collective call throws if
  // the exchange fails. On other devices, equals AllReduce.
  virtual void StartAllReduce(void* data, int64_t count, DType dtype) {
    AllReduce(data, count, dtype);
  }
  // Returns true if all started exchanges are complete. Throws, and stops the exchange on the
  // device, if it has failed. The caller of StartAllReduce must therefore call ExchangesComplete
  // until it returns true.
  virtual bool ExchangesComplete() { return true; }
  // Makes all later work of the device wait for the sums that have been started. Called by the
  // computing thread after StartAllReduce has returned; may run concurrently with ExchangesComplete
  // on the exchanging thread.
  virtual void ComputeAfterExchange() {}
  // Returns true if the device itself waits, within the work that StartAllReduce enqueues, until
  // all ranks have started theirs.
  virtual bool WaitsOnDevice() const { return false; }

  // Sets the bucket of gradients that the next calls exchange; -1 means none. Messages about lost
  // ranks name the bucket.
  virtual void SetBucket(int64_t /*bucket*/) {}
  // Called by the computing thread if the device computes asynchronously: the exchange of this
  // bucket waits for all work that the device has got so far. Does nothing on the host.
  virtual void ExchangeAfterCompute(int64_t /*bucket*/) {}

  // Reports that this rank cannot continue. All current and future calls of the other ranks throw
  // PeerError with `why`. Thread-safe.
  virtual void Abort(const std::string& why) = 0;
};

// Sums over the ranks that a device needs during a pass.
class SumsInStream {
 public:
  virtual ~SumsInStream() = default;
  // Sets data[i], in memory of the rank's device, to the sum over the ranks. Collective. Must be
  // called by the computing thread, and in the same order relative to GradientSink::Ready on all
  // ranks. The sum runs after the work that the device has got so far and before all later work;
  // the host does not wait if the device's link allows that. A failure is thrown by this call or a
  // later one, at the latest by GradientExchange::Finish.
  virtual void AllReduce(void* data, int64_t count, DType dtype) = 0;
  // Called by the computing thread before it runs a net forward or backward. `fresh` means that in
  // this pass the device records work or runs some work for the first time, so no device of the
  // process should wait inside an exchange meanwhile. `fresh` may differ between ranks.
  virtual void Begin(bool /*fresh*/) {}
};

// Sums gradients over the ranks, bucket by bucket, while backward computes the remaining gradients.
class GradientExchange : public GradientSink {
 public:
  // Called after backward. Blocks until all gradients are sums over the ranks, and averages the
  // statistics that layers update themselves. If `next` is not null, passes each parameter to
  // `next` as soon as its sum is ready.
  virtual void Finish(GradientSink* next) = 0;

  // Returns the sums for use during a pass, or null if there are none. The result lives as long as
  // the exchange.
  virtual SumsInStream* sums_in_stream() { return nullptr; }

  // Records each reduction and the time that Finish waits, while the trace is on. `trace` must
  // outlive the exchange.
  virtual void SetTrace(RunTrace* /*trace*/) {}

  // Totals over all calls of Finish.
  struct Totals {
    int64_t bytes = 0;           // bytes reduced
    double busy_seconds = 0;     // time spent in reductions
    double exposed_seconds = 0;  // time that Finish waited for reductions
  };
  virtual Totals totals() const = 0;
};

// All ranks of a run, as one of them sees them.
class World {
 public:
  virtual ~World() = default;
  int rank() const { return control().rank(); }
  int size() const { return control().size(); }
  // For small amounts of data in host memory, used by the training thread. Independent of `bulk`,
  // so it works while gradients are exchanged.
  virtual Communicator& control() const = 0;
  // For data in the memory of the rank's device.
  virtual Communicator& bulk() const = 0;
  // Returns a new exchange for the gradients of `params`, which must outlive the exchange.
  virtual std::unique_ptr<GradientExchange> MakeExchange(ParamStore* params) const = 0;
  // Reports that this rank cannot continue. All current and future collective calls of the other
  // ranks throw PeerError with `why`. Thread-safe.
  virtual void Abort(const std::string& why) const {
    control().Abort(why);
    bulk().Abort(why);
  }
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_RUN_COMMUNICATOR_H_
