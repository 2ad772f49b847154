// The kinds of files that data_files.h writes, by the first part of their names.
#ifndef DOPPIO_TESTS_RANDOM_DATA_KIND_H_
#define DOPPIO_TESTS_RANDOM_DATA_KIND_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/registry.h"
#include "data/record/record.h"

namespace doppio {

// The parsed name of a data file; data_files.h defines the names.
struct DataName {
  std::string text;                  // the whole name
  std::string kind;                  // "lmdbpng"
  std::vector<int64_t> files = {0};  // records of each file; most kinds have one file
  ImageShape shape;
  int classes = 0;
  int labels = 1;  // of each record
  uint64_t seed = 0;
  std::string sets;    // of numbers: NAME:KIND:LOW:HIGH:SHAPE;...
  std::string ending;  // what follows the seed, or the sets: ".txt"

  int64_t records() const;
  std::string stem() const { return text.substr(0, text.size() - ending.size()); }
  // Returns nothing if `text` does not follow the rule.
  static std::optional<DataName> Parse(const std::string& text);
};

// Returns the name of a file: KIND_NxCxHxW_CLASSES_SEED.
std::string DataNameText(const std::string& kind, int64_t records, const ImageShape& shape,
                         int64_t classes, int64_t labels, int64_t seed);

// Returns the path of a data file in `folder`, which may end with '/'.
inline std::string DataPath(const std::string& folder, const std::string& name) {
  return folder + (folder.empty() || folder.back() == '/' ? "" : "/") + name;
}

struct DataKind {
  std::vector<std::string> endings;  // of its names
  // Writes the file or folder `name.text`, and the files that it needs, into the folder `aside`.
  // They move to `folder` afterwards. Throws FileError.
  void (*write)(const DataName& name, const std::string& aside, const std::string& folder);
};
using DataKinds = Registry<DataKind>;

}  // namespace doppio

#endif  // DOPPIO_TESTS_RANDOM_DATA_KIND_H_
