// The interfaces through which ranks that train together communicate. Kernels, solvers and the
// reducer use them; parallel/ implements them with threads, MPI, peer copies and NCCL.
#ifndef DOPPIO_CORE_NET_CONTRACT_COMMUNICATOR_H_
#define DOPPIO_CORE_NET_CONTRACT_COMMUNICATOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/net/contract/gradient_sink.h"
#include "core/tensor/dtype.h"

namespace doppio {

class ParamStore;
class RunTrace;

// One rank's endpoint. AllReduce, ReduceScatter, AllGather, Broadcast and Barrier are collective:
// every rank makes the same calls in the same order, from one thread at a time. Each call returns
// when the rank's own data is complete, and throws PeerError if another rank is lost or has
// aborted.
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

  // The two halves of an AllReduce of cuts.back() elements. `cuts` is the same on all ranks and has
  // size() + 1 ascending offsets, the first of which is 0. The share of rank r is the elements
  // [cuts[r], cuts[r + 1]), and may be empty.
  //
  // Sets the elements of this rank's share to their sums over the ranks. All other elements are
  // undefined afterwards, but an element that is 0 on all ranks stays 0.
  virtual void ReduceScatter(void* data, const std::vector<int64_t>& cuts, DType dtype) {
    AllReduce(data, cuts.back(), dtype);
  }
  // Copies the share of each rank to all ranks.
  virtual void AllGather(void* data, const std::vector<int64_t>& cuts, DType dtype) {
    const int64_t bytes = ElementBytes(dtype);
    for (int r = 0; r < size(); ++r)
      Broadcast(static_cast<char*>(data) + cuts[r] * bytes, (cuts[r + 1] - cuts[r]) * bytes, r);
  }

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
  // all ranks have started the same exchange.
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

// Elements [begin, end) of the arenas of parameters (ParamStore).
struct ArenaRange {
  int64_t begin = 0, end = 0;
};
// A division of the update among ranks: for each rank, the sorted ranges that it updates. They are
// disjoint and cover every parameter with a gradient.
using UpdateShares = std::vector<std::vector<ArenaRange>>;

// How an exchange divides the update among the ranks (ZeRO stage 1: Rajbhandari et al., "ZeRO:
// Memory Optimizations Toward Training Trillion Parameter Models", 2020).
struct Sharding {
  bool on = false;  // false: every rank updates all parameters
  // Within a parameter, shares meet at multiples of this many elements of the arenas. It must be a
  // multiple of 64.
  int64_t unit = 64;
};

// Sums gradients over the ranks, bucket by bucket, while backward computes the remaining gradients.
//
// If the ranks divide the update, each rank gets the sums of its own share only; its other
// gradients are then undefined. The new values of all shares are copied to all ranks.
class GradientExchange : public GradientSink {
 public:
  // Called after backward. Blocks until all gradients are sums over the ranks, and averages the
  // statistics that layers update themselves. If `next` is not null, passes each parameter to
  // `next` as soon as its sum is ready; if the ranks divide the update, Ready must update this
  // rank's share of the parameter, and Finish also copies the new values.
  virtual void Finish(GradientSink* next) = 0;

  // Returns the division of the update, or null if every rank updates all parameters. The result
  // lives as long as the exchange.
  virtual const UpdateShares* shares() const { return nullptr; }
  // Copies the values of each rank's share to all ranks. Call it after an update that Finish did
  // not make, if the ranks divide the update. Collective.
  virtual void GatherValues() {}

  // Returns the sums for use during a pass, or null if there are none. The result lives as long as
  // the exchange.
  virtual SumsInStream* sums_in_stream() { return nullptr; }

  // Records each reduction and the time that Finish waits, while the trace is on. `trace` must
  // outlive the exchange.
  virtual void SetTrace(RunTrace* /*trace*/) {}

  // Totals over all calls of Finish.
  struct Totals {
    int64_t bytes = 0;           // bytes of gradients reduced
    int64_t gathered_bytes = 0;  // bytes of values gathered, if the ranks divide the update
    double busy_seconds = 0;     // time spent in these exchanges
    double exposed_seconds = 0;  // time that Finish and GatherValues waited for them
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
  // Collective; all ranks must pass the same `sharding`.
  virtual std::unique_ptr<GradientExchange> MakeExchange(ParamStore* params,
                                                         const Sharding& sharding) const = 0;
  // Reports that this rank cannot continue. All current and future collective calls of the other
  // ranks throw PeerError with `why`. Thread-safe.
  virtual void Abort(const std::string& why) const {
    control().Abort(why);
    bulk().Abort(why);
  }
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_CONTRACT_COMMUNICATOR_H_
