#ifndef DOPPIO_CORE_BASE_HOST_NAME_H_
#define DOPPIO_CORE_BASE_HOST_NAME_H_

#include <string>

namespace doppio {

// Returns this machine's name as gethostname(2) gives it, or "?" if it has none of at most 255
// bytes. Thread-safe.
std::string HostName();

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_HOST_NAME_H_
