// The queues of the machine: what CUDA's runtime, the libraries and kernels put on streams. Behind
// it: runtime.cc, the C functions of CUDA's runtime. Thread-safe; work itself runs one piece at a
// time in the process, on whichever host thread waits.
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

// Members of one collective in this process. No member runs before all of them are at the heads of
// their streams. Work behind any member is ordered after the work in front of every member. A graph
// that holds members may be replayed: each replay is a new generation of the meeting.
struct Meeting {
  explicit Meeting(int members) : members(members) {}
  const int members;
  // The rest is streams.cc's, guarded by its lock.
  int arrived = 0;         // members of the next generation at the heads of their streams
  int64_t generation = 0;  // meetings that came about
  bool lost = false;       // a member's device was lost: no further generation
  bool abandoned = false;
  Clock gathering;  // of the members that arrived
  Clock clock;      // of the latest generation
};

struct Work {
  std::string what;  // "cudnnConvolutionForward", "the kernel of a sum of gradients"
  std::vector<Access>
      accesses;  // what `run` touches; device memory and pinned memory only matters. Checked for
                 // bounds when enqueued and when run, and for races.
  // Does the work, with device memory open; whatever it is captured by must be copied, since it may
  // run late and, captured by a graph, several times. Returns accesses found while running
  // (kernels), to be checked for races as well.
  std::function<std::vector<Access>()> run;
  std::shared_ptr<Meeting> meeting;  // null: runs when its turn has come
  std::function<bool()> ready;       // empty, or asked while the work is at the head of its stream:
                                     // false means not yet (other processes)
  int64_t Counters::*counter = &Counters::library_calls;  // counted when it runs; null: nothing is
  // True if `accesses` may lie on devices without peer access: staged copies and NCCL.
  bool any_device = false;
};

// Locks: the executor calls `run` and `ready` from any function of this header and of the runtime
// that enqueues or waits. The caller must not hold a lock that some `run` or `ready` takes. `run`
// and `ready` must not enqueue or wait. While `run` runs, CurrentDevice() is the device of the
// work.

// Puts work on `stream`, or into the graph that captures the stream. The calling thread's current
// device must be the stream's: else cudaErrorInvalidResourceHandle, as CUDA's kernels have it.
// Errors are also kept for cudaGetLastError.
cudaError_t Enqueue(cudaStream_t stream, Work work);

// Whether the stream is captured now. Libraries call Forbid("cudaMalloc inside cudnnFind...") for
// what a capture forbids: it makes the capture of any stream of the calling thread invalid, and
// returns cudaErrorStreamCaptureUnsupported; cudaSuccess when nothing is captured.
bool IsCaptured(cudaStream_t stream);
cudaError_t Forbid(const std::string& what);

// Of a stream that cudaStreamCreate* made; Fault("stream") for one that does not exist.
int DeviceOf(cudaStream_t stream);
int CurrentDevice();  // of the calling thread

// Waits until all work of the stream is done, as cudaStreamSynchronize; libraries that block use
// it.
cudaError_t WaitFor(cudaStream_t stream);
// Runs one piece of work that may run, chosen at random, if there is one: what a thread does that
// waits for something else than a stream (NCCL's init).
bool RunSome();
// Ends, unfinished, all work with this meeting, and makes its streams go on (ncclCommAbort).
void Abandon(const std::shared_ptr<Meeting>& meeting);

// Returns true if work of device `from` may access memory of device `to`: the same device, or
// cudaDeviceEnablePeerAccess has been called. Takes no lock, so that work may ask while it runs.
bool PeerEnabled(int from, int to);

// For tests: drops all queues, streams, events, graphs and errors of devices, and builds the
// machine again from TheSettings(). No other thread may use the machine meanwhile.
void ResetMachine();

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_STREAMS_H_
