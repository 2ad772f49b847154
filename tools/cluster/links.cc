#include "tools/cluster/links.h"

#include "core/base/error.h"
#include "core/base/log.h"

namespace doppio {
namespace {

constexpr const char* kNccl = "nccl";
constexpr const char* kPeers = "p2p";
constexpr const char* kHost = "host";

// Returns the link `name`. Throws DeviceError if devices of this kind do not have it.
const DeviceLink& LinkOf(const std::string& kind, const std::string& name) {
  const DeviceLink* link = FindDeviceLink(kind, name);
  if (link == nullptr)
    throw DeviceError("devices of kind " + kind + " have no link '" + name + "'");
  return *link;
}

LinkChoice Choice(const std::string& kind, const std::string& name,
                  const std::string& because = "") {
  return {name, "gradients by " + LinkOf(kind, name).describe() + because};
}

// Returns the fastest link that is available.
LinkChoice Best(const std::string& kind, bool processes, bool one_each) {
  const bool peers = !processes && FindDeviceLink(kind, kPeers) != nullptr;
  const char* const other = peers ? kPeers : kHost;
  if (FindDeviceLink(kind, kNccl) == nullptr) return Choice(kind, other);
  if (!one_each) return Choice(kind, other, ", because NCCL needs a GPU for each rank");
  try {
    return Choice(kind, kNccl);
  } catch (const DeviceError& e) {
    return Choice(kind, other, ", because " + e.message());
  }
}

}  // namespace

LinkChoice ChooseLink(const std::string& kind, const std::string& comm, bool processes,
                      bool one_each) {
  if (comm == "auto") {
    LinkChoice best = Best(kind, processes, one_each);
    best.chosen_by_itself = true;
    return best;
  }
  DOPPIO_CHECK(comm != kPeers || !processes, "ranks in processes do not copy between GPUs");
  if (comm == kNccl && !one_each) {
    throw UsageError(
        "--comm=nccl needs a GPU for each rank, and --gpu names one twice; use --comm=p2p");
  }
  try {
    return Choice(kind, comm == kNccl || comm == kPeers ? comm : kHost, " (--comm=" + comm + ")");
  } catch (const DeviceError& e) {
    RethrowWithContext(e, SourceLoc(), "--comm=" + comm);
  }
}

std::unique_ptr<Communicator> ConnectLink(const LinkChoice& link, Device* device,
                                          const LinkPlace& place) {
  std::string name = link.name;
  double without = name != kNccl;
  if (link.chosen_by_itself) place.control->AllReduce(&without, 1, DType::kFloat64);
  if (link.chosen_by_itself && name == kNccl && without > 0) {
    LOG(WARNING) << without << " of " << place.control->size()
                 << " ranks have no NCCL, so sums are made on the host";
    name = kHost;
  }
  return LinkOf(device->kind(), name).connect(device, place);
}

std::string DescribeLinks(const std::vector<Device*>& devices) {
  if (devices.size() < 2) return "";
  const DeviceLink* peers = FindDeviceLink(devices[0]->kind(), kPeers);
  return peers == nullptr ? "" : peers->describe_ways(devices);
}

}  // namespace doppio
