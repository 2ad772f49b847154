// Finds the labelled images for `init`: those for training and, if there are any, those for tests.
#ifndef DOPPIO_TOOLS_DATA_FOUND_DATA_H_
#define DOPPIO_TOOLS_DATA_FOUND_DATA_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/record/source.h"
#include "tools/data/listed_images.h"

namespace doppio {

struct FoundPart {
  std::string path;                // absolute
  std::string kind;                // as DataKindOf returns it
  ListedImages images;             // set for a list or a folder; `root` is absolute
  std::unique_ptr<Source> source;  // reads the images in order, and turns them upright

  bool listed() const { return kind == "list" || kind == "folder"; }
};

struct FoundData {
  FoundPart train;
  std::optional<FoundPart> test;
  std::vector<std::string> class_names;  // by label; empty if the classes have no names
};

// Finds the data at `path`, which is one of:
//   - a folder with one folder per class, a list of images, a database, or another source of
//     data_param;
//   - a folder that contains such data for training ("train", "mnist_train_lmdb",
//     "train-images-idx3-ubyte") beside data for tests, whose name has val, valid, validation, test
//     or t10k in place of train.
// If `test_path` is empty, data for tests is also looked for beside `path` by this rule.
// `root_folder` is the folder of a list's paths; if it is empty, they are relative to the working
// folder or to the list's folder. Throws FileError, also for labels that are not classes, and
// UsageError.
FoundData FindData(const std::string& path, const std::string& test_path,
                   const std::string& root_folder);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DATA_FOUND_DATA_H_
