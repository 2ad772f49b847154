// Counts the work that the machine performs, as a proxy for speed.
#ifndef DOPPIO_TESTS_DOUBLE_MACHINE_COUNTERS_H_
#define DOPPIO_TESTS_DOUBLE_MACHINE_COUNTERS_H_

#include <cstdint>
#include <map>
#include <string>

namespace doppio::gpu_double {

struct Counters {
  int64_t kernels = 0;  // runs of Doppio's own kernels, including those in graphs
  // Sum over these runs of the distinct bytes read plus the distinct bytes written.
  int64_t kernel_bytes = 0;
  int64_t library_calls = 0;  // cuBLAS, cuDNN and NCCL calls that ran on a device
  int64_t graph_launches = 0;
  // Calls in which the host had to wait for unfinished work (cudaStreamSynchronize,
  // cudaEventSynchronize, ...).
  int64_t host_waits = 0;
  int64_t uploads = 0, upload_bytes = 0;      // copies from the host
  int64_t downloads = 0, download_bytes = 0;  // copies to the host
  int64_t copies = 0, copy_bytes = 0;         // within and between devices
  int64_t clearings = 0, clearing_bytes = 0;
  int64_t enqueued = 0;  // calls that put work on a stream; a graph counts once
};

// Returns the counts since the process started. Thread-safe.
Counters ReadCounters();
// Adds to a counter. Called by the machine.
void Count(int64_t Counters::*counter, int64_t by = 1);

// Totals over the runs of one kernel.
struct KernelCount {
  int64_t runs = 0;
  int64_t bytes = 0;  // see Counters::kernel_bytes
};
// Returns the totals by kernel name since the process started. Thread-safe.
std::map<std::string, KernelCount> ReadKernelCounts();
// Records a run of a kernel. Called by the kernel emulator.
void CountKernel(const std::string& name, int64_t bytes);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_COUNTERS_H_
