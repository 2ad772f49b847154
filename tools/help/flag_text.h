// Describes a flag for help pages, manual pages and completion. The source is the table of flags.
#ifndef DOPPIO_TOOLS_HELP_FLAG_TEXT_H_
#define DOPPIO_TOOLS_HELP_FLAG_TEXT_H_

#include <string>
#include <vector>

namespace doppio {

struct FlagText {
  std::string name;     // "gpu"
  std::string value;    // the placeholder of the value, such as "LIST"; "" for a Boolean flag
  std::string meaning;  // includes the default
  bool is_switch = false, on_by_default = false;
};

// Returns the description of a flag. The flag must exist.
FlagText DescribeFlag(const std::string& name);

// Returns the words that the flag accepts if its placeholder lists alternatives: "off|light|auto|N"
// -> off, light, auto. Otherwise returns an empty list. Alternatives with capitals are or
// have placeholders (MB, HxW, skip:N) and are left out, except for the phases TRAIN and TEST.
std::vector<std::string> Choices(const FlagText& flag);

// Returns true if the flag's value is the path of a file or folder.
bool NamesFiles(const FlagText& flag);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_HELP_FLAG_TEXT_H_
