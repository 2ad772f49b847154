// Decodes images whose values are labels, not colours.
#ifndef DOPPIO_DATA_DECODE_LABEL_IMAGE_H_
#define DOPPIO_DATA_DECODE_LABEL_IMAGE_H_

#include "data/decode/decode.h"

namespace doppio {

// Returns an image of one channel with the labels that the file stores: gray values of any number
// of bits without scaling, or indices into the palette. An image of three channels must be gray.
// Throws FileError as Decode does, and for colours and for labels above 255.
Image DecodeLabels(const uint8_t* file, size_t bytes);

}  // namespace doppio

#endif  // DOPPIO_DATA_DECODE_LABEL_IMAGE_H_
