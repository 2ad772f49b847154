// Copies and memsets of CUDA's runtime. They are stricter than CUDA, so that programs do not depend
// on more than CUDA documents: the direction must match the addresses, and a capture rejects
// pageable memory in both directions.
#include <cstring>
#include <utility>

#include "tests/double/machine/memory.h"
#include "tests/double/machine/queues.h"
#include "tests/double/machine/settings.h"

namespace doppio::gpu_double {
namespace {

enum class Place { kPageable, kPinnedHost, kDevice };

Place PlaceOf(const void* at) {
  if (IsDeviceAddress(at)) return Place::kDevice;
  Block block;
  return FindBlock(at, &block) ? Place::kPinnedHost : Place::kPageable;
}

bool Fits(cudaMemcpyKind kind, Place to, Place from) {
  const bool to_device = to == Place::kDevice, from_device = from == Place::kDevice;
  switch (kind) {
    case cudaMemcpyHostToHost:
      return !to_device && !from_device;
    case cudaMemcpyHostToDevice:
      return to_device && !from_device;
    case cudaMemcpyDeviceToHost:
      return !to_device && from_device;
    case cudaMemcpyDeviceToDevice:
      return to_device && from_device;
    case cudaMemcpyDefault:
      return true;
  }
  return false;
}

std::shared_ptr<Task> NewTask(const Stream& stream, std::string what) {
  auto task = std::make_shared<Task>();
  task->work.what = std::move(what);
  task->work.any_device = true;
  task->device = stream.device;
  return task;
}

void Classify(Task* task, Place to, Place from, int64_t bytes) {
  int64_t Counters::*counted = &Counters::copy_bytes;
  task->work.counter = &Counters::copies;
  if (from != Place::kDevice && to == Place::kDevice) {
    task->work.what = "a copy of " + std::to_string(bytes) + " bytes to the GPU";
    task->work.counter = &Counters::uploads;
    counted = &Counters::upload_bytes;
    task->upload = true;
  } else if (from == Place::kDevice && to != Place::kDevice) {
    task->work.what = "a copy of " + std::to_string(bytes) + " bytes from the GPU";
    task->work.counter = &Counters::downloads;
    counted = &Counters::download_bytes;
  }
  const auto copy = task->work.run;
  task->work.run = [copy, counted, bytes] {
    Count(counted, bytes);
    return copy();
  };
}

// Puts a copy on the stream. Sets *blocks to whether CUDA returns only after the copy is done.
cudaError_t PutCopy(Lock& lock, Stream* stream, void* to, const void* from, int64_t bytes,
                    cudaMemcpyKind kind, bool* blocks) {
  if (kind == cudaMemcpyHostToDevice && Planted("copy-too-long")) bytes *= 2;
  if (kind == cudaMemcpyHostToDevice && Planted("copy-wrong-way")) {
    const void* const source = std::exchange(from, to);
    to = const_cast<void*>(source);
  }
  const Place to_place = PlaceOf(to), from_place = PlaceOf(from);
  *blocks = to_place == Place::kPageable;
  if (!Fits(kind, to_place, from_place)) return cudaErrorInvalidValue;
  if (bytes == 0) return cudaSuccess;
  if (from_place == Place::kDevice && to_place != Place::kDevice && Planted("host-touch")) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
  }
  const bool pageable = to_place == Place::kPageable || from_place == Place::kPageable;
  if (stream->capture != nullptr && pageable) {
    return Invalidate(stream->capture, cudaErrorStreamCaptureUnsupported);
  }
  std::shared_ptr<Task> task = NewTask(*stream, "a copy of " + std::to_string(bytes) + " bytes");
  const size_t size = static_cast<size_t>(bytes);
  if (from_place == Place::kPageable) {
    // Copies the current bytes, so that later changes by the host have no effect.
    const char* begin = static_cast<const char*>(from);
    auto kept = std::make_shared<std::vector<char>>(begin, begin + bytes);
    task->work.run = [=] {
      std::memcpy(to, kept->data(), size);
      return std::vector<Access>();
    };
  } else {
    task->work.accesses.push_back({from, bytes, false});
    task->work.run = [=] {
      if (from_place == Place::kPinnedHost && Planted("stale-upload")) {
        static auto& first = *new std::map<void*, std::vector<char>>;
        std::vector<char>& kept = first[to];
        const char* begin = static_cast<const char*>(from);
        if (kept.size() < size) kept.assign(begin, begin + bytes);
        std::memcpy(to, kept.data(), size);
        return std::vector<Access>();
      }
      std::memmove(to, from, size);
      return std::vector<Access>();
    };
  }
  task->work.accesses.push_back({to, bytes, true});
  if (from_place == Place::kPinnedHost) {
    task->source = {static_cast<char*>(const_cast<void*>(from)), bytes};
  }
  if (to_place == Place::kPinnedHost) task->destination = {static_cast<char*>(to), bytes};
  Classify(task.get(), to_place, from_place, bytes);
  const cudaError_t error = Put(lock, stream, std::move(task));
  if (from_place == Place::kPinnedHost && Planted("pinned-reused")) {
    *static_cast<char*>(const_cast<void*>(from)) ^= 1;
  }
  return error;
}

cudaError_t CopyAsync(Lock& lock, Stream* stream, void* to, const void* from, size_t bytes,
                      cudaMemcpyKind kind) {
  bool blocks = false;
  const cudaError_t error =
      PutCopy(lock, stream, to, from, static_cast<int64_t>(bytes), kind, &blocks);
  if (error != cudaSuccess || !blocks) return error;
  return AwaitStream(lock, stream, "cudaMemcpyAsync to pageable memory");
}

// Copies on the default stream. Only copies within and between devices return before they are done.
cudaError_t Copy(Lock& lock, void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  if (const cudaError_t error = ForbidHere()) return error;
  Stream* stream = FindStream(nullptr);
  bool blocks = false;
  const cudaError_t error =
      PutCopy(lock, stream, to, from, static_cast<int64_t>(bytes), kind, &blocks);
  if (error != cudaSuccess) return error;
  if (PlaceOf(to) == Place::kDevice && PlaceOf(from) == Place::kDevice) return cudaSuccess;
  return AwaitStream(lock, stream, "cudaMemcpy");
}

cudaError_t Clear(Lock& lock, Stream* stream, void* at, int value, size_t bytes) {
  // As for kernels, the stream must be on the current device.
  if (stream->device != CurrentDevice()) return cudaErrorInvalidResourceHandle;
  const Place place = PlaceOf(at);
  if (place == Place::kPageable) return cudaErrorInvalidValue;
  if (bytes == 0) return cudaSuccess;
  const int64_t size = static_cast<int64_t>(bytes);
  std::shared_ptr<Task> task =
      NewTask(*stream, "a clearing of " + std::to_string(bytes) + " bytes");
  task->work.any_device = false;
  task->work.accesses.push_back({at, size, true});
  task->work.counter = &Counters::clearings;
  task->work.run = [=] {
    Count(&Counters::clearing_bytes, size);
    if (!Planted("memset-missing")) SetBytes(at, value, size);
    return std::vector<Access>();
  };
  if (place == Place::kPinnedHost) task->destination = {static_cast<char*>(at), size};
  return Put(lock, stream, std::move(task));
}

cudaError_t CheckPlace(const void* at, int device) {
  Block block;
  if (!FindBlock(at, &block) || block.device != device) return cudaErrorInvalidValue;
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return Call(
      [&](Lock& lock) { return CopyAsync(lock, FindStream(stream), to, from, bytes, kind); });
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return Call([&](Lock& lock) { return Copy(lock, to, from, bytes, kind); });
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                size_t bytes, cudaStream_t stream) {
  return Call([&](Lock& lock) {
    if (const cudaError_t error = CheckPlace(to, to_device)) return error;
    if (const cudaError_t error = CheckPlace(from, from_device)) return error;
    return CopyAsync(lock, FindStream(stream), to, from, bytes, cudaMemcpyDeviceToDevice);
  });
}

cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device,
                           size_t bytes) {
  return Call([&](Lock& lock) {
    if (const cudaError_t error = CheckPlace(to, to_device)) return error;
    if (const cudaError_t error = CheckPlace(from, from_device)) return error;
    return Copy(lock, to, from, bytes, cudaMemcpyDeviceToDevice);
  });
}

cudaError_t cudaMemsetAsync(void* at, int value, size_t bytes, cudaStream_t stream) {
  return Call([&](Lock& lock) { return Clear(lock, FindStream(stream), at, value, bytes); });
}

cudaError_t cudaMemset(void* at, int value, size_t bytes) {
  return Call([&](Lock& lock) {
    if (const cudaError_t error = ForbidHere()) return error;
    return Clear(lock, FindStream(nullptr), at, value, bytes);
  });
}

}  // extern "C"

}  // namespace doppio::gpu_double
