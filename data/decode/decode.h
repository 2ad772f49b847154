// Image files in memory (JPEG, PNG, BMP, PNM) to 8-bit pixels, told apart by their first bytes, not
// by their names. The pixels are those that Caffe gets from OpenCV: full JPEG decoding (a scaled
// one only where it is asked for), bilinear resizing, alpha dropped, 16-bit images cut to 8 bits,
// the inks of CMYK and YCCK taken as inverted. Orientation tags are not applied. A colour PNG that
// states its gamma becomes gray in linear light: libpng's way. Unlike OpenCV, no file that lacks
// pixels is read.
#ifndef DOPPIO_DATA_DECODE_DECODE_H_
#define DOPPIO_DATA_DECODE_DECODE_H_

#include <vector>

#include "data/source/record.h"

namespace doppio {

// Rows of pixels: gray, or blue, green, red. Reused from image to image.
struct Image {
  ImageShape shape;
  std::vector<uint8_t> bytes;

  Pixels pixels() const { return {shape, bytes.data(), nullptr, true}; }
};

// Sets the most pixels that an image may have, in a file or resized, for the whole process;
// kMostImagePixels until then. Call it before other threads decode.
void SetMostImagePixels(int64_t pixels);

enum class ImageFormat { kJpeg, kPng, kBmp, kPnm };

// By the first bytes; FileError when it is none of them.
ImageFormat FormatOf(const uint8_t* file, size_t bytes);

// Thread-safe. Throws FileError when the bytes are no whole image, or one of too many pixels;
// memory for pixels is allocated only after the header has passed that.
void Decode(const uint8_t* file, size_t bytes, const DecodeOptions& options, Image* image);

// Bilinear, as cv::resize does it by default.
void Resize(int height, int width, Image* image);

}  // namespace doppio

#endif  // DOPPIO_DATA_DECODE_DECODE_H_
