// The image formats behind Decode(): one file each, with its library's way of failing kept inside.
#ifndef DOPPIO_DATA_DECODE_DECODE_FORMATS_H_
#define DOPPIO_DATA_DECODE_DECODE_FORMATS_H_

#include "data/decode/decode.h"
#include "data/source/file_reader.h"

namespace doppio {

void DecodeJpeg(const uint8_t* file, size_t bytes, const DecodeOptions& options, Image* image);
void DecodePng(const uint8_t* file, size_t bytes, DecodeOptions::Color color, Image* image);
void DecodeBmp(const uint8_t* file, size_t bytes, DecodeOptions::Color color, Image* image);
void DecodePnm(const uint8_t* file, size_t bytes, DecodeOptions::Color color, Image* image);

// Blue, green, red to gray, in place, with OpenCV's weights and rounding.
void MakeGray(Image* image);

// Throws FileError, "it is 3x2, more than ...", if that is more pixels than SetMostImagePixels
// allows. `is` may also say what an image would become.
void CheckPixels(int64_t height, int64_t width, const std::string& is = "it is");

// The same for a header's extents, of any values, of which the rest of the file must hold
// `bits_per_pixel` for each pixel.
void CheckExtents(const FileReader& file, int64_t height, int64_t width, int64_t bits_per_pixel);

}  // namespace doppio

#endif  // DOPPIO_DATA_DECODE_DECODE_FORMATS_H_
