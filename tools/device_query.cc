// `device_query`: what this machine and this build can compute with.
#include <cblas.h>
#include <google/protobuf/stubs/common.h>

#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/threads.h"
#include "core/device/device.h"
#include "core/device/nvml.h"
#include "core/math/dnnl.h"
#include "parallel/process_world.h"
#include "tools/command.h"
#include "tools/flags.h"
#include "tools/gpu_readings.h"
#include "tools/json_text.h"
#include "tools/text_table.h"

namespace doppio {
namespace {

struct CpuInfo {
  std::string model = "unknown CPU";
  int cores = 0;  // physical
  int hardware_threads = 0;
};

CpuInfo ReadCpuInfo() {
  CpuInfo info;
  std::ifstream file("/proc/cpuinfo");
  std::set<std::string> cores;
  std::string package;
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string key = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    const std::string value = line.substr(colon + 2);
    if (key == "processor") ++info.hardware_threads;
    if (key == "model name") info.model = value;
    if (key == "physical id") package = value;
    if (key == "core id") cores.insert(package + "/" + value);
  }
  info.cores = cores.empty() ? info.hardware_threads : static_cast<int>(cores.size());
  return info;
}

std::string CpuIsa() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
      return "SSE4.1";
    case dnnl::cpu_isa::avx:
      return "AVX";
    case dnnl::cpu_isa::avx2:
      return "AVX2";
    case dnnl::cpu_isa::avx2_vnni:
      return "AVX2 VNNI";
    case dnnl::cpu_isa::avx512_core:
      return "AVX-512";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "AVX-512 VNNI";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "AVX-512 BF16";
    case dnnl::cpu_isa::avx512_core_amx:
      return "AVX-512 AMX";
    default:
      return "x86-64";
  }
}

std::string DnnlVersion() {
  const dnnl_version_t* v = dnnl_version();
  return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
}

// "OpenBLAS 0.3.21 NO_AFFINITY ..." -> "0.3.21".
std::string OpenBlasVersion() {
  const std::string config = openblas_get_config();
  const size_t begin = config.find(' ');
  if (begin == std::string::npos) return config;
  return config.substr(begin + 1, config.find(' ', begin + 1) - begin - 1);
}

// The driver's library, for how things stand now.
struct Watching {
  std::unique_ptr<Nvml> nvml;
  std::string none;  // why there is none
};

Watching OpenNvml() {
  Watching watching;
  ErrorCollector errors;
  if (!errors.Try([&] { watching.nvml = std::make_unique<Nvml>(); }))
    watching.none = errors.errors()[0].message();
  return watching;
}

GpuReading Now(const Watching& watching, const DeviceInfo& gpu) {
  if (watching.nvml == nullptr) return GpuReading();
  const std::optional<Nvml::Handle> handle = watching.nvml->Find(gpu.pci_bus_id);
  return handle ? watching.nvml->Read(*handle) : GpuReading();
}

struct Accelerators {
  std::vector<DeviceInfo> devices;
  std::string none;  // why there are none
};

Accelerators FindAccelerators() {
  Accelerators found;
  const DeviceBackend* cuda = DeviceBackends::Get().Find("CUDA");
  if (cuda == nullptr) {
    found.none = "this build has no GPU support: no CUDA was found when it was built";
    return found;
  }
  ErrorCollector errors;
  errors.Try([&] { found.devices = cuda->list(); });
  if (!errors.empty()) {
    found.none = errors.errors()[0].message();
  } else if (found.devices.empty()) {
    found.none = "the driver shows no GPU";
  }
  return found;
}

// What would join processes that a launcher starts.
struct MpiInfo {
  std::string library;
  std::string none;  // why there is none
};

MpiInfo FindMpi() {
  MpiInfo mpi;
  ProcessWorldOptions options;
  options.library = FLAGS_mpi_library;
  ErrorCollector errors;
  if (!errors.Try([&] { mpi.library = ProcessWorlds::Get().Find("mpi")->describe(options); }))
    mpi.none = errors.errors()[0].message();
  return mpi;
}

void PrintJson(const CpuInfo& cpu, const MpiInfo& mpi, const Accelerators& gpus,
               const Watching& watching) {
  nlohmann::json out;
  out["cpu"] = {{"model", cpu.model},
                {"cores", cpu.cores},
                {"hardware_threads", cpu.hardware_threads},
                {"compute_threads", NumThreads()},
                {"isa", CpuIsa()}};
  out["libraries"] = {
      {"onednn", DnnlVersion()},
      {"openblas", OpenBlasVersion()},
      {"protobuf", google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION)}};
  if (mpi.none.empty()) {
    out["mpi"] = mpi.library;
  } else {
    out["no_mpi_because"] = mpi.none;
  }
  out["gpus"] = nlohmann::json::array();
  for (const DeviceInfo& gpu : gpus.devices) {
    out["gpus"].push_back({{"index", gpu.index},
                           {"name", gpu.name},
                           {"description", gpu.description},
                           {"pci_bus_id", gpu.pci_bus_id},
                           {"usable", gpu.unusable.empty()},
                           {"why_not", gpu.unusable},
                           {"now", ToJson(Now(watching, gpu))}});
  }
  if (!gpus.none.empty()) out["no_gpu_because"] = gpus.none;
  if (watching.nvml == nullptr) {
    out["no_nvml_because"] = watching.none;
  } else {
    out["nvml"] = {{"driver", watching.nvml->driver_version()}, {"gpus", nlohmann::json::array()}};
    for (Nvml::Handle gpu : watching.nvml->Gpus()) {
      out["nvml"]["gpus"].push_back(
          {{"name", watching.nvml->NameOf(gpu)}, {"now", ToJson(watching.nvml->Read(gpu))}});
    }
  }
  std::cout << JsonText(out) << '\n';
}

void PrintText(const CpuInfo& cpu, const MpiInfo& mpi, const Accelerators& gpus,
               const Watching& watching) {
  std::cout << "CPU   " << cpu.model << ": " << cpu.cores << " cores, " << cpu.hardware_threads
            << " hardware threads, " << CpuIsa() << "\n      computing with " << NumThreads()
            << " threads (OMP_NUM_THREADS)\n";
  std::cout << "with  oneDNN " << DnnlVersion() << " · OpenBLAS " << OpenBlasVersion()
            << " · protobuf " << google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION)
            << '\n';
  std::cout << "MPI   " << (mpi.none.empty() ? mpi.library : "none: " + mpi.none) << '\n';
  if (gpus.none.empty()) {
    TextTable table({">GPU", "Name", "Details", "Usable", "Now"});
    for (const DeviceInfo& gpu : gpus.devices) {
      table.Add({std::to_string(gpu.index), gpu.name, gpu.description,
                 gpu.unusable.empty() ? "yes" : "no: " + gpu.unusable,
                 LongText(Now(watching, gpu))});
    }
    table.Print(std::cout);
  } else {
    std::cout << "GPU   none: " << gpus.none << '\n';
  }
  if (watching.nvml == nullptr) {
    std::cout << "NVML  none: " << watching.none << '\n';
    return;
  }
  std::cout << "NVML  driver " << watching.nvml->driver_version() << '\n';
  if (gpus.none.empty()) return;
  // The driver may show what CUDA cannot use.
  for (Nvml::Handle gpu : watching.nvml->Gpus()) {
    std::cout << "      " << watching.nvml->NameOf(gpu) << ": "
              << LongText(watching.nvml->Read(gpu)) << '\n';
  }
}

ExitCode RunDeviceQuery(const CommandLine&, bool*) {
  const CpuInfo cpu = ReadCpuInfo();
  Accelerators gpus = FindAccelerators();
  if (!FLAGS_gpu.empty() && FLAGS_gpu != "all") {
    const std::vector<std::string> wanted = SplitList(FLAGS_gpu);
    std::vector<DeviceInfo> kept;
    for (const DeviceInfo& gpu : gpus.devices) {
      if (std::find(wanted.begin(), wanted.end(), std::to_string(gpu.index)) != wanted.end()) {
        kept.push_back(gpu);
      }
    }
    if (kept.size() != wanted.size()) {
      throw DeviceError("--gpu=" + FLAGS_gpu + ": " +
                        (gpus.none.empty() ? "only " + std::to_string(gpus.devices.size()) +
                                                 " GPUs are visible, counted from 0"
                                           : gpus.none));
    }
    gpus.devices = kept;
  }
  const MpiInfo mpi = FindMpi();
  const Watching watching = OpenNvml();
  if (FLAGS_json) {
    PrintJson(cpu, mpi, gpus, watching);
  } else {
    PrintText(cpu, mpi, gpus, watching);
  }
  return ExitCode::kDone;
}

DOPPIO_REGISTER(Commands, "device_query",
                {"shows the CPU, the GPUs and the libraries that Doppio computes with",
                 {"gpu", "mpi_library", "json"},
                 {},
                 "",
                 "doppio device_query --json",
                 &RunDeviceQuery});

}  // namespace
}  // namespace doppio
