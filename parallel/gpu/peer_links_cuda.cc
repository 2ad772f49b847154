#include "parallel/gpu/peer_links_cuda.h"

#include "core/base/log.h"

namespace doppio {
namespace {

int GpuNumber(Device* device) {
  GpuOf(device);  // makes the device current
  int number = 0;
  Cuda(cudaGetDevice(&number), "querying the index of", device->name());
  return number;
}

int BoardNumber(int gpu) {
  cudaDeviceProp properties{};
  Cuda(cudaGetDeviceProperties(&properties, gpu), "querying the properties of GPU",
       std::to_string(gpu));
  return properties.isMultiGpuBoard != 0 ? properties.multiGpuBoardGroupID : -1;
}

// Returns true if the driver allows GPU `to` to read the memory of GPU `from`.
bool DriverAllows(int from, int to) {
  int allowed = 0;
  Cuda(cudaDeviceCanAccessPeer(&allowed, to, from), "querying peer access from GPU",
       std::to_string(to));
  return allowed != 0;
}

// Lets the thread's current device access `gpu`. Returns false on failure, e.g. if the device has
// too many peers.
bool EnableAccessTo(int gpu) {
  const cudaError_t result = cudaDeviceEnablePeerAccess(gpu, 0);
  if (result == cudaSuccess) return true;
  cudaGetLastError();
  return result == cudaErrorPeerAccessAlreadyEnabled;
}

}  // namespace

PeerLinks::PeerLinks(const std::vector<SideStream*>& streams, bool direct)
    : direct_(std::make_unique<bool[]>(streams.size() * streams.size())) {
  for (SideStream* stream : streams) {
    const int gpu = GpuNumber(stream->device());
    places_.push_back({stream, gpu, BoardNumber(gpu), nullptr, nullptr});
  }
  const int size = static_cast<int>(streams.size());
  for (int a = 0; a < size; ++a) {
    for (int b = 0; b < size; ++b) {
      if (direct && a != b) TryDirect(a, b);
    }
  }
}

void PeerLinks::TryDirect(int a, int b) {
  const Place& from = places_[a];
  const Place& to = places_[b];
  if (from.gpu == to.gpu) {
    direct(a, b) = true;
    return;
  }
  if (!DriverAllows(from.gpu, to.gpu)) return;
  to.stream->gpu();  // makes the reader's device current
  if (!EnableAccessTo(from.gpu)) return;
  const std::string wrong = WhyNotDirect(a, b);
  direct(a, b) = wrong.empty();
  if (wrong.empty()) return;
  LOG(WARNING) << "direct copies from " << from.stream->device()->name() << " to "
               << to.stream->device()->name() << " fail (" << wrong
               << "); Doppio copies through host memory instead. Peer access does not work on this "
                  "machine; it often needs the IOMMU or PCIe access control (ACS) to be disabled";
}

// Tests a copy, because some machines offer peer access but corrupt the data on their buses.
std::string PeerLinks::WhyNotDirect(int a, int b) {
  constexpr int64_t kCount = 1 << 16, kBytes = kCount * static_cast<int64_t>(sizeof(uint32_t));
  std::vector<uint32_t> sent(kCount), received(kCount);
  for (size_t i = 0; i < sent.size(); ++i)
    sent[i] = static_cast<uint32_t>(i * 2654435761u) + static_cast<uint32_t>(a * 64 + b);
  SideStream* reader = places_[b].stream;
  Device* sender = places_[a].stream->device();
  try {
    const Buffer source(sender, kBytes), target(reader->device(), kBytes);
    sender->CopyFromHost(source.data(), sent.data(), kBytes);
    reader->device()->Synchronize();  // waits until the target is zeroed
    CopyDirectly(a, source.data(), b, target.data(), kBytes);
    reader->Wait();
    reader->device()->CopyToHost(received.data(), target.data(), kBytes);
  } catch (const DeviceError& e) {
    return e.message();
  }
  return received == sent ? "" : "the received bytes differ from the sent ones";
}

Closeness PeerLinks::CloseTo(int a, int b) const {
  const Place& one = places_[a];
  const Place& other = places_[b];
  if (!direct(a, b) || !direct(b, a)) return Closeness::kThroughHost;
  if (one.gpu == other.gpu) return Closeness::kOneGpu;
  return one.board >= 0 && one.board == other.board ? Closeness::kOneBoard : Closeness::kPeers;
}

void PeerLinks::Copy(int a, const void* from, int b, void* to, int64_t bytes) {
  if (direct(a, b)) {
    CopyDirectly(a, from, b, to, bytes);
  } else {
    CopyThroughHost(a, from, b, to, bytes);
  }
}

void PeerLinks::CopyDirectly(int a, const void* from, int b, void* to, int64_t bytes) {
  SideStream* reader = places_[b].stream;
  reader->Follow(places_[a].stream);
  reader->Copy(to, from, bytes);
}

void PeerLinks::CopyThroughHost(int a, const void* from, int b, void* to, int64_t bytes) {
  Place& sender = places_[a];
  SideStream* reader = places_[b].stream;
  DOPPIO_CHECK(bytes <= kMostBytes, std::to_string(bytes));
  if (sender.outbox == nullptr)
    sender.outbox = std::make_unique<PinnedBuffer>(sender.stream->device(), kMostBytes);
  if (sender.outbox_reader != nullptr) sender.stream->Follow(sender.outbox_reader);
  sender.outbox_reader = reader;
  sender.stream->Copy(sender.outbox->data(), from, bytes);
  reader->Follow(sender.stream);
  reader->Copy(to, sender.outbox->data(), bytes);
}

std::string PeerAccessText(const std::vector<Device*>& devices) {
  std::string direct, staged;
  for (size_t a = 0; a < devices.size(); ++a) {
    for (size_t b = a + 1; b < devices.size(); ++b) {
      const int one = GpuNumber(devices[a]), other = GpuNumber(devices[b]);
      if (one == other) continue;
      std::string& list = DriverAllows(one, other) && DriverAllows(other, one) ? direct : staged;
      list += (list.empty() ? "" : ", ") + std::to_string(a) + "-" + std::to_string(b);
    }
  }
  if (direct.empty() && staged.empty()) return "";
  return "peer access between the GPUs of ranks: " + (direct.empty() ? "none" : direct) +
         (staged.empty() ? "" : "; through host memory: " + staged);
}

}  // namespace doppio
