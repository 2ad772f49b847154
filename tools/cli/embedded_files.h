// Files that are inside the program, by their names in a folder of the repository.
#ifndef DOPPIO_TOOLS_CLI_EMBEDDED_FILES_H_
#define DOPPIO_TOOLS_CLI_EMBEDDED_FILES_H_

#include <map>
#include <string>

namespace doppio {

const std::map<std::string, std::string>& WebFiles();    // of tools/web: "page.html"
const std::map<std::string, std::string>& ModelFiles();  // of models: "lenet/train_val.prototxt"

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_EMBEDDED_FILES_H_
