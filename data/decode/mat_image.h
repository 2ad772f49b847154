// Converts images to OpenCV matrices, and records to images that can be changed.
#ifndef DOPPIO_DATA_DECODE_MAT_IMAGE_H_
#define DOPPIO_DATA_DECODE_MAT_IMAGE_H_

#include <opencv2/core.hpp>

#include "data/decode/decode.h"
#include "data/record/draws.h"
#include "proto/augment.pb.h"

namespace doppio {

class TransformationParameter;

// Keeps OpenCV from starting threads of its own in each of Doppio's threads.
void KeepOpenCvSerial();

// Returns a matrix that shares the image's memory; valid until `image->bytes` changes.
cv::Mat MatOf(Image* image);
// Returns a copy of the pixels.
Image ImageOf(const cv::Mat& pixels);

// Returns the pixels of a record, interleaved. Decodes encoded images to the colours that
// `transform` forces, and sets the record's remarks. Throws FileError unless the pixels are bytes
// with 1 or 3 channels.
Image ImageOfRecord(Record* record, const TransformationParameter& transform);
// Replaces the record's pixels by a copy of the image's.
void SetImage(const Image& image, Record* record);

// Returns OpenCV's number for interp_mode. Draws one if there are several; bilinear if there are
// none.
int InterpolationOf(const ResizeParameter& resize, Draws* draws);

// Returns OpenCV's border type for pad_mode.
int BorderOf(ResizeParameter::Pad_mode mode);

// Returns the colour with which areas beyond an image are filled: mean_value rounded down, which
// becomes about 0 in the net, or 0 if mean_value is not set.
cv::Scalar MeanFill(const TransformationParameter& transform, int channels);

}  // namespace doppio

#endif  // DOPPIO_DATA_DECODE_MAT_IMAGE_H_
