#include "core/device/gpus_cuda.h"

#include <cstdio>
#include <cstdlib>

#include "core/base/library_version.h"
#include "core/device/device_cuda.h"
#include "core/device/nvml.h"

namespace doppio {
namespace {

// Formats CUDA's version numbers: 13000 -> "13.0".
std::string Version(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

std::string Capability(int major, int minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

// Returns the CUDA version that the driver supports, or 0 if there is no driver.
int DriverVersion() {
  int version = 0;
  return cudaDriverGetVersion(&version) == cudaSuccess ? version : 0;
}

int RuntimeVersion() {
  int version = 0;
  Cuda(cudaRuntimeGetVersion(&version), "asking for the version of the runtime");
  return version;
}

// The CUDA runtime is part of the program. The version that can differ at run time is the driver's.
std::string FoundDriver() {
  const int driver = DriverVersion();
  if (driver == 0) throw DeviceError("no NVIDIA driver was found on this machine");
  return "driver for " + Version(driver);
}

DOPPIO_REGISTER(Libraries, "CUDA runtime", {Version(CUDART_VERSION), &FoundDriver});

constexpr const char* kOrCpu = ", or omit --gpu to use the CPU";

// For each major version of CUDA, the first driver that runs programs of all its minor versions
// (CUDA's release notes, "CUDA Toolkit and Minimum Required Driver Version for CUDA Minor Version
// Compatibility").
struct FirstDriver {
  int cuda, driver;
};
constexpr FirstDriver kFirstDrivers[] = {{11, 450}, {12, 525}, {13, 580}};

std::string InstalledDriver() {
  try {
    return Nvml().driver_version();
  } catch (const DeviceError&) {
    return "";
  }
}

[[noreturn]] void ThrowNoDriver() {
  const int driver = DriverVersion();
  const std::string needed = Version(RuntimeVersion());
  if (driver == 0) {
    throw DeviceError(
        "no NVIDIA driver was found on this machine; install one that supports CUDA ", needed,
        " (to use a container, start it with GPU access: docker run --gpus all)", kOrCpu);
  }
  throw DeviceError(WhyDriverTooOld(driver, RuntimeVersion(), InstalledDriver()), kOrCpu);
}

[[noreturn]] void ThrowNoGpu() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  throw DeviceError("the NVIDIA driver reports no GPU",
                    visible != nullptr ? "; CUDA_VISIBLE_DEVICES is '" + std::string(visible) +
                                             "', which hides all GPUs that it does not list"
                                       : std::string("; check whether nvidia-smi lists a GPU"),
                    kOrCpu);
}

int Count() {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result != cudaSuccess) cudaGetLastError();
  if (result == cudaErrorInsufficientDriver) ThrowNoDriver();
  if (result == cudaErrorNoDevice || (result == cudaSuccess && count == 0)) ThrowNoGpu();
  Cuda(result, "looking for GPUs");
  return count;
}

std::string GiB(size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GiB", static_cast<double>(bytes) / (1 << 30));
  return text;
}

std::string PciBusId(int index) {
  char text[32] = "";
  Cuda(cudaDeviceGetPCIBusId(text, sizeof text, index), "asking for the bus of GPU",
       std::to_string(index));
  return text;
}

DeviceInfo Describe(int index) {
  cudaDeviceProp p{};
  Cuda(cudaGetDeviceProperties(&p, index), "looking at GPU", std::to_string(index));
  DeviceInfo info;
  info.index = index;
  info.name = p.name;
  info.description = "compute capability " + Capability(p.major, p.minor) + ", " +
                     GiB(p.totalGlobalMem) + ", driver for CUDA " + Version(DriverVersion()) +
                     ", runtime " + Version(RuntimeVersion());
  info.pci_bus_id = PciBusId(index);
  info.unusable = WhyNoCode(p.major, p.minor, CompiledArchs());
  return info;
}

}  // namespace

std::string WhyDriverTooOld(int supported, int needed, const std::string& installed) {
  const int cuda = needed / 1000;
  std::string newer = "a newer driver";
  for (const FirstDriver& first : kFirstDrivers) {
    if (first.cuda == cuda) newer = "driver " + std::to_string(first.driver) + " or newer";
  }
  return StrCat("the NVIDIA driver", installed.empty() ? "" : " " + installed,
                " is too old: it supports CUDA ", Version(supported), ", and this program needs ",
                Version(needed), "; install ", newer,
                ", or, on a data-centre GPU, the package cuda-compat-", cuda, "-",
                needed % 1000 / 10, " and put /usr/local/cuda-", Version(needed),
                "/compat first in LD_LIBRARY_PATH");
}

std::string WhyNoCode(int major, int minor, const std::vector<int>& archs) {
  const int capability = 100 * major + 10 * minor;
  // The driver translates the newest PTX code at start-up.
  if (capability >= archs.back()) return "";
  std::string compiled;
  for (int arch : archs) {
    // Machine code also runs on later minor versions of the same major version.
    if (arch / 100 == major && arch <= capability) return "";
    compiled += (compiled.empty() ? "" : ", ") + Capability(arch / 100, arch % 100 / 10);
  }
  return StrCat("it has compute capability ", Capability(major, minor),
                ", and this program was compiled for ", compiled,
                "; rebuild it with DOPPIO_CUDA_ARCHS=", capability / 10);
}

std::vector<DeviceInfo> ListGpus() {
  std::vector<DeviceInfo> gpus;
  const int count = Count();
  for (int i = 0; i < count; ++i) gpus.push_back(Describe(i));
  return gpus;
}

DeviceInfo UsableGpu(int index) {
  std::string existing;
  for (const DeviceInfo& gpu : ListGpus()) {
    const std::string name = std::to_string(gpu.index) + " (" + gpu.name + ")";
    if (gpu.index == index && gpu.unusable.empty()) return gpu;
    if (gpu.index == index) throw DeviceError("GPU ", name, " cannot be used: ", gpu.unusable);
    existing += (existing.empty() ? "" : ", ") + name;
  }
  throw DeviceError("there is no GPU ", index, "; this machine has ", existing);
}

}  // namespace doppio
