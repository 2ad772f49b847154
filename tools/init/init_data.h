// Reads the data of `init` once: which images are undamaged, their classes, and which are for
// tests.
#ifndef DOPPIO_TOOLS_INIT_INIT_DATA_H_
#define DOPPIO_TOOLS_INIT_INIT_DATA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/data/found_data.h"
#include "tools/init/init_plan.h"

namespace doppio {

// An image that cannot be read.
struct LeftOutImage {
  std::string text;  // its path and the error
  std::string kind;  // by its first bytes: "WebP image", "damaged PNG image", "empty file", ...
  int label = 0;
};

struct InitData {
  FoundPart train, test;  // images that cannot be read are removed from lists
  ImageFacts facts;
  std::vector<std::string> class_names;  // names of all classes, or empty
  std::vector<int64_t> class_sizes;      // number of training images per class
  double split_share = 0;  // share of every class that was split off for tests; 0: none
  std::vector<LeftOutImage> left_out;
  std::vector<std::string> notes;  // remarks to show to the user

  // Returns the name of a class, or its label if the classes have no names.
  std::string ClassCalled(size_t label) const {
    return class_names.empty() ? std::to_string(label) : class_names[label];
  }
};

// Returns the kinds and their numbers, the most frequent first: "6 WebP images, 1 empty file".
std::string KindsText(const std::vector<LeftOutImage>& left_out);

// Reads every image. Leaves out damaged files of lists and folders; throws FileError for damaged
// records of databases and for data that no classifier can be trained on. Without test data, splits
// the share `test_share` of every class off for tests, at random by `seed`; databases cannot be
// split.
InitData ReadInitData(FoundData found, double test_share, uint64_t seed, int threads);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_INIT_INIT_DATA_H_
