// resize_param: images get a size as SSD's Caffe gives them one.
#ifndef DOPPIO_DATA_AUGMENT_RESIZE_IMAGE_H_
#define DOPPIO_DATA_AUGMENT_RESIZE_IMAGE_H_

#include "data/augment/boxes.h"
#include "data/decode/decode.h"
#include "data/augment/draws.h"
#include "proto/augment.pb.h"

namespace doppio {

// Throws UserError for settings that give no size, or not a whole border.
void CheckResize(const ResizeParameter& resize);

// Whether images of all sizes get the same one.
bool GivesOneSize(const ResizeParameter& resize);

// With probability `prob` resizes the image: WARP to height x width, FIT_SMALL_SIZE to the smallest
// size of its own proportions that covers height x width, FIT_LARGE_SIZE_AND_PAD to the largest one
// inside of it, in the middle of a border. Returns the frame of the result in fractions of what the
// image was: more than the image where there is a border. Throws FileError for an image that would
// become too large.
Box ResizeAs(const ResizeParameter& resize, Draws* draws, Image* image);

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_RESIZE_IMAGE_H_
