// `version`: prints the version, the build, the libraries, and the CPU and GPUs of this machine.
#include "core/base/version.h"

#include <google/protobuf/stubs/common.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/library_version.h"
#include "core/math/dnnl_isa.h"
#include "tools/cli/command.h"
#include "tools/cli/json_text.h"
#include "tools/cli/text_table.h"
#include "tools/cli/word_list.h"
#include "tools/commands/help.h"
#include "tools/gpus/accelerators.h"
#include "tools/nets/cpu_info.h"

namespace doppio {
namespace {

constexpr const char* kLicence = "BSD-2-Clause";  // SPDX's name of the licence in LICENSE

DOPPIO_REGISTER(Libraries, "protobuf",
                {google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION)});
DOPPIO_REGISTER(Libraries, "nlohmann-json",
                {std::to_string(NLOHMANN_JSON_VERSION_MAJOR) + "." +
                 std::to_string(NLOHMANN_JSON_VERSION_MINOR) + "." +
                 std::to_string(NLOHMANN_JSON_VERSION_PATCH)});

struct FoundLibrary {
  std::string name;
  std::string compiled, running;  // "" if unknown
  std::string missing;            // why the library cannot be opened
};

std::vector<FoundLibrary> FindLibraries() {
  std::vector<FoundLibrary> all;
  for (const std::string& name : Libraries::Get().Names()) {
    const LibraryVersion& library = *Libraries::Get().Find(name);
    FoundLibrary found{name, library.compiled, "", ""};
    ErrorCollector errors;
    if (library.running != nullptr && !errors.Try([&] { found.running = library.running(); }))
      found.missing = errors.errors()[0].message();
    all.push_back(found);
  }
  std::sort(all.begin(), all.end(), [](const FoundLibrary& a, const FoundLibrary& b) {
    return Lower(a.name) < Lower(b.name);
  });
  return all;
}

nlohmann::json OrNull(const std::string& text) {
  return text.empty() ? nlohmann::json() : nlohmann::json(text);
}

void PrintAsJson(std::ostream& out) {
  const BuildFacts build = HowBuilt();
  const CpuInfo cpu = ReadCpuInfo();
  const Accelerators gpus = FindAccelerators();
  nlohmann::json said = {
      {"version", Version()},
      {"licence", kLicence},
      {"commit", OrNull(Commit())},
      {"build",
       {{"kind", build.kind}, {"compiler", build.compiler}, {"instructions", build.instructions}}},
      {"cpu", {{"model", cpu.model}, {"features", cpu.features}, {"onednn_uses", DnnlIsa()}}},
      {"libraries", nlohmann::json::object()},
      {"gpus", nlohmann::json::array()}};
  for (const FoundLibrary& library : FindLibraries()) {
    nlohmann::json& row = said["libraries"][library.name];
    row = {{"compiled_with", OrNull(library.compiled)}, {"running", OrNull(library.running)}};
    if (!library.missing.empty()) row["missing_because"] = library.missing;
  }
  for (const DeviceInfo& gpu : gpus.devices) {
    said["gpus"].push_back({{"index", gpu.index},
                            {"name", gpu.name},
                            {"description", gpu.description},
                            {"usable", gpu.unusable.empty()}});
  }
  if (!gpus.none.empty()) said["no_gpu_because"] = gpus.none;
  out << JsonText(said) << '\n';
}

void PrintAsText(std::ostream& out) {
  const BuildFacts build = HowBuilt();
  const std::string commit = Commit();
  out << "doppio " << Version() << '\n'
      << "licence " << kLicence << '\n'
      << "commit  " << (commit.empty() ? "unknown: this build does not record it" : commit) << '\n'
      << "build   " << build.kind << ": " << build.kind_meaning << '\n'
      << "        " << build.compiler << ", " << build.instructions << '\n';

  const CpuInfo cpu = ReadCpuInfo();
  const std::string features = Join(cpu.features, ", ");
  out << "CPU     " << cpu.model << '\n'
      << "        " << (features.empty() ? "no vector features known" : features) << '\n'
      << "        oneDNN uses " << DnnlIsa() << '\n';

  const Accelerators gpus = FindAccelerators();
  if (!gpus.none.empty()) out << "GPU     none: " << gpus.none << '\n';
  for (const DeviceInfo& gpu : gpus.devices) {
    out << "GPU " << gpu.index << "   " << gpu.name << '\n'
        << "        " << gpu.description << '\n';
    if (!gpu.unusable.empty()) out << "        cannot be used: " << gpu.unusable << '\n';
  }

  out << '\n';
  TextTable table({"Library", "Compiled with", "Running"});
  for (const FoundLibrary& library : FindLibraries()) {
    table.Add({library.name, library.compiled,
               library.missing.empty() ? library.running : "none: " + library.missing});
  }
  table.Print(out);
}

ExitCode RunVersion(const CommandLine& line, bool*) {
  if (line.flags.json) {
    PrintAsJson(std::cout);
  } else {
    PrintAsText(std::cout);
  }
  return ExitCode::kDone;
}

DOPPIO_REGISTER(Commands, "version",
                {"shows the version, licence, commit, build, libraries, CPU and GPUs",
                 {"json"},
                 {},
                 "",
                 "doppio version --json",
                 &RunVersion});

}  // namespace

void PrintVersion(std::ostream& out) { out << "doppio " << BuildIdentity() << '\n'; }

}  // namespace doppio
