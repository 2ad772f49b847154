// One record of a data source, as it lies on the disk: pixels or an encoded image, and its labels.
// A Record is reused by the thread that reads, so that reading does not allocate when sizes repeat.
#ifndef DOPPIO_DATA_SOURCE_RECORD_H_
#define DOPPIO_DATA_SOURCE_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/augment/boxes.h"

namespace doppio {

struct ImageShape {
  int channels = 0;
  int height = 0;
  int width = 0;

  int64_t count() const { return int64_t{channels} * height * width; }
  bool operator==(const ImageShape& other) const {
    return channels == other.channels && height == other.height && width == other.width;
  }
  bool operator!=(const ImageShape& other) const { return !(*this == other); }
  // "3x28x28": channels, height, width.
  std::string ToString() const {
    return std::to_string(channels) + "x" + std::to_string(height) + "x" + std::to_string(width);
  }
};

// Pixels that somebody else owns. Colour is in the order blue, green, red, as in Caffe's databases,
// unless the source says otherwise.
struct Pixels {
  ImageShape shape;
  const uint8_t* bytes = nullptr;  // one of the two is set
  const float* floats = nullptr;
  bool interleaved = false;  // rows of pixels (height, width, channel); else planes
};

// What to make of an encoded image.
struct DecodeOptions {
  enum class Color { kAsStored, kColor, kGray };
  Color color = Color::kAsStored;
  int height = 0;  // both positive: the result is resized to this
  int width = 0;
  bool scaled = false;  // a JPEG is decoded at 1/2, 1/4 or 1/8 first where that is large enough
};

struct Record {
  Pixels pixels;                     // not set when encoded
  const uint8_t* encoded = nullptr;  // an image file, or null
  size_t encoded_bytes = 0;
  DecodeOptions decode;  // the source's wish for an encoded image
  std::vector<float> labels;
  bool annotated = false;  // `objects` says what is in the image
  std::vector<ObjectBox> objects;

  // Backing for the pointers above where the source does not keep the record in memory itself.
  std::string byte_storage;
  std::vector<float> float_storage;
};

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_RECORD_H_
