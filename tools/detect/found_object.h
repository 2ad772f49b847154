// An object that a net has found in an image.
#ifndef DOPPIO_TOOLS_DETECT_FOUND_OBJECT_H_
#define DOPPIO_TOOLS_DETECT_FOUND_OBJECT_H_

#include <array>

namespace doppio {

// xmin, ymin, xmax, ymax.
using PixelBox = std::array<double, 4>;

struct FoundObject {
  int label = 0;  // class; 0 is the background
  double score = 0;
  PixelBox box = {};  // in pixels of the image file, inside the image
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DETECT_FOUND_OBJECT_H_
