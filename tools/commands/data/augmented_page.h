// The page of `data preview --augmented`: the first images that a net gets in training.
#ifndef DOPPIO_TOOLS_COMMANDS_DATA_AUGMENTED_PAGE_H_
#define DOPPIO_TOOLS_COMMANDS_DATA_AUGMENTED_PAGE_H_

#include <string>

#include "tools/cli/command.h"

namespace doppio {

// Returns the page with the --count first samples of the net, solver or training folder
// `line.files[0]`, as its first source of samples makes them in phase TRAIN: cut, mirrored and
// changed, but with mean and scale undone. Sets `began` when the source is open. Throws UserError,
// UsageError, FileError.
std::string AugmentedPage(const CommandLine& line, bool* began);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_COMMANDS_DATA_AUGMENTED_PAGE_H_
