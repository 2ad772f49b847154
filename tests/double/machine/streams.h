// The streams of the machine. CUDA's runtime, the libraries and kernels put work on them. The C
// functions of CUDA's runtime (runtime_*.cc) build on this interface. Thread-safe. The process runs
// one piece of work at a time, on whichever host thread waits.
#ifndef DOPPIO_TESTS_DOUBLE_MACHINE_STREAMS_H_
#define DOPPIO_TESTS_DOUBLE_MACHINE_STREAMS_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/double/machine/counters.h"
#include "tests/double/machine/races.h"

namespace doppio::gpu_double {

// The members of one collective in this process. No member runs before all of them are at the heads
// of their streams. Work after any member is ordered after the work before every member. A graph
// that contains members may be replayed: each replay is a new generation of the meeting.
struct Meeting {
  explicit Meeting(int members) : members(members) {}
  const int members;
  // The fields below belong to the machine and are guarded by its mutex.
  int arrived = 0;         // members of the next generation that are at the heads of their streams
  int64_t generation = 0;  // number of completed meetings
  bool lost = false;       // a member's device was lost, so there are no further generations
  bool abandoned = false;
  Clock gathering;  // clock of the members that have arrived
  Clock clock;      // clock of the latest generation
};

// A piece of work for a stream.
struct Work {
  std::string what;  // e.g. "cudnnConvolutionForward"
  // Memory that `run` accesses; only device and pinned memory matter. Checked for bounds when the
  // work is enqueued and when it runs, and checked for races.
  std::vector<Access> accesses;
  // Does the work, with device memory open. It must own copies of everything that it uses, because
  // it may run late and, in a graph, several times. Returns accesses found while running (kernels),
  // which are checked for races too.
  std::function<std::vector<Access>()> run;
  std::shared_ptr<Meeting> meeting;  // null: runs as soon as it is at the head of its stream
  // If set, called while the work is at the head of its stream. Returns false if the work cannot
  // run yet (it waits for other processes).
  std::function<bool()> ready;
  int64_t Counters::*counter =
      &Counters::library_calls;  // incremented when the work runs; null: none
  // True if `accesses` may be on devices without peer access: staged copies and NCCL.
  bool any_device = false;
};

// Locking: any function of this header, and any function of the runtime that enqueues or waits, may
// call `run` and `ready`. The caller must not hold a lock that some `run` or `ready` takes. `run`
// and `ready` must not enqueue or wait. While `run` runs, CurrentDevice() is the device of the
// work.

// Puts work on `stream`, or into the graph that captures the stream. Returns
// cudaErrorInvalidResourceHandle unless the stream is on the calling thread's current device, as
// CUDA does for kernels. Also stores errors for cudaGetLastError.
cudaError_t Enqueue(cudaStream_t stream, Work work);

// IsCaptured returns true if the stream is being captured. Libraries call Forbid("cudaMalloc inside
// cudnnFind...") for operations that are not allowed in a capture. Forbid invalidates the captures
// of the calling thread's streams and returns cudaErrorStreamCaptureUnsupported, or cudaSuccess if
// nothing is being captured.
bool IsCaptured(cudaStream_t stream);
cudaError_t Forbid(const std::string& what);

// Returns the device of a stream that cudaStreamCreate* made. Fault("stream") for an unknown
// stream.
int DeviceOf(cudaStream_t stream);
// Returns the calling thread's current device.
int CurrentDevice();

// Blocks until all work of the stream is done, like cudaStreamSynchronize. For library functions
// that block.
cudaError_t WaitFor(cudaStream_t stream);
// Runs one piece of work that can run, chosen at random, if there is one. For threads that wait for
// something other than a stream (NCCL's init).
bool RunSome();
// Drops all unfinished work of this meeting and lets its streams continue (ncclCommAbort).
void Abandon(const std::shared_ptr<Meeting>& meeting);

// Returns true if work of device `from` may access memory of device `to`: it is the same device, or
// cudaDeviceEnablePeerAccess has been called. Takes no lock, so that running work may call this
// function.
bool PeerEnabled(int from, int to);

// Drops all queues, streams, events, graphs and device errors, and rebuilds the machine from
// TheSettings(). For tests. No other thread may use the machine during the call.
void ResetMachine();

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_STREAMS_H_
