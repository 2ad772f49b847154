// One record of a data source as stored: pixels or an encoded image, and its labels. Each reading
// thread reuses its Record, so reading does not allocate memory when sizes repeat.
#ifndef DOPPIO_DATA_RECORD_RECORD_H_
#define DOPPIO_DATA_RECORD_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/record/boxes.h"

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
  // Returns channels, height and width as text: "3x28x28".
  std::string ToString() const {
    return std::to_string(channels) + "x" + std::to_string(height) + "x" + std::to_string(width);
  }
};

// A view of pixels; does not own them. Colour channels are in the order blue, green, red, as in
// Caffe's databases, unless the source says otherwise.
struct Pixels {
  ImageShape shape;
  const uint8_t* bytes = nullptr;  // exactly one of bytes and floats is set
  const float* floats = nullptr;
  bool interleaved = false;  // true: height x width x channel; false: planes
};

constexpr int kSixteenBits = 1 << 16;  // the number of values of 16 bits

// The options for decoding an encoded image.
struct DecodeOptions {
  // kValues: what the file stores, for labels: indices instead of the colours of a palette, gray
  // values of 1 to 16 bits without scaling. Values above 255 are an error.
  enum class Color { kAsStored, kColor, kGray, kValues };
  Color color = Color::kAsStored;
  int height = 0;  // if both are positive, the image is resized to height x width
  int width = 0;
  bool scaled = false;   // decode a JPEG at 1/2, 1/4 or 1/8 if the result is still large enough
  bool upright = false;  // turn the image as the orientation in its EXIF data says
  // Value v of more than 8 bits becomes min(255, v * 256 / range); kSixteenBits keeps the upper 8.
  int sixteen_bit_range = kSixteenBits;
};

// Follows the name of an image with RecordRemarks::palette_as_gray.
constexpr const char* kPaletteAsGray =
    " has a palette, and its pixels are the brightness of their colours, not the numbers of these; "
    "if the numbers are labels, read the file by ImageSegData";

// Warnings about a record (data/pipeline/remarks.h).
struct RecordRemarks {
  bool narrowed = false;  // the image has values of more than 8 bits and lost their lower bits
  bool palette_as_gray = false;  // see Image::palette_as_gray
  bool lossy_labels = false;     // the image of labels is a JPEG
  int dropped_boxes = 0;         // boxes that IsUsable refuses
};

// A record as read from a source. The pointers refer to the storage members below or to the
// source's memory.
struct Record {
  Pixels pixels;                     // empty if encoded
  const uint8_t* encoded = nullptr;  // an image file, or null
  size_t encoded_bytes = 0;
  DecodeOptions decode;  // options for decoding, if encoded
  std::vector<float> labels;
  bool annotated = false;  // true if `objects` lists the objects in the image
  std::vector<ObjectBox> objects;
  RecordRemarks remarks;  // sources set them, and do not reset them

  // Memory for the pointers above, if the source does not keep the record in memory itself.
  std::string byte_storage;
  std::vector<float> float_storage;
};

}  // namespace doppio

#endif  // DOPPIO_DATA_RECORD_RECORD_H_
