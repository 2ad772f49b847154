// Images as OpenCV's matrices, and records as images that can be changed.
#ifndef DOPPIO_DATA_DECODE_MAT_IMAGE_H_
#define DOPPIO_DATA_DECODE_MAT_IMAGE_H_

#include <opencv2/core.hpp>

#include "data/decode/decode.h"
#include "data/augment/draws.h"
#include "proto/augment.pb.h"

namespace doppio {

class TransformationParameter;

// The image's own memory.
cv::Mat MatOf(Image* image);
// A copy.
Image ImageOf(const cv::Mat& pixels);

// The pixels of a record: decoded, to the channels that `transform` forces, or put in rows of
// pixels. FileError unless they are bytes, of 1 or 3 channels.
Image ImageOfRecord(const Record& record, const TransformationParameter& transform);
// The other way round: the record's pixels become the image's.
void GiveImage(const Image& image, Record* record);

// OpenCV's number of one of interp_mode, drawn where there are several; bilinear without any.
int InterpolationOf(const ResizeParameter& resize, Draws* draws);

// OpenCV's number of what pad_mode puts around an image.
int BorderOf(ResizeParameter::Pad_mode mode);

// What is put where an image ends: mean_value, without fractions, which becomes about 0 in the net;
// 0 without one.
cv::Scalar MeanFill(const TransformationParameter& transform, int channels);

}  // namespace doppio

#endif  // DOPPIO_DATA_DECODE_MAT_IMAGE_H_
