// Where this program is, to start it again.
#ifndef DOPPIO_TOOLS_CLI_OWN_PATH_H_
#define DOPPIO_TOOLS_CLI_OWN_PATH_H_

#include <string>

namespace doppio {

// Absolute; "doppio" if the system does not tell.
std::string OwnPath();

// Makes OwnPath() return `path`, unless it is empty: in a Python process the executable is the
// interpreter. Call it before other threads start.
void SetOwnPath(const std::string& path);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_OWN_PATH_H_
