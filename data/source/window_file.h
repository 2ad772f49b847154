// The window file of layer WindowData, in R-CNN's format: words and numbers separated by white
// space. For each image there is
//   # INDEX  PATH  CHANNELS HEIGHT WIDTH  NUMBER
// followed by NUMBER windows
//   CLASS OVERLAP X1 Y1 X2 Y2
// PATH may contain spaces; it ends before the numbers at the end of its line. Corners are in
// pixels, from 0, and inclusive. OVERLAP is the window's intersection over union with an object of
// CLASS.
#ifndef DOPPIO_DATA_SOURCE_WINDOW_FILE_H_
#define DOPPIO_DATA_SOURCE_WINDOW_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace doppio {

struct Window {
  int32_t image = 0;  // index into WindowFile::paths
  int32_t label = 0;  // 0: background
  int32_t x1 = 0, y1 = 0, x2 = 0, y2 = 0;
};

struct WindowFile {
  int channels = 0;  // number of channels, the same for every image
  std::vector<std::string> paths;
  // Windows that overlap an object by `foreground` or more.
  std::vector<Window> objects;
  // Other windows, if they overlap by less than `background`.
  std::vector<Window> backgrounds;
};

// Reads the file at `path`. Throws FileError with the line number.
WindowFile ReadWindowFile(const std::string& path, float foreground, float background);

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_WINDOW_FILE_H_
