// Makes the texts of the files that `init` writes: the nets and the solver.
#ifndef DOPPIO_TOOLS_INIT_INIT_FILES_H_
#define DOPPIO_TOOLS_INIT_INIT_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

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
};

// Makes the texts. The number of classes of `plan.net` is set to that of `facts`. Throws UserError
// if the net cannot take images of the planned size.
InitTexts MakeInitTexts(const InitProject& project, const ImageFacts& facts, InitPlan plan);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_INIT_INIT_FILES_H_
