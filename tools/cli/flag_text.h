// A flag in words, for help pages, man pages and completion alike: what gflags' table says of it.
#ifndef DOPPIO_TOOLS_CLI_FLAG_TEXT_H_
#define DOPPIO_TOOLS_CLI_FLAG_TEXT_H_

#include <string>
#include <vector>

namespace doppio {

struct FlagText {
  std::string name;     // "gpu"
  std::string value;    // what its value is called, "LIST"; "" for a flag that is on or off
  std::string meaning;  // with the default
  bool is_switch = false, on_by_default = false;
};

// Of a flag that exists.
FlagText DescribeFlag(const std::string& name);

// The words to choose from where the value is one of some, "off|light|auto|N" -> off, light, auto;
// else empty. What is all capitals stands for something else, but for phases.
std::vector<std::string> Choices(const FlagText& flag);

// Whether the value is the path of a file.
bool NamesFiles(const FlagText& flag);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_FLAG_TEXT_H_
