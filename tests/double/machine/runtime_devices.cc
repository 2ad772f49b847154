// Devices of CUDA's runtime.
#include <cstdio>
#include <cstring>

#include "tests/double/machine/memory.h"
#include "tests/double/machine/planted.h"
#include "tests/double/machine/queues.h"
#include "tests/double/machine/settings.h"

namespace doppio::gpu_double {
namespace {

constexpr int kMultiprocessors = 132;
constexpr int kDriver = 13000;

bool Exists(int device) {
  return device >= 0 && device < static_cast<int>(TheMachine().devices.size());
}

bool PeersPossible(int from, int to) {
  const std::string& peers = TheSettings().peers;
  if (from == to || peers == "none") return false;
  return peers != "pairs" || (from ^ 1) == to;
}

cudaError_t EnablePeer(int from, int to) {
  if (!Exists(to)) return cudaErrorInvalidDevice;
  if (const cudaError_t error = ErrorOf(from)) return error;
  if (!PeersPossible(from, to)) {
    return from == to ? cudaErrorInvalidDevice : cudaErrorPeerAccessUnsupported;
  }
  if (TheSettings().peers == "broken") return cudaErrorPeerAccessUnsupported;
  if (HasPeerAccess(from, to)) return cudaErrorPeerAccessAlreadyEnabled;
  SetPeerAccess(from, to, true);
  return cudaSuccess;
}

// Fills in the figures of an H100, so that decisions based on them are realistic.
void FillProperties(cudaDeviceProp* p, int device) {
  *p = cudaDeviceProp{};
  std::snprintf(p->name, sizeof p->name, "Double of a GPU");
  std::memset(p->uuid.bytes, device + 1, sizeof p->uuid.bytes);
  p->major = TheSettings().capability / 10;
  p->minor = TheSettings().capability % 10;
  p->totalGlobalMem = static_cast<size_t>(TotalBytes(device));
  p->sharedMemPerBlock = 48 << 10;
  p->sharedMemPerBlockOptin = 227 << 10;
  p->sharedMemPerMultiprocessor = 228 << 10;
  p->reservedSharedMemPerBlock = 1 << 10;
  p->regsPerBlock = p->regsPerMultiprocessor = 65536;
  p->warpSize = 32;
  p->maxThreadsPerBlock = 1024;
  p->maxThreadsPerMultiProcessor = 2048;
  p->maxBlocksPerMultiProcessor = 32;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
  p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 2147483647;
  p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->totalConstMem = 64 << 10;
  p->textureAlignment = 512;
  p->memoryBusWidth = 5120;
  p->l2CacheSize = 50 << 20;
  p->multiProcessorCount = kMultiprocessors;
  p->concurrentKernels = p->canMapHostMemory = p->unifiedAddressing = 1;
  p->managedMemory = p->computePreemptionSupported = p->cooperativeLaunch = 1;
  p->streamPrioritiesSupported = p->canUseHostPointerForRegisteredMem = 1;
  p->asyncEngineCount = 3;
  p->pciBusID = 0x10 + device;
}

bool Attribute(const cudaDeviceProp& p, cudaDeviceAttr attribute, int* value) {
  const std::pair<cudaDeviceAttr, int> known[] = {
      {cudaDevAttrMaxThreadsPerBlock, p.maxThreadsPerBlock},
      {cudaDevAttrMaxBlockDimX, p.maxThreadsDim[0]},
      {cudaDevAttrMaxGridDimX, p.maxGridSize[0]},
      {cudaDevAttrMaxGridDimY, p.maxGridSize[1]},
      {cudaDevAttrMaxSharedMemoryPerBlock, static_cast<int>(p.sharedMemPerBlock)},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, static_cast<int>(p.sharedMemPerBlockOptin)},
      {cudaDevAttrMaxSharedMemoryPerMultiprocessor, static_cast<int>(p.sharedMemPerMultiprocessor)},
      {cudaDevAttrMaxRegistersPerBlock, p.regsPerBlock},
      {cudaDevAttrMaxThreadsPerMultiProcessor, p.maxThreadsPerMultiProcessor},
      {cudaDevAttrMaxBlocksPerMultiprocessor, p.maxBlocksPerMultiProcessor},
      {cudaDevAttrWarpSize, p.warpSize},
      {cudaDevAttrClockRate, 1980000},
      {cudaDevAttrMemoryClockRate, 2619000},
      {cudaDevAttrGlobalMemoryBusWidth, p.memoryBusWidth},
      {cudaDevAttrL2CacheSize, p.l2CacheSize},
      {cudaDevAttrMultiProcessorCount, p.multiProcessorCount},
      {cudaDevAttrComputeCapabilityMajor, p.major},
      {cudaDevAttrComputeCapabilityMinor, p.minor},
      {cudaDevAttrUnifiedAddressing, p.unifiedAddressing},
      {cudaDevAttrAsyncEngineCount, p.asyncEngineCount},
      {cudaDevAttrPciBusId, p.pciBusID},
      {cudaDevAttrPciDeviceId, p.pciDeviceID},
      {cudaDevAttrPciDomainId, p.pciDomainID},
      {cudaDevAttrConcurrentKernels, p.concurrentKernels},
      {cudaDevAttrCooperativeLaunch, p.cooperativeLaunch},
      {cudaDevAttrIntegrated, p.integrated},
      {cudaDevAttrCanMapHostMemory, p.canMapHostMemory},
      {cudaDevAttrMemoryPoolsSupported, 0},
  };
  for (const auto& pair : known) {
    if (pair.first != attribute) continue;
    *value = pair.second;
    return true;
  }
  return false;
}

// Waits for the current device. Invalidates a capture, because the wait would include the captured
// stream.
cudaError_t WaitForCurrent(Lock& lock) {
  for (Stream* stream : TheMachine().streams) {
    if (stream->capture == nullptr || stream->device != CurrentDevice()) continue;
    return Invalidate(stream->capture, cudaErrorStreamCaptureUnsupported);
  }
  if (const cudaError_t error = ForbidHere()) return error;
  return AwaitDevice(lock, CurrentDevice(), "cudaDeviceSynchronize");
}

// Destroys the streams and events of the device, but keeps its memory.
cudaError_t Reset(Lock& lock) {
  Machine& machine = TheMachine();
  const int device = CurrentDevice();
  WaitForCurrent(lock);
  for (Stream* stream : machine.streams) {
    if (stream->device != device || stream->legacy) continue;
    machine.handles.erase(stream);
    stream->destroyed = true;
  }
  Settle();
  ForgetPeersOf(device);
  machine.devices[static_cast<size_t>(device)].error = cudaSuccess;
  return cudaSuccess;
}

}  // namespace

bool PeerEnabled(int from, int to) { return HasPeerAccess(from, to); }

void ForgetPeersOf(int device) {
  const int devices = static_cast<int>(TheMachine().devices.size());
  for (int peer = 0; peer < devices; ++peer) {
    if (peer != device) SetPeerAccess(device, peer, false);
  }
}

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  return Call([&](Lock&) {
    *count = static_cast<int>(TheMachine().devices.size());
    return cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int device) {
  return Call([&](Lock&) {
    if (!Exists(device)) return cudaErrorInvalidDevice;
    if (!Planted(kDeviceNotSet)) SetCurrentDevice(device);
    return ErrorOf(device);
  });
}

cudaError_t cudaGetDevice(int* device) {
  return Call([&](Lock&) {
    *device = CurrentDevice();
    return cudaSuccess;
  });
}

cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
  return Call([&](Lock&) { return Exists(device) ? ErrorOf(device) : cudaErrorInvalidDevice; });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return Call([&](Lock&) {
    if (!Exists(device)) return cudaErrorInvalidDevice;
    FillProperties(properties, device);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return Call([&](Lock&) {
    if (!Exists(device)) return cudaErrorInvalidDevice;
    cudaDeviceProp properties;
    FillProperties(&properties, device);
    return Attribute(properties, attribute, value) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int device) {
  return Call([&](Lock&) {
    if (!Exists(device)) return cudaErrorInvalidDevice;
    char bus[16];
    std::snprintf(bus, sizeof bus, "0000:%02x:00.0", static_cast<unsigned>(0x10 + device) & 255u);
    if (size <= static_cast<int>(std::strlen(bus))) return cudaErrorInvalidValue;
    std::snprintf(text, static_cast<size_t>(size), "%s", bus);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  return Call([&](Lock& lock) { return WaitForCurrent(lock); });
}

cudaError_t cudaDeviceReset() {
  return Call([&](Lock& lock) { return Reset(lock); });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return Call([&](Lock&) {
    if (!Exists(device) || !Exists(peer)) return cudaErrorInvalidDevice;
    *can = PeersPossible(device, peer) ? 1 : 0;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return Call([&](Lock&) {
    return flags != 0 ? cudaErrorInvalidValue : EnablePeer(CurrentDevice(), peer);
  });
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return Call([&](Lock&) {
    if (!Exists(peer)) return cudaErrorInvalidDevice;
    const int device = CurrentDevice();
    if (device == peer || !HasPeerAccess(device, peer)) return cudaErrorPeerAccessNotEnabled;
    SetPeerAccess(device, peer, false);
    return cudaSuccess;
  });
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = kDriver;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

}  // extern "C"

}  // namespace doppio::gpu_double
