// How a window becomes a square image: a part of its image is resized and put somewhere in the
// square; the rest of the square is 0. Numbers are those of Caffe's WindowData, which computes in
// single precision.
#ifndef DOPPIO_DATA_AUGMENT_WINDOW_CROP_H_
#define DOPPIO_DATA_AUGMENT_WINDOW_CROP_H_

#include "data/source/window_file.h"

namespace doppio {

struct WindowShape {
  int size = 0;  // of the square, > 2 * context_pad
  int context_pad =
      0;  // so many pixels of the square, on each side, show what is around the window
  bool square = false;  // the window is widened to a square first, so that nothing is distorted
};

struct WindowCrop {
  int left = 0, top = 0, width = 0,
      height = 0;  // the part of the image; empty: nothing of it shows
  int to_left = 0, to_top = 0, to_width = 0, to_height = 0;  // where it goes in the square
};

// `image_height` and `image_width` in pixels. A mirrored part goes where it is mirrored to.
WindowCrop CropOf(const Window& window, int image_height, int image_width, const WindowShape& shape,
                  bool mirrored);

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_WINDOW_CROP_H_
