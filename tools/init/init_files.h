// Makes the texts of the files that `init` writes: the nets and the solver.
#ifndef DOPPIO_TOOLS_INIT_INIT_FILES_H_
#define DOPPIO_TOOLS_INIT_INIT_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/net/graph/graph.h"
#include "tools/init/init_plan.h"

namespace doppio {

// The source of a net's images.
struct InitSource {
  std::string source;   // absolute path
  std::string backend;  // backend of data_param; "": `source` is a list of images
  std::string root;     // prefix of a list's paths
};

struct InitProject {
  std::string name;    // name of the data: "photos"
  std::string folder;  // absolute path of the folder that `init` makes
  InitSource train, test;
  uint64_t seed = 1;
};

struct InitTexts {
  std::string train_val, deploy, solver;
  std::string weights;  // bytes of kStartWeights; "": the training starts from nothing
};

// Makes the texts. The number of classes of `plan.net` is set to that of `facts`, and
// `class_counts` are the numbers of training images by label. Throws UserError if the net cannot
// take images of the planned size.
InitTexts MakeInitTexts(const InitProject& project, const ImageFacts& facts,
                        const std::vector<int64_t>& class_counts, InitPlan plan);

// Makes the graph of the text `train_val` for a phase, with batches of `batch` or, if it is 0,
// those of the text. Throws the mistakes of the net, whose file is `path`.
Graph GraphOf(const std::string& path, const std::string& train_val, Phase phase, DataMode data,
              int64_t batch = 0);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_INIT_INIT_FILES_H_
