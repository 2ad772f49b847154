// Resizes images by resize_param, as SSD's Caffe does.
#ifndef DOPPIO_DATA_AUGMENT_RESIZE_IMAGE_H_
#define DOPPIO_DATA_AUGMENT_RESIZE_IMAGE_H_

#include "data/decode/decode.h"
#include "data/record/boxes.h"
#include "data/record/draws.h"
#include "proto/augment.pb.h"

namespace doppio {

// Throws UserError for a missing or too large size, for an invalid probability, and unless there
// are zero, one or three pad values.
void CheckResize(const ResizeParameter& resize);

// Returns true if images of all sizes are resized to the same size.
bool GivesOneSize(const ResizeParameter& resize);

// With probability `prob`, resizes the image: WARP to height x width; FIT_SMALL_SIZE to the
// smallest size that covers height x width with the image's proportions; FIT_LARGE_SIZE_AND_PAD to
// the largest such size that fits inside height x width, centred in a border. Returns the frame of
// the result in fractions of the original image; with a border it is larger than the image. Throws
// FileError if the result would be too large.
Box ResizeAs(const ResizeParameter& resize, Draws* draws, Image* image);

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_RESIZE_IMAGE_H_
