// The two image formats behind Decode(): one file each, with its library's way of failing kept
// inside.
#ifndef DOPPIO_DATA_DECODE_FORMATS_H_
#define DOPPIO_DATA_DECODE_FORMATS_H_

#include "data/decode.h"

namespace doppio {

void DecodeJpeg(const uint8_t* file, size_t bytes, const DecodeOptions& options, Image* image);
void DecodePng(const uint8_t* file, size_t bytes, DecodeOptions::Color color, Image* image);

}  // namespace doppio

#endif  // DOPPIO_DATA_DECODE_FORMATS_H_
