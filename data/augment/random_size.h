// Resizes whole images to random sizes: by Intel Caffe's random_resize_param, or by NVCaffe's
// fields img_rand_resize_lower, rand_resize_ratio_lower, vertical_stretch_lower and
// horizontal_stretch_lower, each with its _upper.
#ifndef DOPPIO_DATA_AUGMENT_RANDOM_SIZE_H_
#define DOPPIO_DATA_AUGMENT_RANDOM_SIZE_H_

#include "data/decode/decode.h"
#include "data/record/draws.h"

namespace doppio {

class TransformationParameter;

// Throws UserError for invalid sizes and factors, if fields of both forks are set, and if
// random_aspect_ratio_param is set too.
void CheckRandomSize(const TransformationParameter& transform);

// Resizes the image to a random size in training. Otherwise, resizes the short side to the middle
// of its range and keeps the proportions. Throws FileError if the result would be too large.
void ResizeAtRandom(const TransformationParameter& transform, bool training, Draws* draws,
                    Image* image);

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_RANDOM_SIZE_H_
