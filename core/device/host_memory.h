// Determines how much host memory this process can still allocate.
#ifndef DOPPIO_CORE_DEVICE_HOST_MEMORY_H_
#define DOPPIO_CORE_DEVICE_HOST_MEMORY_H_

#include <cstdint>
#include <string>

namespace doppio {

// Returns the number of bytes that are free, or can be freed without swapping, and that are within
// the limits of the process's control groups (version 1 or 2, including all parent groups). Returns
// -1 if unknown. Tests pass a `root` folder, which is prepended to /proc and /sys.
int64_t FreeHostBytes(const std::string& root = "");

}  // namespace doppio

#endif  // DOPPIO_CORE_DEVICE_HOST_MEMORY_H_
