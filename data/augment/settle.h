// Changes fields of transform_param to what they do in phase TEST, without anything random: of
// several interpolations the first remains, a random size becomes the middle of its range, and a
// change with a probability below 1 is removed (except resize_param, which then always acts).
#ifndef DOPPIO_DATA_AUGMENT_SETTLE_H_
#define DOPPIO_DATA_AUGMENT_SETTLE_H_

#include <opencv2/core.hpp>

#include "proto/augment.pb.h"

namespace doppio {

class TransformationParameter;

// In phase TEST, random_aspect_ratio_param resizes the whole image to `size`. Replaces it by
// resize_param, unless there is one already.
void SettleAspectRatio(const cv::Size& size, TransformationParameter* transform);
// Settles random_resize_param, and NVCaffe's fields of random sizes.
void SettleRandomSize(TransformationParameter* transform);
void SettleResize(ResizeParameter* resize);
// Settles noise_param.
void SettleNoise(TransformationParameter* transform);

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_SETTLE_H_
