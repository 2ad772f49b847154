// `device_query`: shows the devices that this machine and this build can compute with.
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/base/library_version.h"
#include "core/base/threads.h"
#include "core/device/device.h"
#include "core/device/nvml.h"
#include "core/math/dnnl_isa.h"
#include "parallel/world/process_world.h"
#include "tools/cli/command.h"
#include "tools/cli/flags.h"
#include "tools/cli/json_text.h"
#include "tools/cli/text_table.h"
#include "tools/cli/word_list.h"
#include "tools/gpus/accelerators.h"
#include "tools/gpus/gpu_readings.h"
#include "tools/nets/cpu_info.h"

namespace doppio {
namespace {

// NVML, the driver's library, which reports the current state of GPUs.
struct Watching {
  std::unique_ptr<Nvml> nvml;
  std::string none;  // why `nvml` is null
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

std::string RunningVersion(const char* library) {
  return Libraries::Get().Find(library)->running();
}

// The MPI library that would join the processes of a launcher.
struct MpiInfo {
  std::string library;
  std::string none;  // why `library` is empty
};

MpiInfo FindMpi(const std::string& library) {
  MpiInfo mpi;
  ProcessWorldOptions options;
  options.library = library;
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
                {"isa", DnnlIsa()}};
  out["libraries"] = {{"onednn", RunningVersion("oneDNN")},
                      {"openblas", RunningVersion("OpenBLAS")},
                      {"protobuf", Libraries::Get().Find("protobuf")->compiled}};
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
            << " hardware threads, " << DnnlIsa() << "\n      computing with " << NumThreads()
            << " threads (OMP_NUM_THREADS)\n";
  std::cout << "with  oneDNN " << RunningVersion("oneDNN") << " · OpenBLAS "
            << RunningVersion("OpenBLAS") << " · protobuf "
            << Libraries::Get().Find("protobuf")->compiled << '\n';
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
  // The driver may list GPUs that CUDA cannot use.
  for (Nvml::Handle gpu : watching.nvml->Gpus()) {
    std::cout << "      " << watching.nvml->NameOf(gpu) << ": "
              << LongText(watching.nvml->Read(gpu)) << '\n';
  }
}

ExitCode RunDeviceQuery(const CommandLine& line, bool*) {
  const CpuInfo cpu = ReadCpuInfo();
  Accelerators gpus = FindAccelerators();
  if (!line.flags.gpu.empty() && line.flags.gpu != "all") {
    const std::vector<std::string> wanted = SplitList(line.flags.gpu);
    std::vector<DeviceInfo> kept;
    for (const DeviceInfo& gpu : gpus.devices) {
      if (Contains(wanted, std::to_string(gpu.index))) kept.push_back(gpu);
    }
    if (kept.size() != wanted.size()) {
      throw DeviceError("--gpu=" + line.flags.gpu + ": " +
                        (gpus.none.empty() ? "only " + std::to_string(gpus.devices.size()) +
                                                 " GPUs are visible, counted from 0"
                                           : gpus.none));
    }
    gpus.devices = kept;
  }
  const MpiInfo mpi = FindMpi(line.flags.mpi_library);
  const Watching watching = OpenNvml();
  if (line.flags.json) {
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
