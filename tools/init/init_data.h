// The data of `init`, read once: which images are whole, their classes, and which are for tests.
#ifndef DOPPIO_TOOLS_INIT_INIT_DATA_H_
#define DOPPIO_TOOLS_INIT_INIT_DATA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/data/found_data.h"
#include "tools/init/init_plan.h"

namespace doppio {

struct InitData {
  FoundPart train, test;  // lists without damaged images
  ImageFacts facts;
  std::vector<std::string> class_names;  // of all classes, or empty
  std::vector<int64_t> class_sizes;      // images for training
  double split_share = 0;                // of every class, split off for tests; 0: none
  std::vector<std::string> left_out;     // damaged images, each with its mistake
  std::vector<std::string> notes;        // what a user should know

  std::string ClassCalled(size_t label) const {
    return class_names.empty() ? std::to_string(label) : class_names[label];
  }
};

// Reads every image. Damaged files of lists and folders are left out; damaged records of databases
// are a FileError, as is data of which no classifier can be made. Where there are no images for
// tests, this share of every class is split off; databases cannot be split.
InitData ReadInitData(FoundData found, double test_share, uint64_t seed);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_INIT_INIT_DATA_H_
