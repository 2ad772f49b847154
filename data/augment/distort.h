// SSD's random changes of brightness and colour (distort_param), computed in 8 bits as SSD does.
#ifndef DOPPIO_DATA_AUGMENT_DISTORT_H_
#define DOPPIO_DATA_AUGMENT_DISTORT_H_

#include "data/decode/decode.h"
#include "data/record/draws.h"
#include "proto/augment.pb.h"

namespace doppio {

// Throws UserError for invalid ranges.
void CheckDistortion(const DistortionParameter& parameter);

// Changes brightness, contrast, saturation, hue and channel order of `image`, each with its own
// probability. Throws FileError unless the image has three channels.
void Distort(const DistortionParameter& parameter, Draws* draws, Image* image);

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_DISTORT_H_
