// Memory of CUDA's runtime: allocation, and attributes of addresses.
#include "tests/double/machine/memory.h"

#include "tests/double/machine/fault.h"
#include "tests/double/machine/queues.h"
#include "tests/double/machine/settings.h"

namespace doppio::gpu_double {
namespace {

cudaError_t Allowed() {
  if (const cudaError_t error = ForbidHere()) return error;
  return ErrorOf(CurrentDevice());
}

cudaError_t Take(void** to, void* memory) {
  if (memory == nullptr) return cudaErrorMemoryAllocation;
  *to = memory;
  return cudaSuccess;
}

// Frees the memory even if the device is lost, because the error is the device's, not the memory's.
cudaError_t FreeOf(Lock& lock, void* memory) {
  Block block;
  if (!FindBlock(memory, &block) || block.device == kPinned) {
    if (block.device == kPinned) Fault("free", "cudaFree is given " + Describe(memory));
    FreeDevice(memory);
    return cudaSuccess;
  }
  const cudaError_t error = AwaitDevice(lock, block.device, "cudaFree");
  FreeDevice(memory);
  if (Planted("double-free")) FreeDevice(memory);
  return error;
}

cudaError_t FreePinnedOf(Lock& lock, void* memory) {
  cudaError_t error = cudaSuccess;
  for (size_t i = 0; i < TheMachine().devices.size(); ++i) {
    const cudaError_t of_device = AwaitDevice(lock, static_cast<int>(i), "cudaFreeHost");
    if (static_cast<int>(i) == CurrentDevice()) error = of_device;
  }
  Block block;
  if (FindBlock(memory, &block) && block.device != kPinned) {
    Fault("free", "cudaFreeHost is given " + Describe(memory));
  }
  FreePinned(memory);
  return error;
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** memory, size_t bytes) {
  return Call([&](Lock&) {
    if (const cudaError_t error = Allowed()) return error;
    *memory = nullptr;
    if (bytes == 0) return cudaSuccess;
    if (bytes > 4 && Planted("short-allocation")) bytes -= 4;
    return Take(memory, AllocateDevice(CurrentDevice(), static_cast<int64_t>(bytes)));
  });
}

cudaError_t cudaFree(void* memory) {
  return Call([&](Lock& lock) {
    if (const cudaError_t error = ForbidHere()) return error;
    return memory == nullptr ? ErrorOf(CurrentDevice()) : FreeOf(lock, memory);
  });
}

cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) {
  return Call([&](Lock&) {
    if (const cudaError_t error = Allowed()) return error;
    *memory = nullptr;
    if (bytes == 0) return cudaSuccess;
    return Take(memory, AllocatePinned(static_cast<int64_t>(bytes)));
  });
}

cudaError_t cudaMallocHost(void** memory, size_t bytes) {
  return cudaHostAlloc(memory, bytes, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void* memory) {
  return Call([&](Lock& lock) {
    if (const cudaError_t error = ForbidHere()) return error;
    return memory == nullptr ? cudaSuccess : FreePinnedOf(lock, memory);
  });
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  return Call([&](Lock&) {
    Block block;
    if (!FindBlock(host, &block) || block.device != kPinned) return cudaErrorInvalidValue;
    *device = host;
    return cudaSuccess;
  });
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return Call([&](Lock&) {
    if (const cudaError_t error = ErrorOf(CurrentDevice())) return error;
    *free = static_cast<size_t>(FreeBytes(CurrentDevice()));
    *total = static_cast<size_t>(TotalBytes(CurrentDevice()));
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* at) {
  return Call([&](Lock&) {
    *attributes = cudaPointerAttributes{};
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->device = cudaInvalidDeviceId;
    Block block;
    void* address = const_cast<void*>(at);
    if (!FindBlock(at, &block)) {
      attributes->hostPointer = address;
      return cudaSuccess;
    }
    const bool pinned = block.device == kPinned;
    attributes->type = pinned ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
    attributes->device = pinned ? CurrentDevice() : block.device;
    attributes->devicePointer = address;
    attributes->hostPointer = pinned ? address : nullptr;
    return cudaSuccess;
  });
}

}  // extern "C"

}  // namespace doppio::gpu_double
