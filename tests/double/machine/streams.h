// The queues of the machine: what CUDA's runtime, the libraries and kernels put on streams. Behind it: runtime.cc, the C functions of
// CUDA's runtime. Thread-safe; work itself runs one piece at a time in the process, on whichever host thread waits.
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

// Members of one collective, in this process: none of them runs before all of them are at the heads of their streams, and what comes after any of them
// comes after all that came before each of them.
struct Meeting {
  explicit Meeting(int members) : members(members) {}
  const int members;
  // For streams.cc, under its lock.
  int arrived = 0;
  Clock clock;
};

struct Work {
  std::string what;               // "cudnnConvolutionForward", "the kernel of a sum of gradients"
  std::vector<Access> accesses;   // what `run` touches; device memory and pinned memory only matters. Checked for bounds when enqueued and when run, and for races.
  // Does the work, with device memory open; whatever it is captured by must be copied, since it may run late and, captured by a graph,
  // several times. Returns accesses found while running (kernels), to be checked for races as well.
  std::function<std::vector<Access>()> run;
  std::shared_ptr<Meeting> meeting;   // null: runs when its turn has come
  std::function<bool()> ready;        // empty, or asked while the work is at the head of its stream: false means not yet (other processes)
  int64_t Counters::*counter = &Counters::library_calls;  // counted when it runs
};

// Puts work on `stream`, or into the graph that captures the stream. The calling thread's current device must be the stream's: else
// cudaErrorInvalidResourceHandle, as CUDA's kernels have it. Errors are also kept for cudaGetLastError.
cudaError_t Enqueue(cudaStream_t stream, Work work);

// Whether the stream is captured now. Libraries call Forbid("cudaMalloc inside cudnnFind...") for what a capture forbids: it makes the capture of any stream of the calling thread invalid, and returns
// cudaErrorStreamCaptureUnsupported; cudaSuccess when nothing is captured.
bool IsCaptured(cudaStream_t stream);
cudaError_t Forbid(const std::string& what);

// Of a stream that cudaStreamCreate* made; Fault("stream") for one that does not exist.
int DeviceOf(cudaStream_t stream);
int CurrentDevice();  // of the calling thread

// Waits until all work of the stream is done, as cudaStreamSynchronize; libraries that block use it.
cudaError_t WaitFor(cudaStream_t stream);
// Runs one piece of work that may run, chosen at random, if there is one: what a thread does that waits for something else than a stream (NCCL's init).
bool RunSome();
// Ends, unfinished, all work with this meeting, and makes its streams go on (ncclCommAbort).
void Abandon(const std::shared_ptr<Meeting>& meeting);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_STREAMS_H_
