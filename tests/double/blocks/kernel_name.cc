#include "tests/double/blocks/kernel_name.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <sstream>
#include <vector>

namespace doppio::gpu_double {
namespace {

// Returns the functions of a file by their address in it. Kernels have internal linkage, so dladdr,
// which reads only dynamic symbols, does not find them.
std::map<uintptr_t, std::string> ReadSymbols(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string data((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::map<uintptr_t, std::string> symbols;
  if (data.size() < sizeof(Elf64_Ehdr) || data.compare(0, SELFMAG, ELFMAG) != 0) return symbols;
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(data.data());
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(data.data() + header->e_shoff);
  for (int i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const char* names = data.data() + sections[sections[i].sh_link].sh_offset;
    const auto* symbol = reinterpret_cast<const Elf64_Sym*>(data.data() + sections[i].sh_offset);
    const size_t count = sections[i].sh_size / sizeof *symbol;
    for (size_t k = 0; k < count; ++k) {
      if (ELF64_ST_TYPE(symbol[k].st_info) == STT_FUNC && symbol[k].st_value != 0)
        symbols[symbol[k].st_value] = names + symbol[k].st_name;
    }
  }
  return symbols;
}

std::string Demangle(const std::string& name) {
  int status = 0;
  char* plain = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  if (plain == nullptr) return name;
  const std::string result = plain;
  std::free(plain);
  return result;
}

void Remove(const char* part, std::string* from) {
  for (size_t at; (at = from->find(part)) != std::string::npos;) from->erase(at, std::strlen(part));
}

// Removes namespaces, the return type and the parameter types, and cuts the name at 160 characters.
std::string Shorten(std::string name) {
  for (const char* part : {"doppio::", "gpu_double::", "(anonymous namespace)::"})
    Remove(part, &name);
  if (name.compare(0, 5, "void ") == 0) name.erase(0, 5);
  if (!name.empty() && name.back() == ')') {
    int depth = 0;
    size_t at = name.size();
    do {
      --at;
      depth += name[at] == ')' ? 1 : name[at] == '(' ? -1 : 0;
    } while (at > 0 && depth > 0);
    if (at > 0) name.erase(at);
  }
  constexpr size_t kMost = 160;
  if (name.size() > kMost) name = name.substr(0, kMost) + "...";
  return name;
}

std::string FindName(const void* kernel) {
  std::ostringstream address;
  address << "the kernel at " << kernel;
  Dl_info info;
  if (dladdr(kernel, &info) == 0) return address.str();
  static auto& files = *new std::map<std::string, std::map<uintptr_t, std::string>>();
  // The program's path may be relative to a working directory that the process has left.
  const bool loaded = std::strstr(info.dli_fname, ".so") != nullptr;
  const std::string path = loaded ? info.dli_fname : "/proc/self/exe";
  if (files.count(path) == 0) files[path] = ReadSymbols(path);
  const auto& symbols = files[path];
  const uintptr_t at = reinterpret_cast<uintptr_t>(kernel);
  auto symbol = symbols.find(at - reinterpret_cast<uintptr_t>(info.dli_fbase));
  if (symbol == symbols.end()) symbol = symbols.find(at);  // a program at a fixed address
  return symbol == symbols.end() ? address.str() : Shorten(Demangle(symbol->second));
}

}  // namespace

std::string KernelName(const void* kernel) {
  static std::mutex& mutex = *new std::mutex();
  static auto& names = *new std::map<const void*, std::string>();
  const std::lock_guard<std::mutex> lock(mutex);
  std::string& name = names[kernel];
  if (name.empty()) name = FindName(kernel);
  return name;
}

}  // namespace doppio::gpu_double
