#include "data/decode/label_image.h"

#include <string>

#include "core/base/error.h"
#include "data/decode/decode_formats.h"

namespace doppio {

Image DecodeLabels(const uint8_t* file, size_t bytes) {
  Image image;
  DecodeOptions options;
  options.color = DecodeOptions::Color::kValues;
  Decode(file, bytes, options, &image);
  if (image.shape.channels == 1) return image;
  const int64_t pixels = int64_t{image.shape.height} * image.shape.width;
  for (int64_t i = 0; i < pixels; ++i) {
    const uint8_t* const bgr = &image.bytes[3 * i];
    if (bgr[0] != bgr[1] || bgr[1] != bgr[2]) {
      throw FileError(
          "it has colours, such as red ", bgr[2], ", green ", bgr[1], ", blue ", bgr[0], " at ",
          PixelText(i, image.shape),
          ", but a label is one number; store class numbers in a PNG with a palette or in gray");
    }
    image.bytes[i] = bgr[0];
  }
  image.bytes.resize(pixels);
  image.shape.channels = 1;
  return image;
}

}  // namespace doppio
