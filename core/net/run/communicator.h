// How ranks that train together talk to each other. Kernels, solvers and the reducer see these
// interfaces; what carries the data (threads, MPI, peer copies, NCCL) is in parallel/.
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

// One rank's end. AllReduce, Broadcast and Barrier are collective: every rank makes the same calls
// in the same order, from one thread at a time, and each returns when the rank's own data is
// complete. Where another rank is lost or has aborted they throw PeerError.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // data[i] becomes the sum over the ranks, the same bits on all of them, and in every run where
  // the order of additions is fixed (see the implementation). `data` lies in the memory that the
  // communicator works on.
  virtual void AllReduce(void* data, int64_t count, DType dtype) = 0;
  // Everybody gets what `root` has.
  virtual void Broadcast(void* data, int64_t bytes, int root) = 0;
  virtual void Barrier() = 0;

  // Where the device computes on its own time: asks it for an AllReduce and may return before the
  // sums are there. They come before what the device is asked to compute after the next Lead(). A
  // failure is thrown by this call, Settled() or the next collective call. Elsewhere: AllReduce.
  virtual void StartAllReduce(void* data, int64_t count, DType dtype) {
    AllReduce(data, count, dtype);
  }
  // Whether all that was started is done. Throws, and ends the exchange on the device, where it
  // failed; so whoever has started something asks until it is done.
  virtual bool Settled() { return true; }
  // By the thread that computes, after StartAllReduce has returned, perhaps beside Settled on the
  // thread that exchanges.
  virtual void Lead() {}
  // Whether the device itself waits, inside what StartAllReduce has asked for, until all ranks have
  // started theirs.
  virtual bool WaitsOnDevice() const { return false; }

  // The bucket of gradients that the next calls are for; -1: none. Messages about lost ranks name
  // it.
  virtual void NoteBucket(int64_t /*bucket*/) {}
  // By the thread that computes, where the device computes on its own time: from now on what is
  // exchanged for this bucket comes after everything that the device has been asked so far. On the
  // host nothing is to be done.
  virtual void Follow(int64_t /*bucket*/) {}

  // From any thread: this rank cannot go on. Every call of the others, now and later, throws
  // PeerError with `why`.
  virtual void Abort(const std::string& why) = 0;
};

// Sums over the ranks that a device needs while it computes.
class SumsInStream {
 public:
  virtual ~SumsInStream() = default;
  // data[i], in memory of the rank's device, becomes the sum over the ranks. By the thread that
  // computes, and collective, in one order with its calls of GradientSink::Ready. The sum comes
  // after what the device has been asked so far and before what it is asked from now on; the host
  // does not wait for it where the device's link allows that. A failure is thrown by this call or a
  // later one, or by GradientExchange::Finish at the latest.
  virtual void AllReduce(void* data, int64_t count, DType dtype) = 0;
  // By the thread that computes, before it runs a net forward or backward. `fresh`: in this pass
  // the device records work or comes to some of it for the first time, so that no device of the
  // process should wait inside of an exchange meanwhile. Ranks may differ.
  virtual void Begin(bool /*fresh*/) {}
};

// Sums gradients over the ranks, bucket by bucket, while backward computes the rest of them.
class GradientExchange : public GradientSink {
 public:
  // After backward: returns when all gradients are sums over the ranks, and averages what layers
  // keep themselves (statistics). `next`, where given, is handed each parameter as soon as its sum
  // is there.
  virtual void Finish(GradientSink* next) = 0;

  // Lives as long as the exchange; null: there is none.
  virtual SumsInStream* sums_in_stream() { return nullptr; }

  // Shows, while the trace is on, each reduction and what Finish waits for. `trace` outlives the
  // exchange.
  virtual void SetTrace(RunTrace* /*trace*/) {}

  // Of all Finish so far.
  struct Totals {
    int64_t bytes = 0;           // reduced
    double busy_seconds = 0;     // in reductions
    double exposed_seconds = 0;  // that Finish waited for them
  };
  virtual Totals totals() const = 0;
};

// All ranks of a run, seen from one of them.
class World {
 public:
  virtual ~World() = default;
  int rank() const { return control().rank(); }
  int size() const { return control().size(); }
  // Few numbers in host memory, for the thread that trains: independent of gradients on their way.
  virtual Communicator& control() const = 0;
  // Of memory of the rank's device.
  virtual Communicator& bulk() const = 0;
  virtual std::unique_ptr<GradientExchange> MakeExchange(ParamStore* params) const = 0;
  // From any thread: this rank cannot go on. Whatever the other ranks do together with it, now and
  // later, throws PeerError with `why`.
  virtual void Abort(const std::string& why) const {
    control().Abort(why);
    bulk().Abort(why);
  }
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_RUN_COMMUNICATOR_H_
