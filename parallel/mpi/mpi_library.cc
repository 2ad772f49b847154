#include "parallel/mpi/mpi_library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "core/base/error.h"

namespace doppio {
namespace {

std::string PathOf(void* handle, const std::string& file) {
  const link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map->l_name[0] == 0) return file;
  return map->l_name;
}

// Returns the name and version in `text`, from its first line up to a comma: "MPICH Version:
// 4.0.2\nMPICH Release date: ..." -> "MPICH 4.0.2".
std::string NameIn(const std::string& text) {
  std::istringstream words(text.substr(0, text.find_first_of(",\n")));
  std::string name;
  for (std::string word; words >> word;) {
    if (word != "Version:") name += (name.empty() ? "" : " ") + word;
  }
  return name;
}

}  // namespace

MpiLibrary::MpiLibrary(const std::string& file)
    : handle_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)), path_(file) {
  if (handle_ == nullptr) {
    const char* const reason = dlerror();
    throw UsageError(reason == nullptr ? file + " cannot be opened" : reason);
  }
  path_ = PathOf(handle_, file);
  using GetVersion = int(char* text, int* length);
  auto* const get_version = reinterpret_cast<GetVersion*>(FindOptional("MPI_Get_library_version"));
  if (get_version == nullptr) {
    throw UsageError(
        path_,
        " is not an MPI library of version 3 or later: it has no function MPI_Get_library_version");
  }
  std::vector<char> text(size_t{1} << 16);  // enough: no library's text exceeds 8192 bytes
  int length = 0;
  get_version(text.data(), &length);
  name_ = NameIn(text.data());
}

void MpiLibrary::Publish() const { dlopen(path_.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD); }

void* MpiLibrary::FindOptional(const char* symbol) const { return dlsym(handle_, symbol); }

void* MpiLibrary::Find(const char* symbol) const {
  void* const address = FindOptional(symbol);
  if (address != nullptr) return address;
  throw UsageError(name_, " (", path_, ") has no ", symbol,
                   "; Doppio needs an MPI of version 3 or later");
}

void ThrowMpiError(MpiErrorString* error_string, int code, const char* what) {
  char text[8192] = "";  // no library's MPI_MAX_ERROR_STRING is larger
  int length = 0;
  error_string(code, text, &length);
  std::replace(text, text + sizeof text, '\n', ' ');  // MPICH writes one line per internal call
  throw PeerError(what, " failed: ", text);
}

}  // namespace doppio
