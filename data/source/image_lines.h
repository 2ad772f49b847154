// Parses lists of images: text files with lines "path label [label...]".
#ifndef DOPPIO_DATA_SOURCE_IMAGE_LINES_H_
#define DOPPIO_DATA_SOURCE_IMAGE_LINES_H_

#include <memory>
#include <string>
#include <vector>

namespace doppio {

class Source;

struct ImageLine {
  std::string path;           // as written in the list; may contain spaces
  std::vector<float> labels;  // the numbers at the end of the line, at least one
  int number = 0;             // line number, from 1
};

// Reads a list of at least one image; all lines must have the same number of labels. Skips blank
// lines. Throws FileError with the line number.
std::vector<ImageLine> ReadImageLines(const std::string& list);

// Opens the images of `lines` without conversion or resizing. `root` is prepended to each path.
// Error messages name the line in `list`, unless `list` is "".
std::unique_ptr<Source> OpenImageLines(std::vector<ImageLine> lines, const std::string& root,
                                       const std::string& list);

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_IMAGE_LINES_H_
