#include "data/augment/random_size.h"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <string>
#include <utility>

#include "core/base/error.h"
#include "data/augment/random_changes.h"
#include "data/decode/mat_image.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

constexpr int kLongestDrawnSide = 1 << 16;  // pixels

bool HasShortSide(const TransformationParameter& t) {
  return t.has_img_rand_resize_lower() || t.has_img_rand_resize_upper();
}

bool HasRatio(const TransformationParameter& t) {
  return t.has_rand_resize_ratio_lower() || t.has_rand_resize_ratio_upper();
}

bool HasStretch(const TransformationParameter& t) {
  return t.has_vertical_stretch_lower() || t.has_vertical_stretch_upper() ||
         t.has_horizontal_stretch_lower() || t.has_horizontal_stretch_upper();
}

void CheckSides(const std::string& what, uint32_t lower, uint32_t upper) {
  RefuseIf(lower == 0 || upper < lower, what, " must be positive, and in this order");
  RefuseIf(upper > kLongestDrawnSide, "transform_param: images of this size cannot be created");
}

void CheckFactors(const std::string& name, float least, float lower, float upper) {
  constexpr float kMax = 100;
  if (lower >= least && lower > 0 && lower <= upper && upper <= kMax) return;
  throw UserError({}, "transform_param: ", name, "_lower and ", name, "_upper must be ",
                  least > 0 ? "at least 1" : "above 0", ", at most 100, and in this order");
}

int InterpolationOf(TransformationParameter::InterpolationAlgo algorithm) {
  switch (algorithm) {
    case TransformationParameter::INTER_NEAREST:
      return cv::INTER_NEAREST;
    case TransformationParameter::INTER_CUBIC:
      return cv::INTER_CUBIC;
    case TransformationParameter::INTER_AREA:
      return cv::INTER_AREA;
    default:
      return cv::INTER_LINEAR;
  }
}

int DrawSide(uint32_t lower, uint32_t upper, bool training, Draws* draws) {
  const int range = static_cast<int>(upper - lower);
  return static_cast<int>(lower) + (training ? draws->Below(range + 1) : range / 2);
}

void ResizeAsIntel(const RandomResizeParameter& p, bool training, Draws* draws, Image* image) {
  const int side = DrawSide(p.min_size(), p.max_size(), training, draws);
  if (side == std::min(image->shape.height, image->shape.width)) return;
  ResizeShortSide(side, InterpolationOf(p.resize_param(), draws), image);
}

// The sides before rounding and limiting.
struct DrawnSides {
  float height, width;
};

DrawnSides DrawSides(const TransformationParameter& t, bool training, const ImageShape& image,
                     Draws* draws) {
  DrawnSides sides = {static_cast<float>(image.height), static_cast<float>(image.width)};
  if (HasShortSide(t)) {
    const int side =
        DrawSide(t.img_rand_resize_lower(), t.img_rand_resize_upper(), training, draws);
    const float scale = static_cast<float>(side) / std::min(sides.height, sides.width);
    sides = {sides.height * scale, sides.width * scale};
  }
  if (!training) return sides;
  if (HasRatio(t)) {
    const float ratio = draws->Uniform(t.rand_resize_ratio_lower(), t.rand_resize_ratio_upper());
    const bool wide =
        sides.width > sides.height || (sides.width == sides.height && draws->Bernoulli(0.5f));
    if (wide) {
      sides.width = sides.height * ratio;
    } else {
      sides.height = sides.width * ratio;
    }
  }
  if (HasStretch(t)) {
    sides.height *= draws->Uniform(t.vertical_stretch_lower(), t.vertical_stretch_upper());
    sides.width *= draws->Uniform(t.horizontal_stretch_lower(), t.horizontal_stretch_upper());
  }
  return sides;
}

void ResizeAsNvidia(const TransformationParameter& t, bool training, Draws* draws, Image* image) {
  const ImageShape& now = image->shape;
  const DrawnSides sides = DrawSides(t, training, now, draws);
  // A side is at least that of the crop. Without allow_upscale it is at most the image's own side,
  // which takes precedence.
  const auto limited = [&t](float drawn, uint32_t crop, int own) {
    const int least = static_cast<int>(crop > 0 ? crop : t.crop_size());
    if (drawn > kLongestDrawnSide) throw FileError("it would become too large at a random size");
    const int side = std::max({1, least, static_cast<int>(std::lround(drawn))});
    return t.allow_upscale() ? side : std::min(side, own);
  };
  const cv::Size size(limited(sides.width, t.crop_w(), now.width),
                      limited(sides.height, t.crop_h(), now.height));
  const bool down = size.height <= now.height && size.width <= now.width;
  Resize(size.height, size.width, image,
         InterpolationOf(down ? t.interpolation_algo_down() : t.interpolation_algo_up()));
}

}  // namespace

void CheckRandomSize(const TransformationParameter& t) {
  RefuseIf(t.has_random_aspect_ratio_param(),
           "transform_param: set only one of random_aspect_ratio_param and fields of random sizes "
           "(random_resize_param, img_rand_resize_lower, ...)");
  if (t.has_random_resize_param()) {
    RefuseIf(HasShortSide(t) || HasRatio(t) || HasStretch(t),
             "transform_param: set only one of random_resize_param (Intel Caffe's) and "
             "img_rand_resize_, rand_resize_ratio_ or _stretch fields (NVCaffe's)");
    const RandomResizeParameter& p = t.random_resize_param();
    CheckSides("random_resize_param: min_size and max_size", p.min_size(), p.max_size());
  }
  if (HasShortSide(t)) {
    CheckSides("transform_param: img_rand_resize_lower and img_rand_resize_upper",
               t.img_rand_resize_lower(), t.img_rand_resize_upper());
  }
  if (HasRatio(t)) {
    CheckFactors("rand_resize_ratio", 1, t.rand_resize_ratio_lower(), t.rand_resize_ratio_upper());
  }
  CheckFactors("vertical_stretch", 0, t.vertical_stretch_lower(), t.vertical_stretch_upper());
  CheckFactors("horizontal_stretch", 0, t.horizontal_stretch_lower(), t.horizontal_stretch_upper());
}

void ResizeAtRandom(const TransformationParameter& transform, bool training, Draws* draws,
                    Image* image) {
  if (transform.has_random_resize_param()) {
    return ResizeAsIntel(transform.random_resize_param(), training, draws, image);
  }
  ResizeAsNvidia(transform, training, draws, image);
}

}  // namespace doppio
