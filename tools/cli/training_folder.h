// Training folders: folders that hold a solver and its nets under the file names that `doppio init`
// uses, so that a command needs only the folder's path.
#ifndef DOPPIO_TOOLS_CLI_TRAINING_FOLDER_H_
#define DOPPIO_TOOLS_CLI_TRAINING_FOLDER_H_

#include <string>

namespace doppio {

// Returns true if `path` is a folder with a solver.prototxt.
bool IsTrainingFolder(const std::string& path);

// Returns the path of the folder's solver.prototxt. Throws FileError if there is none.
std::string SolverIn(const std::string& folder);

struct TrainedNet {
  std::string model, weights;
};
// Returns the path of deploy.prototxt and of the weights of the newest complete snapshot of the
// solver's prefix. Throws FileError if one of them is missing.
TrainedNet TrainedNetIn(const std::string& folder);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_TRAINING_FOLDER_H_
