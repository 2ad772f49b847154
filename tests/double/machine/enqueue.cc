// Puts work on streams and waits for it.
#include <chrono>

#include "tests/double/machine/fault.h"
#include "tests/double/machine/journal.h"
#include "tests/double/machine/memory.h"
#include "tests/double/machine/queues.h"
#include "tests/double/machine/settings.h"

namespace doppio::gpu_double {
namespace {

constexpr std::chrono::seconds kPatience(120);

void CheckBounds(const Task& task) {
  for (const Access& access : task.work.accesses) {
    Block block;
    if (access.bytes == 0) continue;
    if (!IsDeviceAddress(access.at) && !FindBlock(access.at, &block)) continue;  // pageable memory
    CheckInside(access.at, access.bytes, task.work.what);
  }
}

// Drops an item. The other members of a dropped meeting will never run.
void Drop(Item* item, cudaError_t error) {
  if (item->moment != nullptr && item->kind == Item::kRecord) {
    item->moment->done = true;
    item->moment->error = error;
  }
  for (size_t i = 0; i < item->states.size(); ++i) {
    NodeState& state = item->states[i];
    if (state.done) continue;
    state.done = true;
    Meeting* meeting = item->plan->nodes[i].task->work.meeting.get();
    if (meeting == nullptr) continue;
    const bool met = state.arrived && meeting->generation > state.generation;
    if (!met) meeting->lost = true;
  }
  item->left = 0;
  item->open.clear();
}

// Blocks until `moment` is done, and runs work meanwhile.
void RunUntil(Lock& lock, const Moment& moment, const char* what) {
  Machine& machine = TheMachine();
  int64_t pieces = machine.pieces;
  auto since = std::chrono::steady_clock::now();
  while (true) {
    Settle();
    if (moment.done) return;
    if (RunOne(lock)) continue;
    if (moment.done) return;
    if (!machine.busy) CheckDeadlock();
    if (machine.busy || machine.pieces != pieces) {
      pieces = machine.pieces;
      since = std::chrono::steady_clock::now();
    } else if (std::chrono::steady_clock::now() - since > kPatience) {
      Fault("deadlock",
            std::string(what) + " has waited for 120 s while nothing ran:\n" + DumpHeads());
    }
    machine.changed.wait_for(lock, std::chrono::milliseconds(1));
  }
}

}  // namespace

std::shared_ptr<Item> NewItem(Item::Kind kind) {
  auto item = std::make_shared<Item>();
  item->kind = kind;
  item->host = TheMachine().host;
  return item;
}

std::shared_ptr<Item> NewWork(std::shared_ptr<const Plan> plan,
                              std::vector<std::shared_ptr<Lane>> lanes) {
  std::shared_ptr<Item> item = NewItem(Item::kWork);
  item->states.resize(plan->nodes.size());
  for (size_t i = 0; i < plan->nodes.size(); ++i) {
    item->states[i].missing = static_cast<int>(plan->nodes[i].needs.size());
  }
  item->left = static_cast<int>(plan->nodes.size());
  item->plan = std::move(plan);
  item->lanes = std::move(lanes);
  return item;
}

void Push(Stream* stream, std::shared_ptr<Item> item) { stream->queue.push_back(std::move(item)); }

std::shared_ptr<Moment> RecordOn(Stream* stream) {
  std::shared_ptr<Item> item = NewItem(Item::kRecord);
  item->moment = std::make_shared<Moment>();
  item->moment->stream = stream;
  item->moment->after_upload = stream->upload_last;
  std::shared_ptr<Moment> moment = item->moment;
  Push(stream, std::move(item));
  return moment;
}

void WaitOn(Stream* stream, std::shared_ptr<Moment> moment) {
  std::shared_ptr<Item> item = NewItem(Item::kWait);
  item->moment = std::move(moment);
  Push(stream, std::move(item));
}

void OrderWithLegacy(Stream* stream) {
  Machine& machine = TheMachine();
  Stream* legacy = machine.devices[static_cast<size_t>(stream->device)].legacy;
  if (stream == legacy) {
    const std::vector<Stream*> streams = machine.streams;
    for (Stream* other : streams) {
      if (other == legacy || !other->blocking || other->device != stream->device) continue;
      WaitOn(legacy, RecordOn(other));
    }
  } else if (stream->blocking) {
    WaitOn(stream, RecordOn(legacy));
  }
}

cudaError_t CountEnqueued(Stream* stream) {
  Count(&Counters::enqueued);
  if (++TheMachine().enqueued != TheSettings().lose_device) return cudaSuccess;
  Break(stream->device, cudaErrorDevicesUnavailable);
  // The first call after the loss may succeed or fail, at random.
  return Random(2) == 0 ? cudaSuccess : cudaErrorDevicesUnavailable;
}

cudaError_t Put(Lock& lock, Stream* stream, std::shared_ptr<const Task> task) {
  if (const cudaError_t error = ErrorOf(stream->device)) return error;
  CheckBounds(*task);
  if (stream->capture != nullptr) return AddToCapture(stream, std::move(task));
  if (stream->legacy) {
    // The legacy stream would wait for the captured stream.
    for (Stream* other : TheMachine().streams) {
      if (other->capture == nullptr || !other->blocking || other->device != stream->device)
        continue;
      return Invalidate(other->capture, cudaErrorStreamCaptureImplicit);
    }
  }
  auto plan = std::make_shared<Plan>();
  plan->nodes.emplace_back();
  stream->upload_last = task->upload;
  NoteCall(CallKind(*task), task->work.what, stream->Name());
  plan->nodes[0].task = std::move(task);
  OrderWithLegacy(stream);
  std::shared_ptr<Item> item = NewWork(std::move(plan), {stream->lane});
  PreparePinned(item.get());
  Push(stream, std::move(item));
  if (const cudaError_t error = CountEnqueued(stream)) return error;
  Progress(lock);
  return cudaSuccess;
}

void HostKnows(const Clock& clock) {
  auto known = std::make_shared<Clock>(*TheMachine().host);
  known->Join(clock);
  TheMachine().host = std::move(known);
}

void Break(int device, cudaError_t error) {
  Machine& machine = TheMachine();
  machine.devices[static_cast<size_t>(device)].error = error;
  for (Stream* stream : machine.streams) {
    if (stream->device != device) continue;
    for (const std::shared_ptr<Item>& item : stream->queue) Drop(item.get(), error);
    stream->queue.clear();
  }
}

cudaError_t AwaitMoment(Lock& lock, const std::shared_ptr<Moment>& moment, const char* what) {
  Settle();
  if (!moment->done) {
    Count(&Counters::host_waits);
    NoteCall("wait", what, moment->stream->Name());
    RunUntil(lock, *moment, what);
  }
  if (moment->error != cudaSuccess) return moment->error;
  HostKnows(moment->clock);
  return ErrorOf(moment->stream->device);
}

cudaError_t AwaitStream(Lock& lock, Stream* stream, const char* what) {
  if (const cudaError_t error = ErrorOf(stream->device)) return error;
  if (stream->legacy) OrderWithLegacy(stream);
  return AwaitMoment(lock, RecordOn(stream), what);
}

cudaError_t AwaitDevice(Lock& lock, int device, const char* what) {
  if (const cudaError_t error = ErrorOf(device)) return error;
  std::vector<std::shared_ptr<Moment>> moments;
  for (Stream* stream : TheMachine().streams) {
    if (stream->device == device) moments.push_back(RecordOn(stream));
  }
  Settle();
  bool waits = false;
  for (const std::shared_ptr<Moment>& moment : moments) waits |= !moment->done;
  if (waits) {
    Count(&Counters::host_waits);
    NoteCall("wait", what, "GPU " + std::to_string(device));
  }
  for (const std::shared_ptr<Moment>& moment : moments) {
    if (!moment->done) RunUntil(lock, *moment, what);
    if (moment->error == cudaSuccess) HostKnows(moment->clock);
  }
  return ErrorOf(device);
}

}  // namespace doppio::gpu_double
