// Checks the number of arguments of a command or verb against its usage line.
#ifndef DOPPIO_TOOLS_CLI_ARGUMENTS_H_
#define DOPPIO_TOOLS_CLI_ARGUMENTS_H_

#include <cstddef>
#include <string>

namespace doppio {

// Throws UsageError unless a usage line such as "FOLDER TRIAL [SCORE]" allows `count` arguments.
// Words that begin with '[' are optional; "..." or "--" allows any number of further arguments.
// `name` is the command or verb in the message: "sweep tell".
void CheckArguments(const std::string& name, const std::string& usage, size_t count);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_ARGUMENTS_H_
