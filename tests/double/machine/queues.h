// The state behind streams.h: queues, events, captures and graphs. Internal to machine/.
// Everything here is guarded by Machine::mutex unless a comment says otherwise.
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

// One recording of an event: the point in a stream that a wait waits for.
struct Moment {
  bool done = false;
  cudaError_t error = cudaSuccess;  // of the device, if it failed before this point
  bool after_upload = false;        // an upload is directly in front
  int64_t ns = 0;                   // when it was done
  Clock clock;                      // valid once done
  Stream* stream = nullptr;
};

struct HostRange {
  char* at = nullptr;
  int64_t bytes = 0;
};

// Work with what the runtime adds to it. Immutable once enqueued; graphs share it.
struct Task {
  Work work;
  int device = 0;
  bool host_function = false;  // runs without access to device memory
  bool upload = false;
  HostRange source;       // pinned memory that the host must not change before the task has run
  HostRange destination;  // pinned memory that is poisoned until the task has run
};

// One line of work in which everything is ordered: an actor for the race detector.
struct Lane {
  int actor = 0;
  int64_t time = 0;
};

struct Node {
  std::shared_ptr<const Task> task;
  std::vector<int> needs;  // nodes that must be done before; smaller indices
  std::vector<int> users;  // the reverse
  int lane = 0;
};

struct Plan {
  std::vector<Node> nodes;
  int lanes = 1;
};

struct NodeState {
  int missing = 0;  // nodes of `needs` that are not done
  bool arrived = false;
  bool done = false;
  int64_t generation = 0;  // of the meeting, when the node arrived
  bool checked = false;    // `checksum` is of the source's bytes when the item was enqueued
  uint64_t checksum = 0;
  Clock after;
};

// An entry of a queue.
struct Item {
  enum Kind { kWork, kRecord, kWait };
  Kind kind = kWork;
  std::shared_ptr<Moment> moment;    // kRecord, kWait
  std::shared_ptr<const Plan> plan;  // kWork: one node, or a graph's
  std::vector<std::shared_ptr<Lane>> lanes;
  std::shared_ptr<const Clock> host;  // what the host knew when it enqueued the item
  bool started = false;
  Clock before, after;
  std::vector<NodeState> states;
  std::vector<int> open;  // nodes whose needs are done and that are not done themselves
  int left = 0;           // nodes that are not done
};

struct Stream {
  int device = 0;
  int number = 0;
  int priority = 0;
  unsigned flags = 0;
  bool legacy = false;    // the default stream of its device
  bool blocking = false;  // ordered with the legacy stream
  bool destroyed = false;
  std::deque<std::shared_ptr<Item>> queue;
  std::shared_ptr<Lane> lane;
  Clock clock;  // of what has run
  bool upload_last = false;
  std::shared_ptr<Capture> capture;
  std::vector<int> tails;  // captured nodes that the next one follows
  std::string Name() const;
};

struct Event {
  int device = 0;
  unsigned flags = 0;
  std::shared_ptr<Moment> latest;    // null: never recorded outside a capture
  std::shared_ptr<Capture> capture;  // where it was recorded last, if that was in a capture
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
  std::map<Stream*, int> lanes;  // of the streams that belong to the capture, origin included
};

struct Graph {
  std::shared_ptr<const Plan> plan;
};

struct GraphExec {
  std::shared_ptr<const Plan> plan;
  std::vector<std::shared_ptr<Lane>> lanes;
  std::shared_ptr<Moment> last;  // behind the latest launch
};

struct Device {
  cudaError_t error = cudaSuccess;  // sticky
  Stream* legacy = nullptr;
};

struct Machine {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Device> devices;
  std::vector<Stream*>
      streams;  // with a handle, or with work; never deleted, so that handles stay unique
  std::unordered_set<const void*> handles;  // live streams, events, graphs and executable graphs
  std::set<std::shared_ptr<Capture>> captures;
  std::shared_ptr<const Clock> host = std::make_shared<Clock>();
  bool busy = false;     // a thread runs a piece of work
  int64_t pieces = 0;    // that have run
  int64_t kernels = 0;   // that have run, for fail_launch
  int64_t enqueued = 0;  // for lose_device
  int made = 0;          // streams
  unsigned long long captured = 0;
};

using Lock = std::unique_lock<std::mutex>;

Machine& TheMachine();

// Keeps `error` for cudaGetLastError of this thread, and returns it.
cudaError_t Remember(cudaError_t error);
void ForgetPeers();                 // all peer access
void SetCurrentDevice(int device);  // of this thread, unchecked
// cudaErrorNoDevice without GPUs, the sticky error of the device, or cudaSuccess.
cudaError_t ErrorOf(int device);

// Null is the legacy stream of the current device. Fault("stream") for an unknown handle.
Stream* FindStream(cudaStream_t handle);
Event* FindEvent(cudaEvent_t handle);
Stream* MakeStream(int device, unsigned flags, int priority);

// enqueue.cc: the ends of queues that the host sees.
cudaError_t Put(Lock& lock, Stream* stream, std::shared_ptr<const Task> task);
void Push(Stream* stream, std::shared_ptr<Item> item);
std::shared_ptr<Item> NewItem(Item::Kind kind);
std::shared_ptr<Item> NewWork(std::shared_ptr<const Plan> plan,
                              std::vector<std::shared_ptr<Lane>> lanes);
std::shared_ptr<Moment> RecordOn(Stream* stream);
void WaitOn(Stream* stream, std::shared_ptr<Moment> moment);
// Orders what comes next on `stream` with the legacy stream, where it is to be.
void OrderWithLegacy(Stream* stream);
// Counts a call that puts work on `stream`; may lose the device (lose_device).
cudaError_t CountEnqueued(Stream* stream);
void HostKnows(const Clock& clock);
// Ends everything that is queued on the device; `error` is sticky from now on.
void Break(int device, cudaError_t error);
// Blocks until `moment` is done, and counts the wait if it was not. The host knows the moment
// after.
cudaError_t AwaitMoment(Lock& lock, const std::shared_ptr<Moment>& moment, const char* what);
cudaError_t AwaitStream(Lock& lock, Stream* stream, const char* what);
cudaError_t AwaitDevice(Lock& lock, int device, const char* what);

// executor.cc
void Settle();
bool RunOne(Lock& lock);    // false if nothing can run now, or another thread runs something
void Progress(Lock& lock);  // behind an enqueued item, by settings.order
void RunAFew(Lock& lock);   // for queries

// deadlock.cc
void CheckDeadlock();  // Fault("deadlock") if no enqueueing can ever free some queue's head
std::string DumpHeads();

// pinned.cc: pinned memory between the call and the copy.
uint64_t ChecksumOf(const HostRange& range);
void PreparePinned(Item* item);

// captures.cc; Add puts a task into the stream's capture.
cudaError_t AddToCapture(Stream* stream, std::shared_ptr<const Task> task);
cudaError_t ForbidHere();  // Forbid, with the lock held
cudaError_t Invalidate(const std::shared_ptr<Capture>& capture, cudaError_t error);
cudaError_t JoinCapture(Stream* stream, Event* event);

// One entry point of the runtime: takes the lock and keeps what `body(lock)` returns as the last
// error.
template <typename Body>
cudaError_t Call(const Body& body) {
  Machine& machine = TheMachine();
  Lock lock(machine.mutex);
  return Remember(machine.devices.empty() ? cudaErrorNoDevice : body(lock));
}

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_QUEUES_H_
