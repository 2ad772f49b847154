// A device that computes and owns memory. Values of this class are made once by tools/ and passed
// down; there is no "current device".
#ifndef DOPPIO_CORE_DEVICE_DEVICE_H_
#define DOPPIO_CORE_DEVICE_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/registry.h"

namespace doppio {

enum class DeviceKind { kCpu, kCuda };

// What factors of matrix products and convolutions may be rounded to; sums stay single. kTf32: 10
// bits of mantissa (NVIDIA's tensor cores); kBFloat16: 7 bits (CPUs with instructions for it,
// others compute as with kFloat32).
enum class MathMode { kFloat32, kTf32, kBFloat16 };

inline const char* Name(DeviceKind kind) { return kind == DeviceKind::kCpu ? "CPU" : "CUDA"; }

// Work that a device has taken down and does again as one (a CUDA graph).
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void Run() = 0;
};

// Copies of a device's memory that the host reads later, so that neither waits for the other.
class Download {
 public:
  virtual ~Download() = default;
  // Copies to `offset` of the host's memory what is at `from` once the device has done what it was
  // asked so far.
  virtual void Start(int64_t offset, const void* from, int64_t bytes) = 0;
  // Waits for all that was started. The memory stays as it is until the next Start.
  virtual const char* Wait() = 0;
};

class Device {
 public:
  virtual ~Device() { DropAttached(); }
  virtual DeviceKind kind() const = 0;
  virtual std::string name() const = 0;                  // "CPU (2 threads)", "GPU 0 (NVIDIA H200)"
  virtual std::string pci_bus_id() const { return ""; }  // "0000:3B:00.0"; "" for what is no board

  // 64-byte aligned and zeroed (on the CPU touched first by the threads that compute). Throws
  // MemoryError. Freed memory is kept for the next request of its size class.
  virtual void* Allocate(int64_t bytes) = 0;
  virtual void Free(void* memory) noexcept = 0;

  // Between this device and the host, or within the device; complete when they return.
  virtual void CopyFromHost(void* to, const void* from, int64_t bytes) = 0;
  virtual void CopyToHost(void* to, const void* from, int64_t bytes) = 0;
  virtual void Zero(void* memory, int64_t bytes) = 0;
  virtual void Synchronize() = 0;
  // Of so many bytes in all.
  virtual std::unique_ptr<Download> MakeDownload(int64_t bytes);

  // Takes down what `work` asks of this device, without doing it; `work` must ask for the same
  // every time, and wait for nothing. Null where the device cannot; then nothing was done.
  virtual std::unique_ptr<Recording> Record(const std::function<void()>& /*work*/) {
    return nullptr;
  }

  virtual int64_t bytes_in_use() const = 0;
  virtual int64_t peak_bytes() const = 0;
  // What Allocate could still hand out in all; -1 when nobody knows.
  virtual int64_t free_bytes() { return -1; }

  // What single-precision products may be rounded to on the way; set before anything is made for
  // the device.
  MathMode math() const { return math_; }
  void set_math(MathMode math) { math_ = math; }
  // Likewise, for devices whose libraries offer several algorithms: the most memory one may work
  // in, and whether only those count that give the same bits every time.
  int64_t workspace_bytes() const { return workspace_bytes_; }
  void set_workspace_bytes(int64_t bytes) { workspace_bytes_ = bytes; }
  bool deterministic() const { return deterministic_; }
  void set_deterministic(bool deterministic) { deterministic_ = deterministic; }
  // Whether work that is the same in every pass is to be recorded, where the device can.
  bool records() const { return records_; }
  void set_records(bool records) { records_ = records; }

  // What higher floors keep for a device, such as the handle of a library: made as T(this) by the
  // first call. The last one made goes first, so a thing may use what was there before it.
  template <class T>
  T& Attached(const std::string& key) {
    for (const auto& [name, kept] : attached_) {
      if (name == key) return *static_cast<T*>(kept.get());
    }
    auto made = std::make_shared<T>(this);
    attached_.emplace_back(key, made);
    return *made;
  }

 protected:
  // For destructors, while the device still works.
  void DropAttached() {
    while (!attached_.empty()) attached_.pop_back();
  }

 private:
  MathMode math_ = MathMode::kFloat32;
  int64_t workspace_bytes_ = int64_t{512} << 20;
  bool deterministic_ = false;
  bool records_ = true;
  std::vector<std::pair<std::string, std::shared_ptr<void>>> attached_;  // as they were made
};

// Owns a block of a device's memory.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Device* device, int64_t bytes)
      : device_(device), data_(bytes > 0 ? device->Allocate(bytes) : nullptr), bytes_(bytes) {}
  ~Buffer() { reset(); }
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  void reset() {
    if (data_ != nullptr) device_->Free(data_);
    data_ = nullptr;
    bytes_ = 0;
  }

 private:
  Device* device_ = nullptr;
  void* data_ = nullptr;
  int64_t bytes_ = 0;
};

std::unique_ptr<Device> MakeCpuDevice();

// What `device_query` prints and `--gpu` checks: accelerators register a lister and a maker where
// they are linked in; a CPU-only build has none.
struct DeviceInfo {
  int index = 0;
  std::string name;
  std::string description;  // compute capability, memory, driver
  std::string pci_bus_id;   // as Device::pci_bus_id
  std::string unusable;     // empty, or why the device cannot be used
};
struct DeviceBackend {
  // Never empty: throws DeviceError, with what to do, when there is no driver or no device.
  std::vector<DeviceInfo> (*list)();
  std::unique_ptr<Device> (*make)(int index);
};
using DeviceBackends = Registry<DeviceBackend>;  // by name: "CUDA"

}  // namespace doppio

#endif  // DOPPIO_CORE_DEVICE_DEVICE_H_
