// What the machine was asked to do: proxies for speed.
#ifndef DOPPIO_TESTS_DOUBLE_MACHINE_COUNTERS_H_
#define DOPPIO_TESTS_DOUBLE_MACHINE_COUNTERS_H_

#include <cstdint>
#include <map>
#include <string>

namespace doppio::gpu_double {

struct Counters {
  int64_t kernels = 0;  // of ours that ran, also as nodes of graphs
  int64_t kernel_bytes =
      0;  // distinct bytes that each of them read plus those that it wrote, summed
  int64_t library_calls = 0;  // of cuBLAS, cuDNN and NCCL that ran on the device
  int64_t graph_launches = 0;
  int64_t host_waits = 0;  // calls in which the host waited for work that was not done yet when it
                           // came (cudaStreamSynchronize, cudaEventSynchronize, ...)
  int64_t uploads = 0, upload_bytes = 0;      // copies from the host
  int64_t downloads = 0, download_bytes = 0;  // copies to the host
  int64_t copies = 0, copy_bytes = 0;         // within and between devices
  int64_t clearings = 0, clearing_bytes = 0;
  int64_t enqueued = 0;  // calls that put work on a stream, graphs counted once
};

// Since the process began. Thread-safe.
Counters ReadCounters();
// For the machine.
void Count(int64_t Counters::*counter, int64_t by = 1);

// Runs of one kernel, summed.
struct KernelCount {
  int64_t runs = 0;
  int64_t bytes = 0;  // as Counters::kernel_bytes
};
// By name, since the process began. Thread-safe.
std::map<std::string, KernelCount> ReadKernelCounts();
// For the emulator of kernels.
void CountKernel(const std::string& name, int64_t bytes);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_COUNTERS_H_
