#include "data/augment/resize_image.h"

#include <algorithm>
#include <opencv2/imgproc.hpp>
#include <string>

#include "core/base/error.h"
#include "data/decode/mat_image.h"

namespace doppio {
namespace {

constexpr int kLongestSide = 1 << 16;  // pixels

// The sides of the resized image in pixels, before rounding.
struct ExactSides {
  float height, width;
};

ExactSides KeepProportions(const ResizeParameter& resize, const ImageShape& image) {
  const auto height = static_cast<float>(resize.height());
  const auto width = static_cast<float>(resize.width());
  const float aspect = static_cast<float>(image.width) / static_cast<float>(image.height);
  const bool inside = resize.resize_mode() == ResizeParameter::FIT_LARGE_SIZE_AND_PAD;
  if ((aspect > width / height) == inside) return {width / aspect, width};
  return {height, height * aspect};
}

cv::Size Whole(const ExactSides& sides, const ImageShape& image) {
  if (sides.height > kLongestSide || sides.width > kLongestSide) {
    throw FileError("resize_param would make its ", image.height, "x", image.width,
                    " pixels too long and narrow");
  }
  return {static_cast<int>(sides.width), static_cast<int>(sides.height)};
}

cv::Scalar PadValue(const ResizeParameter& resize) {
  cv::Scalar value(0, 0, 0);
  for (int c = 0; resize.pad_value_size() > 0 && c < 3; ++c) {
    value[c] = resize.pad_value(std::min(c, resize.pad_value_size() - 1));
  }
  return value;
}

// Pads the image to height x width, with the image in the centre.
cv::Mat Padded(const ResizeParameter& resize, const cv::Mat& image) {
  const int rows = static_cast<int>(resize.height()) - image.rows;
  const int columns = static_cast<int>(resize.width()) - image.cols;
  cv::Mat padded;
  cv::copyMakeBorder(image, padded, rows / 2, rows - rows / 2, columns / 2, columns - columns / 2,
                     BorderOf(resize.pad_mode()), PadValue(resize));
  return padded;
}

}  // namespace

void CheckResize(const ResizeParameter& resize) {
  RefuseIf(resize.height() == 0 || resize.width() == 0, "resize_param needs height and width");
  RefuseIf(resize.height() > kLongestSide || resize.width() > kLongestSide,
           "resize_param: images of this size cannot be created");
  RefuseIf(!(resize.prob() >= 0 && resize.prob() <= 1), "resize_param: prob must be from 0 to 1");
  RefuseIf(resize.pad_value_size() > 1 && resize.pad_value_size() != 3,
           "resize_param: give one pad_value, or one for each of 3 channels");
}

bool GivesOneSize(const ResizeParameter& resize) {
  return resize.resize_mode() != ResizeParameter::FIT_SMALL_SIZE && resize.prob() >= 1;
}

Box ResizeAs(const ResizeParameter& resize, Draws* draws, Image* image) {
  if (resize.prob() < 1 && !draws->Bernoulli(resize.prob())) return Box();
  const int interpolation = InterpolationOf(resize, draws);
  const auto height = static_cast<float>(resize.height());
  const auto width = static_cast<float>(resize.width());
  ExactSides sides = {height, width};
  if (resize.resize_mode() != ResizeParameter::WARP) {
    sides = KeepProportions(resize, image->shape);
  }
  cv::Size size = Whole(sides, image->shape);
  // Rounding must not leave the image a pixel smaller or larger than the mode guarantees.
  const cv::Size asked(static_cast<int>(resize.width()), static_cast<int>(resize.height()));
  const bool covers = resize.resize_mode() == ResizeParameter::FIT_SMALL_SIZE;
  size.width =
      std::clamp(size.width, covers ? asked.width : 1, covers ? kLongestSide : asked.width);
  size.height =
      std::clamp(size.height, covers ? asked.height : 1, covers ? kLongestSide : asked.height);
  Resize(size.height, size.width, image, interpolation);
  if (resize.resize_mode() != ResizeParameter::FIT_LARGE_SIZE_AND_PAD) return Box();
  *image = ImageOf(Padded(resize, MatOf(image)));
  const float beside = (width / sides.width - 1) / 2, above = (height / sides.height - 1) / 2;
  return {-beside, -above, 1 + beside, 1 + above};
}

}  // namespace doppio
