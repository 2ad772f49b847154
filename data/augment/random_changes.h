// Single random changes of images in training, as functions of what was drawn.
#ifndef DOPPIO_DATA_AUGMENT_RANDOM_CHANGES_H_
#define DOPPIO_DATA_AUGMENT_RANDOM_CHANGES_H_

#include <opencv2/core.hpp>

#include "data/augment/boxes.h"
#include "data/decode/decode.h"
#include "data/augment/draws.h"
#include "proto/augment.pb.h"

namespace doppio {

class TransformationParameter;

// A part of a `height` x `width` image: min_area_ratio to max_area_ratio of its area, at any place
// where it fits; max_attempt draws of a size. The logarithm of its width over height is uniform
// within that of an aspect_ratio_change of 1 or more. One below 1 is Intel Caffe's: a factor drawn
// from it to its inverse widens the part and lowers it as much, or, as often, the other way round.
// Without success the largest part in the middle with such proportions (Szegedy et al., "Going
// Deeper with Convolutions", 2015, section 6, names such crops).
cv::Rect DrawCrop(const RandomAspectRatioParameter& parameter, int height, int width, Draws* draws);

// Turns the image counter-clockwise around its middle, bilinear; `fill` where nothing was.
void Rotate(double degrees, const cv::Scalar& fill, Image* image);

// Moves the image by `right` columns and `down` rows, negative ones the other way; bilinear between
// whole pixels. What was outside of it is what cv::copyMakeBorder would put around it for `border`
// (BorderOf), which takes `fill` if that is constant.
void Shift(double right, double down, int border, const cv::Scalar& fill, Image* image);

// Fills the square of `size` whose middle is at column `x`, row `y`; what is outside the image is
// cut.
void CutSquare(int x, int y, int size, const cv::Scalar& fill, Image* image);

// Throws UserError where expand_param of `transform` makes no sense.
void CheckExpansion(const TransformationParameter& transform);
// With probability `prob` puts the image at a random place of a canvas of `fill` with 1 to
// max_expand_ratio times its sides. Returns the canvas in fractions of the image.
Box Expand(const ExpansionParameter& parameter, const cv::Scalar& fill, Draws* draws, Image* image);

// To a short side of `side` pixels, the other in proportion, rounded.
void ResizeShortSide(int side, int interpolation, Image* image);

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_RANDOM_CHANGES_H_
