// CUDA's language for g++, which compiles the product's .cu files for the double. The build
// includes this file in front of each of them (-include); see BUILD for the flags. Functions and
// attributes that no .cu file of the product uses are absent, so that their first use does not
// compile.
//
// Shared memory is static storage, since one block at a time runs in the process. A kernel calls no
// function out of line (flatten): the linker may otherwise take the copy of an inline function that
// another file compiled without instrumentation.
#ifndef DOPPIO_TESTS_DOUBLE_BLOCKS_CUDA_LANGUAGE_H_
#define DOPPIO_TESTS_DOUBLE_BLOCKS_CUDA_LANGUAGE_H_

// The toolkit's launch hands a kernel's arguments on without their sizes; the double's is below.
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
// What nvcc says it compiles for: all that settings.h can show.
#define __CUDA_ARCH_LIST__ 800, 900, 1000

namespace doppio::gpu_double {

// A number of the emulator, read in a way that is not instrumented: what a kernel calls
// threadIdx.x. A type of its own, so that there is nothing to load but in the conversion.
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

// Calls the kernel with copies of its arguments, as each thread has its own.
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

// As the toolkit's: copies the arguments, then returns; the kernel runs when its turn on the stream
// has come.
template <class... Parameters, class... Args>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Args&&... args) {
  using Tuple = std::tuple<Parameters...>;
  const auto copies = std::make_shared<const Tuple>(std::forward<Args>(args)...);
  return doppio::gpu_double::LaunchKernel(
      *config, {reinterpret_cast<const void*>(kernel), copies, sizeof(Tuple),
                &doppio::gpu_double::CallKernel<Parameters...>});
}

// The place of the call in the source names the barrier: the compiler may make several calls of
// one.
inline void __syncthreads(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  doppio::gpu_double::Barrier({file, line});
}

// Defined for the types that the product uses, in atomics.cc.
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
