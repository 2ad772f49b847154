// Decodes image files in memory (JPEG, PNG, WebP, TIFF, GIF, BMP, PNM) to 8-bit pixels. The first
// bytes of a file determine its format, not its name. The pixels are those that Caffe gets from
// OpenCV: full JPEG decoding (scaled only on request), bilinear resizing, alpha dropped, 16-bit
// images truncated to 8 bits (scaled only on request), and the inks of CMYK and YCCK taken as
// inverted. Orientation tags are ignored unless DecodeOptions::upright is set. A colour PNG with a
// gamma value is converted to gray in linear light, as libpng does. Of several pages or frames, the
// first one counts. Unlike OpenCV, this decoder rejects files with missing pixels.
#ifndef DOPPIO_DATA_DECODE_DECODE_H_
#define DOPPIO_DATA_DECODE_DECODE_H_

#include <string>
#include <vector>

#include "data/record/record.h"

namespace doppio {

// An image in rows of interleaved pixels: gray, or blue, green, red. Reused from image to image.
struct Image {
  ImageShape shape;
  std::vector<uint8_t> bytes;
  bool narrowed = false;         // the file's values have more than 8 bits; the upper 8 are kept
  int brightest = 0;             // the largest of the file's values of more than 8 bits; else 0
  bool palette_as_gray = false;  // the pixels are the brightness of the colours of a palette

  // Returns a view of this image, valid until `bytes` changes.
  Pixels pixels() const { return {shape, bytes.data(), nullptr, true}; }
};

// Sets the maximum number of pixels of an image, decoded or resized, for the whole process. The
// default is kMaxImagePixels. Call it before other threads decode.
void SetMostImagePixels(int64_t pixels);

enum class ImageFormat { kJpeg, kPng, kBmp, kPnm, kWebp, kTiff, kGif };

// Returns the format that the first bytes indicate. Throws FileError for empty files and other
// formats.
ImageFormat FormatOf(const uint8_t* file, size_t bytes);

// Returns the name of the format, such as "PNG", or "" if FormatOf would throw.
std::string FormatName(const uint8_t* file, size_t bytes);

// Returns "a WebP image", or "a HEIC image" for a format that Decode does not read; "" if the first
// bytes are those of no image format.
std::string ImageFormatName(const uint8_t* file, size_t bytes);

// Returns the least power of two above `brightest`, from 256 to kSixteenBits: the sixteen_bit_range
// that loses no values up to `brightest` and as few bits as possible.
int SixteenBitRangeFor(int brightest);

// Decodes an image file and resizes it as `options` ask. Thread-safe. Throws FileError if the image
// is incomplete or damaged or has too many pixels. Allocates memory for pixels only after checking
// the header.
void Decode(const uint8_t* file, size_t bytes, const DecodeOptions& options, Image* image);

// Resizes the image by cv::resize. `interpolation` is OpenCV's number; 1 is bilinear, its default.
// Throws FileError if the result has too many pixels.
void Resize(int64_t height, int64_t width, Image* image, int interpolation = 1);

}  // namespace doppio

#endif  // DOPPIO_DATA_DECODE_DECODE_H_
