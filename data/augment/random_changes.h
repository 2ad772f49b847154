// Individual random changes of training images. The functions that take Draws also draw their
// parameters.
#ifndef DOPPIO_DATA_AUGMENT_RANDOM_CHANGES_H_
#define DOPPIO_DATA_AUGMENT_RANDOM_CHANGES_H_

#include <opencv2/core.hpp>
#include <optional>

#include "data/decode/decode.h"
#include "data/record/boxes.h"
#include "data/record/draws.h"
#include "proto/augment.pb.h"

namespace doppio {

class TransformationParameter;

// Draws a part of a `height` x `width` image. The part has min_area_ratio to max_area_ratio of the
// image's area, at any place where it fits; max_attempt sizes are tried. If aspect_ratio_change c
// is 1 or more, the logarithm of width over height is uniform in [-log c, log c]. If c is below 1,
// the rule is Intel Caffe's: a factor f is drawn from [c, 1/c], and either the width is multiplied
// and the height divided by f, or the reverse, with equal probability. Returns nullopt if no
// attempt fits.
std::optional<cv::Rect> DrawPart(const RandomAspectRatioParameter& parameter, int height, int width,
                                 Draws* draws);
// The same, but if no attempt fits, returns the largest central part with proportions in this range
// (such crops are named in Szegedy et al., "Going Deeper with Convolutions", 2015, section 6).
cv::Rect DrawCrop(const RandomAspectRatioParameter& parameter, int height, int width, Draws* draws);

// Rotates the image counter-clockwise around its centre, with bilinear interpolation. Pixels from
// outside the image become `fill`.
void Rotate(double degrees, const cv::Scalar& fill, Image* image);

// Moves the image by `right` columns and `down` rows, which may be negative or fractional;
// interpolation is bilinear. `border` (see BorderOf) is OpenCV's rule for pixels from outside the
// image, as in cv::copyMakeBorder; `fill` is the colour for a constant border.
void Shift(double right, double down, int border, const cv::Scalar& fill, Image* image);

// Moves each row across by `across` times its distance below the centre, and each column down by
// `down` times its distance right of the centre, with bilinear interpolation. Pixels from outside
// the image become `fill`.
void Shear(double across, double down, const cv::Scalar& fill, Image* image);

// Fills a square of `size` pixels a side, centred at column `x` and row `y` and clipped to the
// image.
void CutSquare(int x, int y, int size, const cv::Scalar& fill, Image* image);

// Covers a part of the image with random values.
void CoverWithNoise(const cv::Rect& part, Draws* draws, Image* image);

// Throws UserError if expand_param of `transform` is invalid.
void CheckExpansion(const TransformationParameter& transform);
// With probability `prob`, places the image at random on a canvas of colour `fill` with 1 to
// max_expand_ratio times the image's sides. Returns the canvas in fractions of the original image.
// Throws FileError if the canvas exceeds the limit on pixels.
Box Expand(const ExpansionParameter& parameter, const cv::Scalar& fill, Draws* draws, Image* image);

// Resizes the image to a short side of `side` pixels and keeps its proportions, rounded.
// `interpolation` is OpenCV's number. Throws FileError if the result exceeds the limit on pixels.
void ResizeShortSide(int side, int interpolation, Image* image);

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_RANDOM_CHANGES_H_
