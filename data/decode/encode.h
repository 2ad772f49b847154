// 8-bit pixels to JPEG and PNG files in memory; for the other formats, too, a PNG is written.
#ifndef DOPPIO_DATA_DECODE_ENCODE_H_
#define DOPPIO_DATA_DECODE_ENCODE_H_

#include <string>

#include "data/decode/decode.h"

namespace doppio {

// Gray, or blue, green, red. `quality` is a JPEG's, 1 to 100; OpenCV writes 95 by default.
// Thread-safe; throws FileError where the format cannot hold the image: a JPEG ends at 65,500
// pixels a side.
std::string Encode(const Image& image, ImageFormat format, int quality = 95);

}  // namespace doppio

#endif  // DOPPIO_DATA_DECODE_ENCODE_H_
