// Replaces dlopen and dlsym in programs that link the double (--wrap). CUDA's libraries are found
// in the program itself, and all other libraries as usual.
#include <dlfcn.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tests/double/cublas/functions.h"
#include "tests/double/cudnn/functions.h"
#include "tests/double/nccl/functions.h"

namespace doppio::gpu_double {
namespace {

using Functions = std::vector<std::pair<const char*, void*>>;

struct Library {
  const char* file;
  const Functions& (*functions)();  // null: the machine has no such library
};

constexpr Library kLibraries[] = {
    {"libcublas.so.13", &CublasFunctions},
    {"libcudnn.so.9", &CudnnFunctions},
    {"libnccl.so.2", &NcclFunctions},
    // cuDNN itself would open these libraries. Opening the toolkit's would take time and have no
    // effect.
    {"libcublasLt.so.13", nullptr},
    {"libnvrtc.so.13", nullptr},
};

// Returns null for a file that is not a CUDA library.
const Library* LibraryOf(const char* path) {
  if (path == nullptr) return nullptr;
  const char* slash = std::strrchr(path, '/');
  const char* file = slash == nullptr ? path : slash + 1;
  for (const Library& library : kLibraries) {
    if (std::strcmp(library.file, file) == 0) return &library;
  }
  return nullptr;
}

// Returns null for a handle from the real loader.
const Library* LibraryOfHandle(void* handle) {
  for (const Library& library : kLibraries) {
    if (&library == handle) return &library;
  }
  return nullptr;
}

}  // namespace
}  // namespace doppio::gpu_double

extern "C" {

void* __real_dlopen(const char* path, int mode);
void* __real_dlsym(void* handle, const char* name);

void* __wrap_dlopen(const char* path, int mode) {
  const auto* library = doppio::gpu_double::LibraryOf(path);
  if (library == nullptr) return __real_dlopen(path, mode);
  if (library->functions == nullptr) return nullptr;
  return const_cast<doppio::gpu_double::Library*>(library);
}

void* __wrap_dlsym(void* handle, const char* name) {
  const auto* library = doppio::gpu_double::LibraryOfHandle(handle);
  if (library == nullptr) return __real_dlsym(handle, name);
  for (const auto& [function, address] : library->functions()) {
    if (std::strcmp(function, name) == 0) return address;
  }
  return nullptr;
}

}  // extern "C"
