// Labelled images, either from a list with lines "path label..." or from a folder with one folder
// per class.
#ifndef DOPPIO_TOOLS_DATA_LISTED_IMAGES_H_
#define DOPPIO_TOOLS_DATA_LISTED_IMAGES_H_

#include <string>
#include <vector>

#include "core/base/error.h"
#include "data/source/image_lines.h"

namespace doppio {

struct ListedImages {
  std::string list;  // path of the list; "" if a folder was read
  std::string root;  // prefix of each path, without an added slash
  std::vector<ImageLine> lines;
  std::vector<std::string> classes;  // class names by label if a folder was read

  // Returns the line's place in the list; an empty place if a folder was read.
  SourceLoc At(const ImageLine& line) const {
    return list.empty() ? SourceLoc() : SourceLoc{list, line.number};
  }
};

// Reads a list; `root` is the prefix of its paths. Throws FileError.
ListedImages ReadListedImages(const std::string& list, const std::string& root);

// Reads a folder whose subfolders are classes, sorted by name (as bytes) and numbered from 0;
// subfolders whose names start with "." are ignored. The image files of a class, including those in
// deeper folders and in formats that cannot be read (see IsImageFile), are sorted by path.
// Throws FileError if there is no class, or a class without images.
ListedImages ReadClassFolders(const std::string& folder);

// Reads a list or a folder, whichever `path` is. Throws FileError, and UsageError for a folder with
// a non-empty `root`.
ListedImages ReadImages(const std::string& path, const std::string& root);

// Returns one name per line, the format that `--labels` reads.
std::string LinesOfClasses(const std::vector<std::string>& classes);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DATA_LISTED_IMAGES_H_
