// `device_query`: shows the devices that this machine and this build can compute with.
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/base/library_version.h"
#include "core/base/text/lower_case.h"
#include "core/base/threads.h"
#include "core/device/device.h"
#include "core/device/gpu_monitor.h"
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

// A driver's library that reports the current state of GPUs.
struct Watching {
  std::string name;  // "NVML"
  std::unique_ptr<GpuMonitor> monitor;
  std::string none;  // why `monitor` is null
};

std::vector<Watching> OpenMonitors() {
  std::vector<Watching> all;
  for (const std::string& name : GpuMonitors::Get().Names()) {
    Watching watching{name, nullptr, ""};
    ErrorCollector errors;
    if (!errors.Try([&] { watching.monitor = (*GpuMonitors::Get().Find(name))(); }))
      watching.none = errors.errors()[0].message();
    all.push_back(std::move(watching));
  }
  return all;
}

GpuReading Now(const std::vector<Watching>& all, const DeviceInfo& gpu) {
  for (const Watching& watching : all) {
    if (watching.monitor != nullptr && watching.monitor->Find(gpu.pci_bus_id))
      return watching.monitor->ReadAt(gpu.pci_bus_id);
  }
  return GpuReading();
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
               const std::vector<Watching>& monitors) {
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
                           {"now", ToJson(Now(monitors, gpu))}});
  }
  if (!gpus.none.empty()) out["no_gpu_because"] = gpus.none;
  for (const auto& [name, monitor, none] : monitors) {
    const std::string key = LowerCase(name);
    if (monitor == nullptr) {
      out["no_" + key + "_because"] = none;
      continue;
    }
    out[key] = {{"driver", monitor->driver_version()}, {"gpus", nlohmann::json::array()}};
    for (GpuMonitor::Handle gpu : monitor->Gpus()) {
      out[key]["gpus"].push_back(
          {{"name", monitor->NameOf(gpu)}, {"now", ToJson(monitor->Read(gpu))}});
    }
  }
  std::cout << JsonText(out) << '\n';
}

void PrintText(const CpuInfo& cpu, const MpiInfo& mpi, const Accelerators& gpus,
               const std::vector<Watching>& monitors) {
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
                 LongText(Now(monitors, gpu))});
    }
    table.Print(std::cout);
  } else {
    std::cout << "GPU   none: " << gpus.none << '\n';
  }
  for (const auto& [name, monitor, none] : monitors) {
    if (monitor == nullptr) {
      std::cout << name << "  none: " << none << '\n';
      continue;
    }
    std::cout << name << "  driver " << monitor->driver_version() << '\n';
    if (gpus.none.empty()) continue;
    // The driver may list GPUs that the backend cannot use.
    for (GpuMonitor::Handle gpu : monitor->Gpus()) {
      std::cout << "      " << monitor->NameOf(gpu) << ": " << LongText(monitor->Read(gpu)) << '\n';
    }
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
  const std::vector<Watching> monitors = OpenMonitors();
  if (line.flags.json) {
    PrintJson(cpu, mpi, gpus, monitors);
  } else {
    PrintText(cpu, mpi, gpus, monitors);
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
