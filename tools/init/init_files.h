// The text of the files that `init` writes: nets, a solver and a page that explains them.
#ifndef DOPPIO_TOOLS_INIT_INIT_FILES_H_
#define DOPPIO_TOOLS_INIT_INIT_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/init/init_plan.h"

namespace doppio {

// Where a net reads its images.
struct InitSource {
  std::string source;   // absolute
  std::string backend;  // of data_param; "": `source` is a list of images
  std::string root;     // goes in front of a list's paths
};

struct InitProject {
  std::string name;    // of the data: "photos"
  std::string folder;  // absolute, to be made
  InitSource train, test;
  uint64_t seed = 1;
};

struct InitTexts {
  std::string train_val, deploy, solver;
};

// `plan` gets the classes of the project. Throws UserError for a net that cannot take its images.
InitTexts MakeInitTexts(const InitProject& project, const ImageFacts& facts, InitPlan plan);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_INIT_INIT_FILES_H_
