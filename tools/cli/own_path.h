// The path of this program, for commands that start it again.
#ifndef DOPPIO_TOOLS_CLI_OWN_PATH_H_
#define DOPPIO_TOOLS_CLI_OWN_PATH_H_

#include <string>

namespace doppio {

// Returns the absolute path of the program, or "doppio" if the system does not provide it.
std::string OwnPath();

// Returns `program`, the value of --program, or OwnPath() if it is "".
std::string ProgramOrOwn(const std::string& program);

// Makes OwnPath() return `path` unless `path` is empty. A Python process needs this because its
// executable is the interpreter. Not thread-safe: call it before other threads start.
void SetOwnPath(const std::string& path);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_OWN_PATH_H_
