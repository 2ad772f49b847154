// SSD's noise_param: images that are degraded, or in another colour space, in 8 bits.
#ifndef DOPPIO_DATA_AUGMENT_NOISE_H_
#define DOPPIO_DATA_AUGMENT_NOISE_H_

#include "data/decode/decode.h"
#include "data/augment/draws.h"
#include "proto/augment.pb.h"

namespace doppio {

// Throws UserError for settings that make no sense.
void CheckNoise(const NoiseParameter& parameter);

// With probability `prob` (always where it is not set, as in SSD's Caffe) does to the image, of 1
// or 3 channels, what is asked for, in the order of decolorize, gauss_blur, hist_eq, clahe, jpeg,
// erode, posterize, inverse, saltpepper, convert_to_hsv or convert_to_lab. Throws FileError for a
// gray image that shall have another colour space.
void AddNoise(const NoiseParameter& parameter, Draws* draws, Image* image);

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_NOISE_H_
