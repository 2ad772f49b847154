// Whatever holds images, opened by its content: databases, MNIST's and CIFAR's files, lists,
// folders of classes.
#ifndef DOPPIO_TOOLS_DATA_DATA_OPENED_H_
#define DOPPIO_TOOLS_DATA_DATA_OPENED_H_

#include <memory>
#include <string>
#include <vector>

#include "data/source/source.h"
#include "tools/cli/command.h"

namespace doppio {

struct OpenedData {
  std::unique_ptr<Source> source;
  std::string kind;                  // "LMDB", ..., "list", "folder"
  std::vector<std::string> classes;  // names by label, where a folder or labels.txt tells them
};

// --backend, if it is given, says what `path` is, --root_folder goes in front of a list's paths.
// Throws FileError, UsageError.
OpenedData OpenData(const CommandLine& line, const std::string& path);

// "3 cats", or "3" where the class has no name.
std::string ClassName(const std::vector<std::string>& classes, int64_t label);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DATA_DATA_OPENED_H_
