// Files that are compiled into the program, keyed by their path in a folder of the repository. Each
// map is valid until the process ends.
#ifndef DOPPIO_TOOLS_CLI_EMBEDDED_FILES_H_
#define DOPPIO_TOOLS_CLI_EMBEDDED_FILES_H_

#include <map>
#include <string>

namespace doppio {

// Returns the files of tools/web, such as "page.html".
const std::map<std::string, std::string>& WebFiles();
// Returns the files of models, such as "lenet/train_val.prototxt".
const std::map<std::string, std::string>& ModelFiles();
// Returns the Python programs of tools/sweep, such as "tpe.py".
const std::map<std::string, std::string>& SweepFiles();
// Returns the Python programs of tools/onnx, such as "run_model.py".
const std::map<std::string, std::string>& RuntimeFiles();

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_EMBEDDED_FILES_H_
