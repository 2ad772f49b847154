#include "tools/nets/cpu_info.h"
#include "tools/cli/word_list.h"

#include <fstream>
#include <set>
#include <utility>

namespace doppio {
namespace {

// Linux's names of vector extensions (arch/x86/include/asm/cpufeatures.h) and Intel's names.
constexpr std::pair<const char*, const char*> kFeatures[] = {
    {"sse4_2", "SSE4.2"},
    {"avx", "AVX"},
    {"f16c", "F16C"},
    {"fma", "FMA"},
    {"avx2", "AVX2"},
    {"avx_vnni", "AVX VNNI"},
    {"avx512f", "AVX-512"},
    {"avx512bw", "AVX-512 BW"},
    {"avx512_vnni", "AVX-512 VNNI"},
    {"avx512_bf16", "AVX-512 BF16"},
    {"avx512_fp16", "AVX-512 FP16"},
    {"amx_int8", "AMX INT8"},
    {"amx_bf16", "AMX BF16"},
    {"amx_fp16", "AMX FP16"},
};

std::vector<std::string> FeaturesAmong(const std::string& flags) {
  const std::vector<std::string> words = Words(flags);
  std::vector<std::string> features;
  for (const auto& [flag, name] : kFeatures) {
    if (Contains(words, flag)) features.emplace_back(name);
  }
  return features;
}

}  // namespace

CpuInfo ParseCpuInfo(std::istream& file) {
  CpuInfo info;
  std::set<std::string> cores;
  std::string package;
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string key = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    const std::string value = line.substr(colon + 2);
    if (key == "processor") ++info.hardware_threads;
    if (key == "model name") info.model = value;
    if (key == "flags" && info.features.empty()) info.features = FeaturesAmong(value);
    if (key == "physical id") package = value;
    if (key == "core id") cores.insert(package + "/" + value);
  }
  info.cores = cores.empty() ? info.hardware_threads : static_cast<int>(cores.size());
  return info;
}

CpuInfo ReadCpuInfo() {
  std::ifstream file("/proc/cpuinfo");
  return ParseCpuInfo(file);
}

}  // namespace doppio
