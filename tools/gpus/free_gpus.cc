#include "tools/gpus/free_gpus.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cctype>
#include <memory>
#include <vector>

#include "core/base/unique_fd.h"
#include "core/base/error.h"
#include "tools/gpus/gpu_readings.h"

namespace doppio {
namespace {

// A driver reserves some hundred MiB of a board for itself, and a desktop needs as much.
constexpr int64_t kIdleBytes = int64_t{1} << 30;
constexpr double kIdlePercent = 5;

// Returns a locked file, whose lock ends when it is closed; a closed one if that fails.
UniqueFd LockedFile(const std::string& path) {
  // A file of another user cannot be opened with O_CREAT (fs.protected_regular), but without it.
  UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.open())
    file = UniqueFd(open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!file.open() || flock(file.get(), LOCK_EX | LOCK_NB) != 0) return UniqueFd();
  return file;
}

// Returns why a GPU counts as busy, or "" if it is idle.
std::string WhyBusy(const GpuReading& reading) {
  if (!reading.memory_used_bytes && !reading.utilization_percent)
    return "it does not report whether it is used";
  if (reading.memory_used_bytes.value_or(0) <= kIdleBytes &&
      reading.utilization_percent.value_or(0) <= kIdlePercent)
    return "";
  return LongText(reading);
}

std::string LockFile(const std::string& folder, const std::string& pci_bus_id) {
  std::string name;
  for (char c : pci_bus_id) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '-';
  return folder + "/doppio-gpu-" + name + ".lock";
}

}  // namespace

ClaimedGpus ClaimFreeGpus(const std::vector<GpuCandidate>& candidates, int count,
                          const std::string& folder) {
  ClaimedGpus claimed;
  const auto locks = std::make_shared<std::vector<UniqueFd>>();
  claimed.claim = locks;
  std::string others;
  for (const GpuCandidate& gpu : candidates) {
    if (static_cast<int>(claimed.indices.size()) == count) return claimed;
    std::string why = WhyBusy(gpu.reading);
    if (why.empty()) {
      locks->push_back(LockedFile(LockFile(folder, gpu.pci_bus_id)));
      if (!locks->back().open())
        why = "another Doppio has taken it (" + LockFile(folder, gpu.pci_bus_id) + ")";
    }
    if (why.empty()) {
      claimed.indices.push_back(gpu.index);
    } else {
      others += "; GPU " + std::to_string(gpu.index) + ": " + why;
    }
  }
  if (static_cast<int>(claimed.indices.size()) == count) return claimed;
  throw DeviceError(claimed.indices.size(), " of ", candidates.size(), " GPUs are free, ", count,
                    " wanted", others);
}

}  // namespace doppio
