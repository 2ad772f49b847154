// A device that computes and owns memory. Commands in tools/ create the devices once and pass them
// on; there is no "current device".
#ifndef DOPPIO_CORE_DEVICE_DEVICE_H_
#define DOPPIO_CORE_DEVICE_DEVICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/registry.h"
#include "core/device/candidates.h"

namespace doppio {

// The kind of the devices that compute on the host. Every other kind is a backend's, which
// registers all that it offers under the name of its kind; no other code knows the name ("A new
// kind of device" in docs/extending.md).
struct DeviceKind {
  static constexpr char kCpu[] = "CPU";
};
inline bool IsHostKind(const std::string& kind) { return kind == DeviceKind::kCpu; }

// Precision to which the factors of matrix products and convolutions may be rounded. Sums are in
// single precision. kTf32 has 10 bits of mantissa (NVIDIA's tensor cores), kBFloat16 has 7 bits (on
// CPUs with bfloat16 instructions; other CPUs compute as with kFloat32).
enum class MathMode { kFloat32, kTf32, kBFloat16 };

// A recorded sequence of device work that Run launches as a whole.
class Recording {
 public:
  virtual ~Recording() = default;
  // Enqueues the recorded work.
  virtual void Run() = 0;
};

// Asynchronous copies from a device to host memory. Only Wait blocks the host.
class Download {
 public:
  virtual ~Download() = default;
  // Copies `bytes` bytes from device memory at `from` to `offset` of the host memory. The copy runs
  // after all work that the device was given before this call.
  virtual void Start(int64_t offset, const void* from, int64_t bytes) = 0;
  // Blocks until all started copies are complete and returns the host memory. Its contents stay
  // valid until the next Start.
  virtual const char* Wait() = 0;
};

// Part `part` of `parts` equal parts of the compute threads.
struct CpuShare {
  int part = 0, parts = 1;
};

// Properties by which code serves all kinds of devices. The defaults are those of a device that
// computes on the host.
struct DeviceProperties {
  // The host can use the addresses from Allocate, and the CPU's kernels compute on the device.
  bool host_memory = true;
  // The device queues work on a stream, so that calls return before it is done.
  bool asynchronous = false;
  // `device_query` lists the device, and `--gpu` names it.
  bool listed = false;
  // The library that obeys DeviceSettings::workspace_bytes ("cuDNN"), or "" if there is none.
  std::string algorithm_library = "";
  // "0000:3B:00.0", or "" if the device is not on a PCI bus.
  std::string pci_bus_id = "";
  // The number of threads with which the host computes for this device, or 0 if they are all
  // threads of the process. Code that makes or runs a kernel sets it (ThreadCount).
  int threads = 0;
  CpuShare cpu_share = {};  // this device's share of the compute threads
};

// Settings of the kernels of a device. Change them before any kernel is created for the device.
struct DeviceSettings {
  // Limits for libraries that offer several algorithms: the largest scratch memory that an
  // algorithm may use, and whether only algorithms with bitwise reproducible results are allowed.
  int64_t workspace_bytes = int64_t{512} << 20;
  bool deterministic = false;
  // Precision to which factors of single-precision products may be rounded.
  MathMode math = MathMode::kFloat32;
  // If true and if the device can record, work that is identical in every pass is recorded.
  bool records = true;
};

class Device;

// Objects that higher-level code keeps for a device, such as library handles. They are destroyed in
// reverse order of creation, so an object may use those that existed before it.
class AttachedObjects {
 public:
  explicit AttachedObjects(Device* device) : device_(device) {}
  ~AttachedObjects() { Clear(); }
  // Returns the object with `key`. The first call creates it as T(device).
  template <class T>
  T& Get(const std::string& key) {
    for (const auto& [name, kept] : objects_) {
      if (name == key) return *static_cast<T*>(kept.get());
    }
    auto made = std::make_shared<T>(device_);
    objects_.emplace_back(key, made);
    return *made;
  }
  // Destroys the objects. Destructors of devices call this while the device still works.
  void Clear() {
    while (!objects_.empty()) objects_.pop_back();
  }

 private:
  Device* const device_;
  std::vector<std::pair<std::string, std::shared_ptr<void>>> objects_;  // in order of creation
};

class Device {
 public:
  explicit Device(DeviceProperties properties = {}) : properties(std::move(properties)) {}
  virtual ~Device() = default;
  virtual std::string kind() const = 0;  // DeviceKind::kCpu, or the name of a backend
  virtual std::string name() const = 0;  // "CPU (2 threads)", "GPU 0 (NVIDIA H200)"

  const DeviceProperties properties;
  DeviceSettings settings;

  // Returns zeroed memory with at least 64-byte alignment. On the CPU, the compute threads touch
  // the memory first. Throws MemoryError. Free keeps the memory for the next request of its size
  // class.
  virtual void* Allocate(int64_t bytes) = 0;
  // Returns memory from Allocate to this device's cache. Does not block.
  virtual void Free(void* memory) noexcept = 0;

  // Copy between this device and the host, or within the device. Both block until the copy is
  // complete.
  virtual void CopyFromHost(void* to, const void* from, int64_t bytes) = 0;
  virtual void CopyToHost(void* to, const void* from, int64_t bytes) = 0;
  // Copies from memory of `peer`, a device of the same kind. `peer` must have finished the work
  // that wrote `from`. Runs in the order of this device's work and may return before it is
  // complete. The default copies through host memory.
  virtual void CopyFromPeer(Device* peer, void* to, const void* from, int64_t bytes);
  // Copies to memory of `peer`, likewise in the order of this device's work.
  virtual void CopyToPeer(Device* peer, void* to, const void* from, int64_t bytes);
  // Clears memory before any later work on the device. Does not block on a GPU.
  virtual void Zero(void* memory, int64_t bytes) = 0;
  // Blocks until the device has finished all its work.
  virtual void Synchronize() = 0;
  // Returns a Download with `bytes` bytes of host memory. The device must outlive the Download.
  virtual std::unique_ptr<Download> MakeDownload(int64_t bytes);

  // Records the work that `work` gives to this device, without executing it. `work` must give the
  // device the same work every time and must not wait for the device. Returns null if the work
  // cannot be recorded; in this case nothing was executed.
  virtual std::unique_ptr<Recording> Record(const std::function<void()>& /*work*/) {
    return nullptr;
  }

  // Bytes allocated now, and the highest value so far. Kept free blocks do not count.
  virtual int64_t bytes_in_use() const = 0;
  virtual int64_t peak_bytes() const = 0;
  // Returns the number of bytes that Allocate could still provide in total, or -1 if unknown.
  virtual int64_t free_bytes() { return -1; }

  // Returns the measured choices that kernels of this device use.
  MeasuredChoices& measured_choices() { return measured_choices_; }
  AttachedObjects& attached() { return attached_; }

 private:
  MeasuredChoices measured_choices_;
  AttachedObjects attached_{this};  // destroyed first, because its objects use the device
};

// Owns a block of a device's memory. The device must outlive the Buffer. Movable.
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

// Creates the device that computes on the host.
std::unique_ptr<Device> MakeCpuDevice();
// Creates a device that computes on the host with one of `share.parts` parts of the compute threads
// that the calling thread has, but at least one thread. Such devices may compute at the same time.
std::unique_ptr<Device> MakeCpuPart(const CpuShare& share, const std::string& name);

// A device as `device_query` lists it and `--gpu` checks it. Each linked backend registers
// functions that list and create its devices; a CPU-only build has none.
struct DeviceInfo {
  int index = 0;
  std::string name;
  std::string description;  // compute capability, memory, driver
  std::string pci_bus_id;   // see DeviceProperties
  std::string unusable;     // the reason why the device cannot be used, or ""
};
struct DeviceBackend {
  // Returns at least one device. Throws DeviceError, with advice, if there is no driver or no
  // device.
  std::vector<DeviceInfo> (*list)();
  // Opens device number `index`. Throws DeviceError if it does not exist or cannot be used.
  std::unique_ptr<Device> (*make)(int index);
  // Prepares a process whose threads will use several of the devices. Called before any other use
  // of the backend. May be null.
  void (*prepare_for_several)() = nullptr;
};
using DeviceBackends = Registry<DeviceBackend>;  // keyed by Device::kind()

// Returns the linked backend, or null in a CPU-only build. Of several backends, returns the first
// one that has devices on this machine, or the first one if none has.
const DeviceBackend* FindDeviceBackend();
// Returns the same backend. Throws a DeviceError that ends with `advice` in a CPU-only build.
const DeviceBackend& LinkedDeviceBackend(const std::string& advice);

}  // namespace doppio

#endif  // DOPPIO_CORE_DEVICE_DEVICE_H_
