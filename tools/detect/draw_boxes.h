// Draws boxes into copies of images.
#ifndef DOPPIO_TOOLS_DETECT_DRAW_BOXES_H_
#define DOPPIO_TOOLS_DETECT_DRAW_BOXES_H_

#include <string>
#include <unordered_map>
#include <vector>

#include "tools/detect/class_labels.h"
#include "tools/detect/found_object.h"

namespace doppio {

class Preprocessing;

// Draws the objects' boxes, classes and scores into a copy of the image file `image`, low scores
// first, and replaces the file `copy` by it: a JPEG if its name ends in .jpg or .jpeg, else a PNG.
// `record` tells how the image was read when the objects were found. Throws FileError.
void WriteWithBoxes(const Preprocessing& record, const std::string& image,
                    const std::vector<FoundObject>& objects, const ClassLabels& labels,
                    const std::string& copy);

// Names the copies of images in a folder.
class CopyPaths {
 public:
  explicit CopyPaths(const std::string& folder) : folder_(folder) {}

  // Returns the path of the copy of an image: its name, with the ending .png unless it ends in .jpg
  // or .jpeg. A name that this object has returned before gets a number: photo_2.png. Throws
  // UsageError if the copy would replace its image.
  std::string Of(const std::string& image);

 private:
  const std::string folder_;
  std::unordered_map<std::string, int> taken_;  // number of copies by path
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DETECT_DRAW_BOXES_H_
