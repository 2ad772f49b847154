// The CPU as the commands show it.
#ifndef DOPPIO_TOOLS_CPU_INFO_H_
#define DOPPIO_TOOLS_CPU_INFO_H_

#include <istream>
#include <string>
#include <vector>

namespace doppio {

struct CpuInfo {
  std::string model = "unknown CPU";
  int cores = 0;  // physical
  int hardware_threads = 0;
  // What vectorised code may use, weakest first: "AVX2", "AVX-512 BF16", "AMX INT8", ... A feature
  // that the system does not switch on is not among them.
  std::vector<std::string> features;
};

// From a file in the form of /proc/cpuinfo.
CpuInfo ParseCpuInfo(std::istream& file);
CpuInfo ReadCpuInfo();

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CPU_INFO_H_
