// Events of CUDA's runtime.
#include "tests/double/machine/fault.h"
#include "tests/double/machine/planted.h"
#include "tests/double/machine/queues.h"
#include "tests/double/machine/settings.h"

namespace doppio::gpu_double {
namespace {

cudaError_t Record(Lock& lock, Event* event, Stream* stream) {
  if (const cudaError_t error = ErrorOf(stream->device)) return error;
  if (event->device != stream->device) return cudaErrorInvalidResourceHandle;
  if (stream->capture != nullptr) {
    if (stream->capture->invalid) return cudaErrorStreamCaptureInvalidated;
    event->capture = stream->capture;
    event->tails = stream->tails;
    return cudaSuccess;
  }
  if (Planted(kEventNotRecorded)) return cudaSuccess;
  OrderWithLegacy(stream);
  event->capture = nullptr;
  event->latest = RecordOn(stream);
  if (Planted("event-destroyed")) TheMachine().handles.erase(event);
  Progress(lock);
  return cudaSuccess;
}

cudaError_t StreamWait(Stream* stream, Event* event, unsigned flags) {
  if (flags != 0) return cudaErrorNotSupported;
  if (const cudaError_t error = ErrorOf(stream->device)) return error;
  if (stream->capture != nullptr || event->capture != nullptr) return JoinCapture(stream, event);
  if (event->latest == nullptr || Planted(kEventNotWaited)) return cudaSuccess;
  if (event->latest->after_upload && Planted(kUploadNotAwaited)) return cudaSuccess;
  OrderWithLegacy(stream);
  WaitOn(stream, event->latest);
  return cudaSuccess;
}

// Checks an event before a query or a wait.
cudaError_t Asked(Event* event) {
  if (event->capture != nullptr) {
    return event->capture->ended ? cudaErrorCapturedEvent
                                 : Invalidate(event->capture, cudaErrorCapturedEvent);
  }
  if (const cudaError_t error = ForbidHere()) return error;
  return ErrorOf(event->device);
}

cudaError_t Elapsed(float* ms, const Event& start, const Event& end) {
  if (start.device != end.device || (start.flags & cudaEventDisableTiming) != 0 ||
      (end.flags & cudaEventDisableTiming) != 0 || start.latest == nullptr ||
      end.latest == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  Settle();
  if (!start.latest->done || !end.latest->done) return cudaErrorNotReady;
  *ms = static_cast<float>(end.latest->ns - start.latest->ns) * 1e-6f;
  return ErrorOf(start.device);
}

}  // namespace

Event* FindEvent(cudaEvent_t handle) {
  if (TheMachine().handles.count(handle) == 0) {
    Fault("event", "an event is used that was never created or is destroyed");
  }
  return reinterpret_cast<Event*>(handle);
}

extern "C" {

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return Call([&](Lock&) {
    if (const cudaError_t error = ErrorOf(CurrentDevice())) return error;
    auto* made = new Event;  // never deleted, so that stale handles are detected
    made->device = CurrentDevice();
    made->flags = flags;
    TheMachine().handles.insert(made);
    *event = reinterpret_cast<cudaEvent_t>(made);
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  return Call([&](Lock&) {
    if (handle == nullptr) return cudaErrorInvalidResourceHandle;
    Event* event = FindEvent(handle);
    TheMachine().handles.erase(event);
    event->latest = nullptr;  // waits that are already enqueued keep their moment
    event->capture = nullptr;
    return ErrorOf(event->device);
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return Call([&](Lock& lock) { return Record(lock, FindEvent(event), FindStream(stream)); });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  if (flags != cudaEventRecordDefault) return Remember(cudaErrorNotSupported);
  return cudaEventRecord(event, stream);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return Call([&](Lock&) { return StreamWait(FindStream(stream), FindEvent(event), flags); });
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  return Call([&](Lock& lock) {
    Event* event = FindEvent(handle);
    if (const cudaError_t error = Asked(event)) return error;
    if (event->latest == nullptr || Planted(kHostWaitSkipped)) return cudaSuccess;
    return AwaitMoment(lock, event->latest, "cudaEventSynchronize");
  });
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  return Call([&](Lock& lock) {
    Event* event = FindEvent(handle);
    if (const cudaError_t error = Asked(event)) return error;
    const std::shared_ptr<Moment> moment = event->latest;
    if (moment == nullptr) return cudaSuccess;
    RunAFew(lock);
    Settle();
    if (!moment->done) return cudaErrorNotReady;
    return AwaitMoment(lock, moment, "cudaEventQuery");
  });
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  return Call([&](Lock&) { return Elapsed(ms, *FindEvent(start), *FindEvent(end)); });
}

}  // extern "C"

}  // namespace doppio::gpu_double
