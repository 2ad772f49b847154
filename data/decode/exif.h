// The orientation of a camera in EXIF data. A photo taken on its side is stored on its side, and
// tag 0x0112 of its EXIF data tells viewers how to turn it.
#ifndef DOPPIO_DATA_DECODE_EXIF_H_
#define DOPPIO_DATA_DECODE_EXIF_H_

#include "data/decode/decode.h"

namespace doppio {

constexpr int kUpright = 1;

// Returns the orientation that the EXIF data of a JPEG, PNG, WebP or TIFF file states, from 1 to 8;
// kUpright if there is none or it is damaged.
int OrientationOf(const uint8_t* file, size_t bytes);

// Returns true if upright pixels have the stored pixels' rows as columns.
constexpr bool SwapsSides(int orientation) { return orientation >= 5; }

// Turns and mirrors stored pixels of this orientation as EXIF asks for.
void TurnUpright(int orientation, Image* image);

// Returns the place in the upright image of a box of the stored image, in fractions of each.
Box TurnedUpright(int orientation, const Box& box);

}  // namespace doppio

#endif  // DOPPIO_DATA_DECODE_EXIF_H_
