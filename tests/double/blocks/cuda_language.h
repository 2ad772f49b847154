// Defines the parts of the CUDA language that Doppio's .cu files use, so that g++ can compile them
// for the GPU test double. The build includes this file before each .cu file (-include); the flags
// are in BUILD. Functions and attributes that no .cu file uses are left out, so that their first
// use is a compile error.
//
// Shared memory is static storage, because one block at a time runs in the process. A kernel calls
// no function out of line (flatten): the linker might otherwise use the copy of an inline function
// from a file that was compiled without instrumentation.
#ifndef DOPPIO_TESTS_DOUBLE_BLOCKS_CUDA_LANGUAGE_H_
#define DOPPIO_TESTS_DOUBLE_BLOCKS_CUDA_LANGUAGE_H_

// The toolkit's version does not pass on the sizes of the arguments, so this file defines its own.
#define cudaLaunchKernelEx cudaLaunchKernelExOfTheToolkit
#include <cuda_runtime.h>
#undef cudaLaunchKernelEx

#include <memory>
#include <tuple>
#include <utility>

#include "tests/double/blocks/emulator.h"
#include "tests/double/blocks/launch.h"

#undef __global__
#undef __shared__
#undef __forceinline__
#undef __launch_bounds__
#define __global__ __attribute__((flatten))
#define __shared__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
// Simulates the highest capability that settings.h can select.
#define __CUDA_ARCH_LIST__ 800, 900, 1000

namespace doppio::gpu_double {

// A component of threadIdx and similar variables, read from the emulator's state. The conversion
// reads the value in assembly, so that the instrumentation does not see a load.
template <uint3 Here::*kFrom, unsigned uint3::*kAxis>
struct Number {
  __attribute__((always_inline)) operator unsigned() const {
    unsigned value;
    asm("movl %1, %0" : "=r"(value) : "m"(here.*kFrom.*kAxis));
    return value;
  }
};
template <uint3 Here::*kFrom>
struct Index {
  Number<kFrom, &uint3::x> x;
  Number<kFrom, &uint3::y> y;
  Number<kFrom, &uint3::z> z;
};

// Calls the kernel with copies of its arguments, because each thread may change its own.
template <class... Parameters>
void CallKernel(const void* kernel, const void* args) {
  std::apply(reinterpret_cast<void (*)(Parameters...)>(const_cast<void*>(kernel)),
             *static_cast<const std::tuple<Parameters...>*>(args));
}

}  // namespace doppio::gpu_double

inline constexpr doppio::gpu_double::Index<&doppio::gpu_double::Here::thread> threadIdx{};
inline constexpr doppio::gpu_double::Index<&doppio::gpu_double::Here::block> blockIdx{};
inline constexpr doppio::gpu_double::Index<&doppio::gpu_double::Here::block_shape> blockDim{};
inline constexpr doppio::gpu_double::Index<&doppio::gpu_double::Here::grid_shape> gridDim{};

// Copies the arguments and returns, like the toolkit's function. The kernel runs later, in stream
// order.
template <class... Parameters, class... Args>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Args&&... args) {
  using Tuple = std::tuple<Parameters...>;
  const auto copies = std::make_shared<const Tuple>(std::forward<Args>(args)...);
  return doppio::gpu_double::LaunchKernel(
      *config, {reinterpret_cast<const void*>(kernel), copies, sizeof(Tuple),
                &doppio::gpu_double::CallKernel<Parameters...>});
}

// The source location identifies the barrier, because the compiler may duplicate a call.
inline void __syncthreads(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  doppio::gpu_double::Barrier({file, line});
}

// Defined in atomics.cc for the types that Doppio's kernels use.
int atomicMin(int* at, int value);
int atomicMax(int* at, int value);
unsigned atomicMin(unsigned* at, unsigned value);
unsigned atomicMax(unsigned* at, unsigned value);
int atomicAdd(int* at, int value);
unsigned atomicAdd(unsigned* at, unsigned value);
float atomicAdd(float* at, float value);
unsigned atomicExch(unsigned* at, unsigned value);
int atomicExch(int* at, int value);
int atomicCAS(int* at, int expected, int value);
unsigned atomicCAS(unsigned* at, unsigned expected, unsigned value);

#endif  // DOPPIO_TESTS_DOUBLE_BLOCKS_CUDA_LANGUAGE_H_
