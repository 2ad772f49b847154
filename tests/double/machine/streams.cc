// The machine, and its interface for libraries and kernels.
#include "tests/double/machine/streams.h"

#include <atomic>
#include <cstdio>

#include "tests/double/machine/fault.h"
#include "tests/double/machine/queues.h"
#include "tests/double/machine/settings.h"

namespace doppio::gpu_double {
namespace {

thread_local int t_device = 0;

std::mutex g_making;
// Lives until the process ends, because destructors of static objects may still call the runtime.
std::atomic<Machine*> g_machine{nullptr};

Stream* AddStream(Machine* machine, int device, unsigned flags, int priority, bool legacy) {
  auto* stream = new Stream;
  stream->device = device;
  stream->legacy = legacy;
  stream->number = machine->made++;
  stream->flags = flags;
  stream->priority = priority;
  stream->blocking = (flags & cudaStreamNonBlocking) == 0;
  stream->lane = TakeLane(machine, stream->Name());
  machine->streams.push_back(stream);
  machine->handles.insert(stream);
  return stream;
}

Machine* MakeMachine() {
  auto* machine = new Machine;
  machine->devices.resize(static_cast<size_t>(TheSettings().devices));
  for (size_t i = 0; i < machine->devices.size(); ++i) {
    Stream* stream = AddStream(machine, static_cast<int>(i), cudaStreamDefault, 0, true);
    machine->devices[i].legacy = stream;
  }
  return machine;
}

}  // namespace

Machine& TheMachine() {
  if (Machine* machine = g_machine.load(std::memory_order_acquire)) return *machine;
  std::lock_guard<std::mutex> making(g_making);
  if (g_machine.load() == nullptr) g_machine.store(MakeMachine(), std::memory_order_release);
  return *g_machine.load();
}

void ResetMachine() {
  if (Machine* old = g_machine) {
    for (size_t i = 0; i < old->devices.size(); ++i) ForgetPeersOf(static_cast<int>(i));
  }
  cudaGetLastError();
  g_machine = nullptr;  // the old machine is not freed, so that no handle is reused
  t_device = 0;
}

std::string Stream::Name() const {
  return (legacy ? "the default stream" : "stream " + std::to_string(number)) + " of GPU " +
         std::to_string(device);
}

// Reuses a lane that nothing uses any more if the host has waited for its last step: the new
// owner's work is enqueued later, so it is ordered after that step. Clocks, which have an entry for
// each lane, stay small in a process that creates thousands of streams.
std::shared_ptr<Lane> TakeLane(Machine* machine, const std::string& name) {
  for (const std::shared_ptr<Lane>& lane : machine->lanes) {
    if (lane.use_count() > 1 || machine->host->Of(lane->actor) < lane->time) continue;
    RenameActor(lane->actor, name);
    return lane;
  }
  machine->lanes.push_back(std::make_shared<Lane>());
  machine->lanes.back()->actor = NewActor(name);
  return machine->lanes.back();
}

Stream* MakeStream(int device, unsigned flags, int priority) {
  return AddStream(&TheMachine(), device, flags, priority, false);
}

Stream* FindStream(cudaStream_t handle) {
  Machine& machine = TheMachine();
  if (handle == nullptr || handle == cudaStreamLegacy) {
    return machine.devices[static_cast<size_t>(t_device)].legacy;
  }
  if (machine.handles.count(handle) == 0) {
    Fault("stream", handle == cudaStreamPerThread
                        ? "the double has no streams per thread (cudaStreamPerThread)"
                        : "a stream is used that was never created or is destroyed");
  }
  return reinterpret_cast<Stream*>(handle);
}

int CurrentDevice() { return t_device; }
void SetCurrentDevice(int device) { t_device = device; }

cudaError_t ErrorOf(int device) {
  const Machine& machine = TheMachine();
  if (machine.devices.empty()) return cudaErrorNoDevice;
  return machine.devices[static_cast<size_t>(device)].error;
}

cudaError_t Enqueue(cudaStream_t handle, Work work) {
  return Call([&](Lock& lock) {
    Stream* stream = FindStream(handle);
    if (stream->device != t_device) return cudaErrorInvalidResourceHandle;
    if (stream->capture == nullptr && work.counter == &Counters::kernels &&
        Planted("stream-mixed-up")) {
      stream = FindStream(nullptr);
    }
    auto task = std::make_shared<Task>();
    task->work = std::move(work);
    task->device = stream->device;
    return Put(lock, stream, std::move(task));
  });
}

bool IsCaptured(cudaStream_t handle) {
  Lock lock(TheMachine().mutex);
  return FindStream(handle)->capture != nullptr;
}

cudaError_t Forbid(const std::string& what) {
  return Call([&](Lock&) {
    const cudaError_t error = ForbidHere();
    if (error != cudaSuccess) {
      std::fprintf(stderr, "double: %s is not permitted while a stream is captured\n",
                   what.c_str());
    }
    return error;
  });
}

int DeviceOf(cudaStream_t handle) {
  Lock lock(TheMachine().mutex);
  return FindStream(handle)->device;
}

cudaError_t WaitFor(cudaStream_t handle) {
  return Call([&](Lock& lock) {
    Stream* stream = FindStream(handle);
    if (stream->capture != nullptr) {
      return Invalidate(stream->capture, cudaErrorStreamCaptureUnsupported);
    }
    if (const cudaError_t error = ForbidHere()) return error;
    return AwaitStream(lock, stream, "cudaStreamSynchronize");
  });
}

bool RunSome() {
  Lock lock(TheMachine().mutex);
  return RunOne(lock);
}

void Abandon(const std::shared_ptr<Meeting>& meeting) {
  if (meeting == nullptr) return;
  Machine& machine = TheMachine();
  Lock lock(machine.mutex);
  meeting->abandoned = true;
  machine.changed.notify_all();
}

}  // namespace doppio::gpu_double
