#include "parallel/mpi/mpi_search.h"

#include <unistd.h>

#include <filesystem>

#include "core/base/error.h"
#include "core/base/text/split_at.h"
#include "parallel/mpi/mpi_families.h"

namespace doppio {
namespace {

std::string Value(const Environment& get, const char* name) {
  const char* const value = get(name);
  return value == nullptr ? "" : value;
}

// Returns the library folders next to the first mpirun in PATH. Modules and Python environments
// with an MPI often set PATH but not LD_LIBRARY_PATH.
std::vector<std::string> FoldersBesideLauncher(const std::string& path) {
  for (const std::filesystem::path folder : SplitAt(path, ':')) {
    for (const char* launcher : {"mpirun", "mpiexec"}) {
      if (access((folder / launcher).c_str(), X_OK) != 0) continue;
      const std::filesystem::path above = (folder / "..").lexically_normal();
      return {above / "lib", above / "lib64"};
    }
  }
  return {};
}

// Opens one file. On failure returns null and, if the file exists, appends the reason to `reasons`.
std::unique_ptr<MpiApi> TryToOpen(const std::string& file, std::string* reasons) {
  try {
    return BindMpi(MpiLibrary(file));
  } catch (const UsageError& e) {
    // This is glibc's message if the file itself is missing. If a dependency of the file is
    // missing, the message begins with the dependency's name and is a reason to report.
    const std::string absent = file + ": cannot open shared object file: No such file";
    if (e.message().rfind(absent, 0) != 0) *reasons += "; " + e.message();
    return nullptr;
  }
}

}  // namespace

MpiSearch MpiSearchFor(const std::string& given, const Environment& get) {
  MpiSearch search;
  search.given = given;
  std::vector<MpiFamily> order = {MpiFamily::kOpenMpi, MpiFamily::kMpich, MpiFamily::kStandard};
  if (Value(get, "OMPI_COMM_WORLD_RANK").empty() && !Value(get, "PMI_RANK").empty())
    order = {MpiFamily::kMpich, MpiFamily::kStandard, MpiFamily::kOpenMpi};
  for (MpiFamily family : order) {
    for (const std::string& file : FilesOf(family)) search.files.push_back(file);
  }
  search.folders = FoldersBesideLauncher(Value(get, "PATH"));
  return search;
}

std::unique_ptr<MpiApi> OpenMpi(const MpiSearch& search) {
  if (!search.given.empty()) {
    try {
      return BindMpi(MpiLibrary(search.given));
    } catch (const UsageError& e) {
      throw UsageError("--mpi_library=", search.given, ": ", e.message());
    }
  }
  std::string names, reasons;
  for (const std::string& file : search.files) {
    std::vector<std::string> places;
    for (const std::string& folder : search.folders) {
      const std::string path = folder + "/" + file;
      if (access(path.c_str(), F_OK) == 0) places.push_back(path);
    }
    places.push_back(file);
    for (const std::string& place : places) {
      std::unique_ptr<MpiApi> mpi = TryToOpen(place, &reasons);
      if (mpi != nullptr) return mpi;
    }
    names += (names.empty() ? "" : ", ") + file;
  }
  throw UsageError("no MPI library can be opened; Doppio has looked for ", names, reasons,
                   ". Install an MPI (Debian's package openmpi-bin), load the cluster's MPI "
                   "module, or name a library with --mpi_library or DOPPIO_MPI_LIBRARY");
}

}  // namespace doppio
