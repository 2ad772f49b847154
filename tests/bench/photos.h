// Synthetic JPEG files that cost a decoder as much as photographs: 500 x 375 pixels, 4:2:0, quality
// 90, about 50 KB each.
#ifndef DOPPIO_TESTS_BENCH_PHOTOS_H_
#define DOPPIO_TESTS_BENCH_PHOTOS_H_

#include <string>
#include <vector>

namespace doppio {

struct Photos {
  std::vector<std::string> paths;
  std::string list;  // path of a file with the paths and labels 0 to 9, for ImageData
  size_t mean_bytes = 0;
};

// Writes `count` files 0.jpg, 1.jpg, ... and list.txt to the existing folder `folder`. Every call
// writes the same contents.
Photos DrawPhotos(const std::string& folder, int count);

}  // namespace doppio

#endif  // DOPPIO_TESTS_BENCH_PHOTOS_H_
