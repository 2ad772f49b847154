// The window file of layer WindowData, in the form that R-CNN writes: words and numbers between any
// white space, for each image
//   # INDEX  PATH  CHANNELS HEIGHT WIDTH  NUMBER
// and then for each of its NUMBER windows
//   CLASS OVERLAP X1 Y1 X2 Y2
// with corners that belong to the window, in pixels from 0. OVERLAP is the window's intersection
// over union with an object of CLASS.
#ifndef DOPPIO_DATA_SOURCE_WINDOW_FILE_H_
#define DOPPIO_DATA_SOURCE_WINDOW_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace doppio {

struct Window {
  int32_t image = 0;  // its place in WindowFile::paths
  int32_t label = 0;  // 0: background
  int32_t x1 = 0, y1 = 0, x2 = 0, y2 = 0;
};

struct WindowFile {
  int channels = 0;  // the same in all images
  std::vector<std::string> paths;
  std::vector<Window> objects;      // overlap of foreground or more
  std::vector<Window> backgrounds;  // of the others, those with less than background
};

// Throws FileError with the line.
WindowFile ReadWindowFile(const std::string& path, float foreground, float background);

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_WINDOW_FILE_H_
