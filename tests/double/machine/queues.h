// The state behind streams.h: queues, events, captures and graphs. For machine/ only. Everything in
// this file is guarded by Machine::mutex unless a comment says otherwise.
#ifndef DOPPIO_TESTS_DOUBLE_MACHINE_QUEUES_H_
#define DOPPIO_TESTS_DOUBLE_MACHINE_QUEUES_H_

#include <cuda_runtime_api.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tests/double/machine/races.h"
#include "tests/double/machine/streams.h"

namespace doppio::gpu_double {

struct Stream;
struct Capture;

// One recording of an event: a point in a stream for which other streams and the host can wait.
struct Moment {
  bool done = false;
  cudaError_t error = cudaSuccess;  // error of the device before this point, if any
  bool after_upload = false;        // an upload is directly before this point
  int64_t ns = 0;                   // time at which the point was reached
  Clock clock;                      // valid if `done`
  Stream* stream = nullptr;
};

struct HostRange {
  char* at = nullptr;
  int64_t bytes = 0;
};

// Work plus what the runtime adds to it. Immutable once enqueued, and shared by graphs.
struct Task {
  Work work;
  int device = 0;
  bool host_function = false;  // runs without access to device memory
  bool upload = false;
  HostRange source;       // pinned memory that the host must not change until the task has run
  HostRange destination;  // pinned memory that is poisoned until the task has run
};

// A sequence of ordered work. Each lane is an actor for the race detector.
struct Lane {
  int actor = 0;
  int64_t time = 0;
};

// A task of a plan and its dependencies.
struct Node {
  std::shared_ptr<const Task> task;
  std::vector<int> needs;  // indices of nodes that must run before this one; always smaller
  std::vector<int> users;  // indices of nodes that need this one
  int lane = 0;
};

// A graph of tasks. A single piece of work is a plan with one node.
struct Plan {
  std::vector<Node> nodes;
  int lanes = 1;
};

// Progress of a node in one execution of its plan.
struct NodeState {
  int missing = 0;  // number of nodes in `needs` that are not done
  bool arrived = false;
  bool done = false;
  int64_t generation = 0;  // generation of the meeting when the node arrived
  bool checked = false;    // `checksum` holds the checksum of the source at enqueue time
  uint64_t checksum = 0;
  Clock after;
};

// An entry of a stream's queue.
struct Item {
  enum Kind { kWork, kRecord, kWait };
  Kind kind = kWork;
  std::shared_ptr<Moment> moment;    // for kRecord and kWait
  std::shared_ptr<const Plan> plan;  // for kWork: a single node or a graph
  std::vector<std::shared_ptr<Lane>> lanes;
  std::shared_ptr<const Clock> host;  // clock of the host when it enqueued the item
  bool started = false;
  Clock before, after;
  std::vector<NodeState> states;
  std::vector<int> open;  // nodes that can run now
  int left = 0;           // number of nodes that are not done
};

struct Stream {
  int device = 0;
  int number = 0;
  int priority = 0;
  unsigned flags = 0;
  bool legacy = false;    // default stream of its device
  bool blocking = false;  // ordered with the legacy stream
  bool destroyed = false;
  std::deque<std::shared_ptr<Item>> queue;
  std::shared_ptr<Lane> lane;  // null once the stream is destroyed and its work is done
  Clock clock;                 // covers all work that has run
  bool upload_last = false;
  std::shared_ptr<Capture> capture;
  std::vector<int> tails;  // captured nodes that the next node depends on
  std::string Name() const;
};

struct Event {
  int device = 0;
  unsigned flags = 0;
  std::shared_ptr<Moment> latest;    // last recording outside a capture; null: none
  std::shared_ptr<Capture> capture;  // set if the last recording was in a capture
  std::vector<int> tails;
};

struct Capture {
  Stream* origin = nullptr;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  bool invalid = false;
  bool ended = false;
  unsigned long long id = 0;
  Plan plan;
  std::map<Stream*, int> lanes;  // streams in the capture, including origin
};

struct Graph {
  std::shared_ptr<const Plan> plan;
};

struct GraphExec {
  std::shared_ptr<const Plan> plan;
  std::vector<std::shared_ptr<Lane>> lanes;
  std::shared_ptr<Moment> last;  // end of the latest launch
};

struct Device {
  cudaError_t error = cudaSuccess;  // sticky
  Stream* legacy = nullptr;
};

// The simulated machine.
struct Machine {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Device> devices;
  // Streams with a handle or with work. They are never deleted, so that handles stay unique.
  std::vector<Stream*> streams;
  std::vector<std::shared_ptr<Lane>> lanes;  // of all streams and executable graphs
  std::unordered_set<const void*> handles;   // live streams, events, graphs and executable graphs
  std::set<std::shared_ptr<Capture>> captures;
  std::shared_ptr<const Clock> host = std::make_shared<Clock>();
  bool busy = false;     // a thread is running a piece of work
  int64_t pieces = 0;    // pieces of work that have run
  int64_t bytes = 0;     // bytes that this work has accessed, for clock=bytes
  int64_t kernels = 0;   // kernels that have run, for fail_launch
  int64_t enqueued = 0;  // pieces of work enqueued, for lose_device
  int made = 0;          // number of streams created
  unsigned long long captured = 0;
};

using Lock = std::unique_lock<std::mutex>;

Machine& TheMachine();

// Stores `error` for cudaGetLastError of the calling thread, and returns it.
cudaError_t Remember(cudaError_t error);
// Disables the device's access to all peers.
void ForgetPeersOf(int device);
// Sets the current device of the calling thread, without checks.
void SetCurrentDevice(int device);
// Returns cudaErrorNoDevice without GPUs, else the sticky error of the device, or cudaSuccess.
cudaError_t ErrorOf(int device);

// Returns the stream or event of a handle. A null stream is the legacy stream of the current
// device. Fault("stream") for an unknown handle.
Stream* FindStream(cudaStream_t handle);
Event* FindEvent(cudaEvent_t handle);
Stream* MakeStream(int device, unsigned flags, int priority);
// Returns a lane that only the caller uses, under this name in messages.
std::shared_ptr<Lane> TakeLane(Machine* machine, const std::string& name);

// enqueue.cc: operations of the host on streams.
cudaError_t Put(Lock& lock, Stream* stream, std::shared_ptr<const Task> task);
void Push(Stream* stream, std::shared_ptr<Item> item);
std::shared_ptr<Item> NewItem(Item::Kind kind);
std::shared_ptr<Item> NewWork(std::shared_ptr<const Plan> plan,
                              std::vector<std::shared_ptr<Lane>> lanes);
std::shared_ptr<Moment> RecordOn(Stream* stream);
void WaitOn(Stream* stream, std::shared_ptr<Moment> moment);
// Orders the next work on `stream` with the legacy stream, if CUDA requires that.
void OrderWithLegacy(Stream* stream);
// Counts a call that puts work on `stream`; may lose the device (lose_device).
cudaError_t CountEnqueued(Stream* stream);
// Joins `clock` into the clock of the host.
void HostKnows(const Clock& clock);
// Drops everything that is queued on the device and makes `error` sticky.
void Break(int device, cudaError_t error);
// Blocks until `moment` is done, and counts the wait if it was not done before. Afterwards the
// host's clock includes the moment.
cudaError_t AwaitMoment(Lock& lock, const std::shared_ptr<Moment>& moment, const char* what);
cudaError_t AwaitStream(Lock& lock, Stream* stream, const char* what);
cudaError_t AwaitDevice(Lock& lock, int device, const char* what);

// executor.cc: runs queued work.
void Settle();
// Runs one piece of work. Returns false if nothing can run now or if another thread is running
// work.
bool RunOne(Lock& lock);
// Runs some work after an item was enqueued, depending on settings.order.
void Progress(Lock& lock);
// Runs some work during a query.
void RunAFew(Lock& lock);

// deadlock.cc: detects deadlocks.
// Fault("deadlock") if the head of some queue can never run, whatever is enqueued later.
void CheckDeadlock();
std::string DumpHeads();

// pinned.cc: checks pinned memory between the call and the copy.
uint64_t ChecksumOf(const HostRange& range);
void PreparePinned(Item* item);

// captures.cc: stream captures. AddToCapture adds a task to the stream's capture.
cudaError_t AddToCapture(Stream* stream, std::shared_ptr<const Task> task);
cudaError_t ForbidHere();  // like Forbid, with the lock held
cudaError_t Invalidate(const std::shared_ptr<Capture>& capture, cudaError_t error);
cudaError_t JoinCapture(Stream* stream, Event* event);

// Runs an entry point of the runtime: takes the lock, runs `body(lock)`, and stores its result as
// the last error.
template <typename Body>
cudaError_t Call(const Body& body) {
  Machine& machine = TheMachine();
  Lock lock(machine.mutex);
  return Remember(machine.devices.empty() ? cudaErrorNoDevice : body(lock));
}

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_QUEUES_H_
