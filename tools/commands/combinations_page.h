// The page about features that do not simply work together: docs/combinations.md.
#ifndef DOPPIO_TOOLS_COMMANDS_COMBINATIONS_PAGE_H_
#define DOPPIO_TOOLS_COMMANDS_COMBINATIONS_PAGE_H_

#include <ostream>

namespace doppio {

// Prints the table of core/net/contract/combinations.h as Markdown.
void PrintCombinations(std::ostream& out);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_COMMANDS_COMBINATIONS_PAGE_H_
