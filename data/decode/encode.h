// Encodes 8-bit pixels to JPEG and PNG files in memory. Writes a PNG for all other formats.
#ifndef DOPPIO_DATA_DECODE_ENCODE_H_
#define DOPPIO_DATA_DECODE_ENCODE_H_

#include <string>

#include "data/decode/decode.h"

namespace doppio {

// Encodes an image of gray or blue, green, red pixels. `quality` applies to JPEG, from 1 to 100; 95
// is OpenCV's default. Thread-safe. Throws FileError if the format cannot hold the image; a JPEG
// has at most 65,500 pixels per side.
std::string Encode(const Image& image, ImageFormat format, int quality = 95);

}  // namespace doppio

#endif  // DOPPIO_DATA_DECODE_ENCODE_H_
