// SSD's changes of light and colour (distort_param), in 8 bits as there.
#ifndef DOPPIO_DATA_AUGMENT_DISTORT_H_
#define DOPPIO_DATA_AUGMENT_DISTORT_H_

#include "data/decode/decode.h"
#include "data/augment/draws.h"
#include "proto/augment.pb.h"

namespace doppio {

// Throws UserError for ranges that make no sense.
void CheckDistortion(const DistortionParameter& parameter);

// Throws FileError unless the image has three channels.
void Distort(const DistortionParameter& parameter, Draws* draws, Image* image);

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_DISTORT_H_
