// Labelled images where `init` finds them: for training, and for tests if there are some.
#ifndef DOPPIO_TOOLS_DATA_FOUND_DATA_H_
#define DOPPIO_TOOLS_DATA_FOUND_DATA_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/source/source.h"
#include "tools/data/listed_images.h"

namespace doppio {

struct FoundPart {
  std::string path;                // absolute
  std::string kind;                // as DataKindOf has it
  ListedImages images;             // of a list or a folder; the root is absolute
  std::unique_ptr<Source> source;  // the images in their order

  bool listed() const { return kind == "list" || kind == "folder"; }
};

struct FoundData {
  FoundPart train;
  std::optional<FoundPart> test;
  std::vector<std::string> class_names;  // by label; empty where nothing names them
};

// `path` is a folder with a folder for each class, a list of images, a database or another source
// of data_param; or a folder that holds such data for training ("train", "mnist_train_lmdb",
// "train-images-idx3-ubyte") beside some for tests, whose name has val, valid, validation, test or
// t10k in place of train. Tests are also found beside `path` in this way, unless `test_path` names
// them. `root_folder` goes in front of the paths of a list; without it they count from the working
// folder or from the list's. Throws FileError, UsageError, also for labels that are no classes.
FoundData FindData(const std::string& path, const std::string& test_path,
                   const std::string& root_folder);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DATA_FOUND_DATA_H_
