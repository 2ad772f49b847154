// Turns a window into a square image: resizes a part of its image and places it in the square; the
// rest of the square is 0. The numbers are those of Caffe's WindowData, which computes in single
// precision.
#ifndef DOPPIO_DATA_SOURCE_WINDOW_CROP_H_
#define DOPPIO_DATA_SOURCE_WINDOW_CROP_H_

#include "data/source/window_file.h"

namespace doppio {

struct WindowShape {
  // Side of the square in pixels; greater than 2 * context_pad.
  int size = 0;
  // Width in pixels of the margin of the square that shows the surroundings of the window.
  int context_pad = 0;
  // If true, the window is first widened to a square, so that nothing is distorted.
  bool square = false;
};

struct WindowCrop {
  // The part of the image in pixels; empty if the square shows nothing of the image.
  int left = 0, top = 0, width = 0, height = 0;
  // The place of this part in the square, in pixels.
  int to_left = 0, to_top = 0, to_width = 0, to_height = 0;
};

// Returns the crop for `window` in an image of `image_height` x `image_width` pixels. If `mirrored`
// is true, the place in the square is mirrored.
WindowCrop CropOf(const Window& window, int image_height, int image_width, const WindowShape& shape,
                  bool mirrored);

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_WINDOW_CROP_H_
