// The image formats behind Decode(). Each has its own file, which hides how its library reports
// errors.
#ifndef DOPPIO_DATA_DECODE_DECODE_FORMATS_H_
#define DOPPIO_DATA_DECODE_DECODE_FORMATS_H_

#include <algorithm>
#include <array>
#include <vector>

#include "data/decode/decode.h"
#include "data/record/file_reader.h"

namespace doppio {

// Each decodes the `bytes` bytes at `file` into `image` and throws FileError as Decode does;
// `image` then holds any value. Only DecodeJpeg needs all options; Decode() turns and resizes
// afterwards.
void DecodeJpeg(const uint8_t* file, size_t bytes, const DecodeOptions& options, Image* image);
void DecodePng(const uint8_t* file, size_t bytes, const DecodeOptions& options, Image* image);
void DecodeBmp(const uint8_t* file, size_t bytes, DecodeOptions::Color color, Image* image);
void DecodePnm(const uint8_t* file, size_t bytes, const DecodeOptions& options, Image* image);
void DecodeWebp(const uint8_t* file, size_t bytes, DecodeOptions::Color color, Image* image);
void DecodeTiff(const uint8_t* file, size_t bytes, const DecodeOptions& options, Image* image);
void DecodeGif(const uint8_t* file, size_t bytes, DecodeOptions::Color color, Image* image);

// Turns values of more than 8 bits into bytes, and records them in `image`.
class Narrowing {
 public:
  // Without `wide` values, there are no calls.
  Narrowing(const DecodeOptions& options, Image* image, bool wide = true)
      : range_(options.sixteen_bit_range), brightest_(image->brightest) {
    image->narrowed = wide && range_ == kSixteenBits;
  }
  uint8_t operator()(int value) {
    brightest_ = std::max(brightest_, value);
    return static_cast<uint8_t>(std::min(255, value * 256 / range_));
  }

 private:
  const int range_;
  int& brightest_;
};

// Converts files that are not read.
constexpr const char* kImageMagick = "convert IN OUT.png (ImageMagick)";

using Bgr = std::array<uint8_t, 3>;

// Replaces the indices in `image` by their colours in the palette, or by gray if `color` asks for
// it or all colours are gray. Indices beyond the palette are black. Returns true if colours of the
// palette have become gray.
bool TakePalette(const std::vector<Bgr>& palette, DecodeOptions::Color color, Image* image);

// Converts gray to three equal channels.
void Spread(Image* image);

// Converts blue, green, red to gray in place, with OpenCV's weights and rounding.
void MakeGray(Image* image);

// Throws FileError, "it is 3x2, more than ...", if the image has more pixels than
// SetMostImagePixels allows. `is` begins the message; it may also describe the size after a resize.
void CheckPixels(int64_t height, int64_t width, const std::string& is = "it is");

// Returns the place of pixel number `pixel` for messages: "x = 3, y = 0".
std::string PixelText(int64_t pixel, const ImageShape& shape);

// Returns the error about value number `index`, which is too large for
// DecodeOptions::Color::kValues.
FileError LabelTooLarge(int value, int64_t index, const ImageShape& shape);

// Checks the extents of a header, which may have any value: throws FileError if they are not
// positive, if CheckPixels refuses them, or if the rest of `file` has less than `bits_per_pixel`
// bits for each pixel.
void CheckExtents(const FileReader& file, int64_t height, int64_t width, int64_t bits_per_pixel);

}  // namespace doppio

#endif  // DOPPIO_DATA_DECODE_DECODE_FORMATS_H_
