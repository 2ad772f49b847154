// The names that other programs give to commands and flags.
#ifndef DOPPIO_TOOLS_CLI_OTHER_NAMES_H_
#define DOPPIO_TOOLS_CLI_OTHER_NAMES_H_

#include <string>
#include <vector>

namespace doppio {

// Returns the command that users of other programs mean by a word, with its verb or a flag:
// "classify" by "predict". Returns "" for other words.
std::string CommandMeantBy(const std::string& word);

// Returns the flag that users of other programs mean by a name, such as "--set base_lr=..." by
// "lr", if `flags` has it; else "".
std::string FlagMeantBy(const std::string& name, const std::vector<std::string>& flags);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_OTHER_NAMES_H_
