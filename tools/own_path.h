// Where this program is.
#ifndef DOPPIO_TOOLS_OWN_PATH_H_
#define DOPPIO_TOOLS_OWN_PATH_H_

#include <string>

namespace doppio {

// Absolute; "doppio" where the system does not tell.
std::string OwnPath();

}  // namespace doppio

#endif  // DOPPIO_TOOLS_OWN_PATH_H_
