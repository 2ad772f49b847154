// SSD's noise_param: degrades images, or converts them to another colour space, in 8 bits.
#ifndef DOPPIO_DATA_AUGMENT_NOISE_H_
#define DOPPIO_DATA_AUGMENT_NOISE_H_

#include "data/decode/decode.h"
#include "data/record/draws.h"
#include "proto/augment.pb.h"

namespace doppio {

// Throws UserError for invalid settings.
void CheckNoise(const NoiseParameter& parameter);

// With probability `prob` (always if it is not set, as in SSD's Caffe), applies the requested
// changes to an image of 1 or 3 channels, in this order: decolorize, gauss_blur, hist_eq, clahe,
// jpeg, erode, posterize, inverse, saltpepper, convert_to_hsv or convert_to_lab. Throws FileError
// if a gray image is to be converted to another colour space.
void AddNoise(const NoiseParameter& parameter, Draws* draws, Image* image);

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_NOISE_H_
