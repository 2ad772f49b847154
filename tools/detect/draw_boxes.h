// Draws boxes into copies of images.
#ifndef DOPPIO_TOOLS_DETECT_DRAW_BOXES_H_
#define DOPPIO_TOOLS_DETECT_DRAW_BOXES_H_

#include <string>
#include <vector>

#include "tools/detect/class_labels.h"
#include "tools/detect/found_object.h"

namespace doppio {

// Draws the objects' boxes, classes and scores into a copy of the image file `image`, low scores
// first, and replaces the file `copy` by it: a JPEG if its name ends in .jpg or .jpeg, else a PNG.
// Throws FileError.
void WriteWithBoxes(const std::string& image, const std::vector<FoundObject>& objects,
                    const ClassLabels& labels, const std::string& copy);

// Returns the paths of the copies in the folder `out` of the images: their names, with the ending
// .png unless a name ends in .jpg or .jpeg. Throws UsageError if two images would have the same
// copy, or if a copy would replace its image.
std::vector<std::string> DrawnPaths(const std::vector<std::string>& images, const std::string& out);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DETECT_DRAW_BOXES_H_
