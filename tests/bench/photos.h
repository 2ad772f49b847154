// JPEG files that are to a decoder what photographs are: 500x375, 4:2:0, quality 90, about 50 KB
// each.
#ifndef DOPPIO_TESTS_BENCH_PHOTOS_H_
#define DOPPIO_TESTS_BENCH_PHOTOS_H_

#include <string>
#include <vector>

namespace doppio {

struct Photos {
  std::vector<std::string> paths;
  std::string list;  // of paths and labels 0 to 9, for ImageData
  size_t mean_bytes = 0;
};

// Writes 0.jpg, 1.jpg, ... and list.txt into a folder that is there. The same files in every run.
Photos DrawPhotos(const std::string& folder, int count);

}  // namespace doppio

#endif  // DOPPIO_TESTS_BENCH_PHOTOS_H_
