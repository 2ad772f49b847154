// The text that lists images: lines "path label [label...]".
#ifndef DOPPIO_DATA_SOURCE_IMAGE_LINES_H_
#define DOPPIO_DATA_SOURCE_IMAGE_LINES_H_

#include <memory>
#include <string>
#include <vector>

namespace doppio {

class Source;

struct ImageLine {
  std::string path;           // as written; it may hold spaces
  std::vector<float> labels;  // the numbers at the end of the line, at least one
  int number = 0;             // of the line, from 1
};

// At least one, all with as many labels. Blank lines are passed over. Throws FileError with the
// line.
std::vector<ImageLine> ReadImageLines(const std::string& list);

// Such images as they are, `root` in front of each path. Messages name the line in `list`; "" where
// there is none.
std::unique_ptr<Source> OpenImageLines(std::vector<ImageLine> lines, const std::string& root,
                                       const std::string& list);

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_IMAGE_LINES_H_
