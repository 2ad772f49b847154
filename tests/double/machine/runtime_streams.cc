// Streams of CUDA's runtime.
#include "tests/double/machine/fault.h"
#include "tests/double/machine/queues.h"

namespace doppio::gpu_double {
namespace {

cudaError_t Asked(Stream* stream) {
  if (stream->capture != nullptr) {
    return Invalidate(stream->capture, cudaErrorStreamCaptureUnsupported);
  }
  if (const cudaError_t error = ForbidHere()) return error;
  return ErrorOf(stream->device);
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return Call([&](Lock&) {
    if (const cudaError_t error = ErrorOf(CurrentDevice())) return error;
    if (flags != cudaStreamDefault && flags != cudaStreamNonBlocking) return cudaErrorInvalidValue;
    *stream = reinterpret_cast<cudaStream_t>(
        MakeStream(CurrentDevice(), flags, std::max(-5, std::min(0, priority))));
    return cudaSuccess;
  });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

// Queued work still runs.
cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return Call([&](Lock&) {
    if (handle == nullptr || handle == cudaStreamLegacy) return cudaErrorInvalidResourceHandle;
    Stream* stream = FindStream(handle);
    if (stream->capture != nullptr) {
      return Invalidate(stream->capture, cudaErrorStreamCaptureUnsupported);
    }
    TheMachine().handles.erase(stream);
    stream->destroyed = true;
    Settle();
    return ErrorOf(stream->device);
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return WaitFor(stream); }

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return Call([&](Lock& lock) {
    Stream* stream = FindStream(handle);
    if (const cudaError_t error = Asked(stream)) return error;
    RunAFew(lock);
    if (stream->legacy) OrderWithLegacy(stream);
    Settle();
    if (!stream->queue.empty()) return cudaErrorNotReady;
    return AwaitStream(lock, stream, "cudaStreamQuery");
  });
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  return Call([&](Lock&) {
    *priority = FindStream(handle)->priority;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned* flags) {
  return Call([&](Lock&) {
    *flags = FindStream(handle)->flags;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  return Call([&](Lock&) {
    *device = FindStream(handle)->device;
    return cudaSuccess;
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data) {
  return Call([&](Lock& lock) {
    Stream* stream = FindStream(handle);
    auto task = std::make_shared<Task>();
    task->work.what = "a host function";
    task->work.run = [=] {
      function(data);
      return std::vector<Access>();
    };
    task->work.counter = nullptr;
    task->device = stream->device;
    task->host_function = true;
    return Put(lock, stream, std::move(task));
  });
}

}  // extern "C"

}  // namespace doppio::gpu_double
