// How much memory this process may still take from the host.
#ifndef DOPPIO_CORE_DEVICE_HOST_MEMORY_H_
#define DOPPIO_CORE_DEVICE_HOST_MEMORY_H_

#include <cstdint>
#include <string>

namespace doppio {

// Bytes that are free or can be made free without swapping, and that the process's control groups
// (version 1 or 2, each with those above it) leave; -1 when nobody tells. `root` stands before
// /proc and /sys, for tests.
int64_t FreeHostBytes(const std::string& root = "");

}  // namespace doppio

#endif  // DOPPIO_CORE_DEVICE_HOST_MEMORY_H_
