// Names of kernels, for messages.
#ifndef DOPPIO_TESTS_DOUBLE_BLOCKS_KERNEL_NAME_H_
#define DOPPIO_TESTS_DOUBLE_BLOCKS_KERNEL_NAME_H_

#include <string>

namespace doppio::gpu_double {

// "launch::RunForEach<LaunchFindLast(...)::{lambda(long)#1}>": the function at `kernel`, from the
// symbol table of the file that contains it, shortened. Its address if there is no symbol.
// Thread-safe.
std::string KernelName(const void* kernel);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_BLOCKS_KERNEL_NAME_H_
