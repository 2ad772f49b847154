// Makes images with one channel from lists of pixels.
#ifndef DOPPIO_TESTS_DATA_GRAY_IMAGE_H_
#define DOPPIO_TESTS_DATA_GRAY_IMAGE_H_

#include <cstdint>
#include <vector>

#include "data/decode/decode.h"

namespace doppio {

inline Image GrayImage(int height, int width, const std::vector<uint8_t>& bytes) {
  Image image;
  image.shape = {1, height, width};
  image.bytes = bytes;
  return image;
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_DATA_GRAY_IMAGE_H_
