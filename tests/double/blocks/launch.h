// Launches a kernel: checks the configuration as CUDA does, and puts the kernel on its stream.
#ifndef DOPPIO_TESTS_DOUBLE_BLOCKS_LAUNCH_H_
#define DOPPIO_TESTS_DOUBLE_BLOCKS_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

namespace doppio::gpu_double {

// A kernel with its arguments. The arguments are const, because a kernel in a graph may run several
// times.
struct KernelCall {
  const void* kernel;
  std::shared_ptr<const void> args;
  size_t args_bytes;
  void (*call)(const void* kernel, const void* args);
};

// Returns cudaErrorInvalidConfiguration for sizes that no GPU supports, cudaErrorInvalidValue for
// arguments that are too large, and otherwise the result of Enqueue.
cudaError_t LaunchKernel(const cudaLaunchConfig_t& config, KernelCall call);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_BLOCKS_LAUNCH_H_
