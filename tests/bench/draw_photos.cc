// draw_photos FOLDER COUNT: writes COUNT synthetic JPEG files to FOLDER, for training without a
// data set. FOLDER/list.txt lists their paths and labels.
#include <cstdio>
#include <cstdlib>

#include "core/base/error.h"
#include "tests/bench/photos.h"

int main(int argc, char** argv) {
  const int count = argc == 3 ? std::atoi(argv[2]) : 0;
  if (count <= 0) {
    std::fprintf(stderr, "usage: draw_photos FOLDER COUNT\n");
    return 2;
  }
  try {
    std::printf("%s\n", doppio::DrawPhotos(argv[1], count).list.c_str());
  } catch (const doppio::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return static_cast<int>(e.code());
  }
  return 0;
}
