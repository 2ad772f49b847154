// Folders that hold a solver and its nets under the names that `doppio init` gives them, so that a
// command needs only the folder.
#ifndef DOPPIO_TOOLS_TRAIN_TRAINING_FOLDER_H_
#define DOPPIO_TOOLS_TRAIN_TRAINING_FOLDER_H_

#include <string>

namespace doppio {

// Returns true for a folder with a solver.prototxt.
bool IsTrainingFolder(const std::string& path);

// The path of its solver.prototxt. Throws FileError if there is none.
std::string SolverIn(const std::string& folder);

struct TrainedNet {
  std::string model, weights;
};
// deploy.prototxt, and the weights of the newest whole snapshot of the solver's prefix. Throws
// FileError if one of them is missing.
TrainedNet TrainedNetIn(const std::string& folder);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_TRAINING_FOLDER_H_
