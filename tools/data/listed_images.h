// Images with labels, from a list of lines "path label..." or from a folder that has a folder for
// each class.
#ifndef DOPPIO_TOOLS_DATA_LISTED_IMAGES_H_
#define DOPPIO_TOOLS_DATA_LISTED_IMAGES_H_

#include <string>
#include <vector>

#include "core/base/error.h"
#include "data/source/image_lines.h"

namespace doppio {

struct ListedImages {
  std::string list;  // "" where a folder was read
  std::string root;  // goes in front of each path as it is
  std::vector<ImageLine> lines;
  std::vector<std::string> classes;  // of a folder: names by their labels

  SourceLoc At(const ImageLine& line) const {
    return list.empty() ? SourceLoc() : SourceLoc{list, line.number};
  }
};

// Of a list; `root` goes in front of its paths. Throws FileError.
ListedImages ReadListedImages(const std::string& list, const std::string& root);

// A folder's classes are its folders in the order of their names (by bytes), labels count from 0;
// their JPEG and PNG files, those in deeper folders too, come in the order of their paths. Throws
// FileError where there is no class, or a class without images.
ListedImages ReadClassFolders(const std::string& folder);

// Either of the two, whichever `path` is.
ListedImages ReadImages(const std::string& path, const std::string& root);

// A name a line, as `--labels` reads them.
void WriteClasses(const std::vector<std::string>& classes, const std::string& path);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DATA_LISTED_IMAGES_H_
