// Finds image files in folders and their subfolders.
#ifndef DOPPIO_TOOLS_DATA_IMAGE_FILES_H_
#define DOPPIO_TOOLS_DATA_IMAGE_FILES_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/data/image_mistakes.h"

namespace doppio {

// Finds images one after the other, in this order: the given files and folders in their order; of a
// folder first its own files, then its subfolders, both in order of their names (by bytes). Names
// that begin with a dot are left out, and so are files that are no images (IsImageFile).
// Symbolic links are followed, but each folder is searched once, so links cannot form a loop. The
// search holds the names of the folders from a given one down to the current one, but not of all
// files.
class ImageFiles {
 public:
  // The search leaves out the folder `left_out`, "" for none, which may be created while it runs.
  // Throws UsageError if `left_out` is one of the given folders. Errors of folders are added to
  // `mistakes`, which must outlive this object: a folder that cannot be read or, if it was given,
  // has no images.
  ImageFiles(std::vector<std::string> files_and_folders, const std::string& left_out,
             ImageMistakes* mistakes);

  // Returns the next `count` images; fewer at the end.
  std::vector<std::string> Take(size_t count);

 private:
  using Identity = std::pair<uint64_t, uint64_t>;  // device and inode

  // A folder that is being searched.
  struct Level {
    std::vector<std::string> files, folders;  // not yet visited, the last name first
  };

  std::optional<std::string> Next();
  void BeginGiven(const std::string& path);
  void EndGiven();
  // Adds a level, unless the folder has been searched.
  void Open(const std::string& folder);

  const std::vector<std::string> given_;
  const std::string left_out_;
  ImageMistakes* const mistakes_;
  size_t next_ = 0;            // of given_
  std::vector<Level> levels_;  // from the given folder to the current one
  std::set<Identity> searched_;
  // Of the given folder: images so far, and images in formats that Doppio does not read.
  int64_t found_ = 0, foreign_ = 0;
  std::string first_foreign_;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DATA_IMAGE_FILES_H_
