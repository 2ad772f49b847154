// Names of kernels for messages.
#ifndef DOPPIO_TESTS_DOUBLE_BLOCKS_KERNEL_NAME_H_
#define DOPPIO_TESTS_DOUBLE_BLOCKS_KERNEL_NAME_H_

#include <string>

namespace doppio::gpu_double {

// Returns the shortened name of the function at `kernel`, e.g.
// "launch::RunForEach<LaunchFindLast(...)::{lambda(long)#1}>", from the symbol table of the file
// that contains it. Returns the address if there is no symbol. Thread-safe.
std::string KernelName(const void* kernel);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_BLOCKS_KERNEL_NAME_H_
