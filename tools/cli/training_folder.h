// Training folders: folders that hold a solver and its nets under the file names that `doppio init`
// uses, so that a command needs only the folder's path.
#ifndef DOPPIO_TOOLS_CLI_TRAINING_FOLDER_H_
#define DOPPIO_TOOLS_CLI_TRAINING_FOLDER_H_

#include <optional>
#include <string>
#include <vector>

#include "tools/cli/command_line.h"

namespace doppio {

// Returns true if `path` is a folder with a solver.prototxt.
bool IsTrainingFolder(const std::string& path);

// Returns the path of the folder's solver.prototxt. Throws FileError if there is none.
std::string SolverIn(const std::string& folder);

struct TrainedWeights {
  std::string path;
  std::string which;  // "the best by max:accuracy, at iteration 120" or "the newest"
};
// Returns the weights of a training folder: those of the best state that --monitor has found, if
// its snapshot exists, else those of the newest complete snapshot. Considers snapshots with the
// solver's prefix. Throws FileError if there are none.
TrainedWeights TrainedWeightsIn(const std::string& folder);

// A trained net and the files and folders of images that a command applies it to.
struct NetAndImages {
  std::string model, weights;
  std::vector<std::string> images;
};
// Returns the net and images of a command line with --model, --weights and images, or with a
// training folder and images. The folder stands for its deploy.prototxt and, without --weights, for
// TrainedWeightsIn, which is logged. Returns nothing if the line has neither form. Throws
// FileError.
std::optional<NetAndImages> NetAndImagesOf(const CommandLine& line);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_TRAINING_FOLDER_H_
