#include "core/base/shared_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

#include "core/base/error.h"
#include "core/base/text/split_at.h"

namespace doppio {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns the folders to search. "" stands for the loader's own search.
std::vector<std::string> Folders() {
  std::vector<std::string> folders = {""};
  for (const std::string& folder : SplitAt(Environment("DOPPIO_CUDA_LIBRARIES"), ':'))
    folders.push_back(folder + "/");
  const std::string home = Environment("CUDA_HOME");
  if (!home.empty()) folders.push_back(home + "/lib64/");
  folders.push_back("/usr/local/cuda/lib64/");
  return folders;
}

}  // namespace

SharedLibrary::SharedLibrary(const std::string& name, const std::string& file,
                             const std::string& advice)
    : name_(name) {
  std::string reason;
  for (const std::string& folder : Folders()) {
    // RTLD_GLOBAL lets cuDNN find cuBLAS among the libraries that the process has opened.
    handle_ = dlopen((folder + file).c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (handle_ != nullptr) {
      path_ = folder + file;
      return;
    }
    const char* error = dlerror();
    if (reason.empty() && error != nullptr) reason = error;
  }
  throw DeviceError(name, " cannot be opened: ", reason, "; ", advice);
}

void* SharedLibrary::Find(const char* function) const {
  void* address = FindOptional(function);
  if (address == nullptr) {
    throw DeviceError(name_, " (", path_, ") has no function ", function,
                      "; this program was built for another version");
  }
  return address;
}

void* SharedLibrary::FindOptional(const char* function) const { return dlsym(handle_, function); }

}  // namespace doppio
