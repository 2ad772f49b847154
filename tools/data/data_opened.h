// Opens any data set of images: databases, files of MNIST and CIFAR, lists, and folders of classes.
#ifndef DOPPIO_TOOLS_DATA_DATA_OPENED_H_
#define DOPPIO_TOOLS_DATA_DATA_OPENED_H_

#include <memory>
#include <string>
#include <vector>

#include "data/record/source.h"
#include "tools/cli/command.h"

namespace doppio {

struct OpenedData {
  std::unique_ptr<Source> source;
  std::string kind;                  // "LMDB", ..., "list", "folder"
  std::vector<std::string> classes;  // names by label, if the folder or source has them
};

// Opens `path`, whose kind is the value of --backend or else detected from its content. A list's
// paths are prefixed with --root_folder. Throws FileError, UsageError.
OpenedData OpenData(const CommandLine& line, const std::string& path);

// Returns "3 cats", or "3" if the class has no name.
std::string ClassName(const std::vector<std::string>& classes, int64_t label);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DATA_DATA_OPENED_H_
