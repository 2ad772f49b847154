#include "data/augment/random_changes.h"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

#include "core/base/error.h"
#include "data/decode/decode_formats.h"
#include "data/decode/mat_image.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

void Warp(const cv::Mat& by, int border, const cv::Scalar& fill, Image* image) {
  const cv::Mat from = MatOf(image);
  cv::Mat moved;
  cv::warpAffine(from, moved, by, from.size(), cv::INTER_LINEAR, border, fill);
  *image = ImageOf(moved);
}

// Draws a ratio of width to height.
float DrawAspect(float change, Draws* draws) {
  if (change >= 1) {
    const float widest = std::log(change);
    return std::exp(draws->Uniform(-widest, widest));
  }
  const float factor = draws->Uniform(change, 1 / change);
  return draws->Bernoulli(0.5f) ? factor * factor : 1 / (factor * factor);
}

}  // namespace

std::optional<cv::Rect> DrawPart(const RandomAspectRatioParameter& p, int height, int width,
                                 Draws* draws) {
  const float change = p.aspect_ratio_change();
  const float area = static_cast<float>(height) * static_cast<float>(width);
  for (uint32_t attempt = 0; attempt < p.max_attempt(); ++attempt) {
    const float part = area * draws->Uniform(p.min_area_ratio(), p.max_area_ratio());
    const float aspect = DrawAspect(change, draws);
    const int w = std::max(1, static_cast<int>(std::lround(std::sqrt(part * aspect))));
    const int h = std::max(1, static_cast<int>(std::lround(std::sqrt(part / aspect))));
    if (w > width || h > height) continue;
    const int left = draws->Below(width - w + 1);
    return cv::Rect(left, draws->Below(height - h + 1), w, h);
  }
  return std::nullopt;
}

cv::Rect DrawCrop(const RandomAspectRatioParameter& p, int height, int width, Draws* draws) {
  if (const std::optional<cv::Rect> part = DrawPart(p, height, width, draws)) return *part;
  const float change = p.aspect_ratio_change();
  const float most = change >= 1 ? change : 1 / (change * change);
  const int w = std::min(width, std::max(1, static_cast<int>(static_cast<float>(height) * most)));
  const int h = std::min(height, std::max(1, static_cast<int>(static_cast<float>(width) * most)));
  return {(width - w) / 2, (height - h) / 2, w, h};
}

void Rotate(double degrees, const cv::Scalar& fill, Image* image) {
  const cv::Point2f middle(static_cast<float>(image->shape.width - 1) / 2,
                           static_cast<float>(image->shape.height - 1) / 2);
  Warp(cv::getRotationMatrix2D(middle, degrees, 1), cv::BORDER_CONSTANT, fill, image);
}

void Shift(double right, double down, int border, const cv::Scalar& fill, Image* image) {
  Warp((cv::Mat_<double>(2, 3) << 1, 0, right, 0, 1, down), border, fill, image);
}

void Shear(double across, double down, const cv::Scalar& fill, Image* image) {
  const double x = (image->shape.width - 1) / 2.0, y = (image->shape.height - 1) / 2.0;
  Warp((cv::Mat_<double>(2, 3) << 1, across, -across * y, down, 1, -down * x), cv::BORDER_CONSTANT,
       fill, image);
}

void CutSquare(int x, int y, int size, const cv::Scalar& fill, Image* image) {
  const cv::Rect whole(0, 0, image->shape.width, image->shape.height);
  MatOf(image)(cv::Rect(x - size / 2, y - size / 2, size, size) & whole).setTo(fill);
}

void CoverWithNoise(const cv::Rect& part, Draws* draws, Image* image) {
  cv::Mat pixels = MatOf(image)(part);
  const int values = pixels.cols * pixels.channels();
  for (int y = 0; y < pixels.rows; ++y) {
    constexpr int kBytes = sizeof(Random4);
    for (int x = 0; x < values; x += kBytes) {
      const Random4 words = draws->Bits();
      for (int i = 0; i < std::min(kBytes, values - x); ++i)
        pixels.ptr(y)[x + i] = static_cast<uchar>(words.v[i / 4] >> (8 * (i % 4)));
    }
  }
}

void CheckExpansion(const TransformationParameter& transform) {
  RefuseIf(transform.expand_param().max_expand_ratio() < 1,
           "expand_param: max_expand_ratio must be at least 1");
  RefuseIf(transform.has_mean_file(),
           "expand_param fills with the mean: give mean_value instead of mean_file");
}

Box Expand(const ExpansionParameter& parameter, const cv::Scalar& fill, Draws* draws,
           Image* image) {
  if (!draws->Bernoulli(parameter.prob())) return Box();
  const float ratio = draws->Uniform(1, parameter.max_expand_ratio());
  const ImageShape old = image->shape;
  const float rows = static_cast<float>(old.height) * ratio;
  const float columns = static_cast<float>(old.width) * ratio;
  CheckPixels(std::llround(rows), std::llround(columns), "it would be expanded to");
  const int height = static_cast<int>(rows), width = static_cast<int>(columns);
  const int top = draws->Below(height - old.height + 1);
  const int left = draws->Below(width - old.width + 1);
  cv::Mat canvas(height, width, CV_8UC(old.channels), fill);
  MatOf(image).copyTo(canvas(cv::Rect(left, top, old.width, old.height)));
  *image = ImageOf(canvas);
  const auto part = [](int pixels, int of) {
    return static_cast<float>(pixels) / static_cast<float>(of);
  };
  return {part(-left, old.width), part(-top, old.height), part(width - left, old.width),
          part(height - top, old.height)};
}

void ResizeShortSide(int side, int interpolation, Image* image) {
  const double scale =
      static_cast<double>(side) / std::min(image->shape.height, image->shape.width);
  Resize(std::llround(image->shape.height * scale), std::llround(image->shape.width * scale), image,
         interpolation);
}

}  // namespace doppio
