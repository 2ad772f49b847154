// Random sizes of whole images: Intel Caffe's random_resize_param, and NVCaffe's fields
// img_rand_resize_lower, rand_resize_ratio_lower, vertical_stretch_lower, horizontal_stretch_lower,
// each with an _upper.
#ifndef DOPPIO_DATA_AUGMENT_RANDOM_SIZE_H_
#define DOPPIO_DATA_AUGMENT_RANDOM_SIZE_H_

#include "data/decode/decode.h"
#include "data/augment/draws.h"

namespace doppio {

class TransformationParameter;

// Whether one of these fields is there.
bool HasRandomSize(const TransformationParameter& transform);
// Throws UserError for sizes and factors that make no sense, and for fields of both forks.
void CheckRandomSize(const TransformationParameter& transform);

// In training a drawn size. Otherwise the short side gets the middle of its sizes, and proportions
// stay.
void ResizeAtRandom(const TransformationParameter& transform, bool training, Draws* draws,
                    Image* image);

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_RANDOM_SIZE_H_
