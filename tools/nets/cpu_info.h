// Describes the CPU of this machine for the commands that show it.
#ifndef DOPPIO_TOOLS_NETS_CPU_INFO_H_
#define DOPPIO_TOOLS_NETS_CPU_INFO_H_

#include <istream>
#include <string>
#include <vector>

namespace doppio {

struct CpuInfo {
  std::string model = "unknown CPU";
  int cores = 0;  // physical cores
  int hardware_threads = 0;
  // The vector extensions that the CPU has and the operating system enables, weakest first: "AVX2",
  // "AVX-512 BF16", "AMX INT8", ...
  std::vector<std::string> features;
};

// Parses a file in the format of /proc/cpuinfo.
CpuInfo ParseCpuInfo(std::istream& file);
// Returns the description of this machine's CPU, from /proc/cpuinfo.
CpuInfo ReadCpuInfo();

}  // namespace doppio

#endif  // DOPPIO_TOOLS_NETS_CPU_INFO_H_
