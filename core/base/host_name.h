#ifndef DOPPIO_CORE_BASE_HOST_NAME_H_
#define DOPPIO_CORE_BASE_HOST_NAME_H_

#include <string>

namespace doppio {

// Returns this machine's name.
std::string HostName();

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_HOST_NAME_H_
