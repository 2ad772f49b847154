#include "data/augment/distort.h"

#include <opencv2/imgproc.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace doppio {
namespace {

// Multiplies one plane of the image's hue, saturation and value by `factor` and adds `shift`.
void ChangeHsv(int plane, double factor, double shift, cv::Mat* image) {
  cv::Mat hsv;
  cv::cvtColor(*image, hsv, cv::COLOR_BGR2HSV);
  std::vector<cv::Mat> planes;
  cv::split(hsv, planes);
  cv::Mat& changed = planes[plane];
  changed.convertTo(changed, -1, factor, shift);
  cv::merge(planes, hsv);
  cv::cvtColor(hsv, *image, cv::COLOR_HSV2BGR);
}

void Brightness(const DistortionParameter& p, Draws* draws, cv::Mat* image) {
  if (!draws->Bernoulli(p.brightness_prob())) return;
  image->convertTo(*image, -1, 1, draws->Uniform(-p.brightness_delta(), p.brightness_delta()));
}

void Contrast(const DistortionParameter& p, Draws* draws, cv::Mat* image) {
  if (!draws->Bernoulli(p.contrast_prob())) return;
  image->convertTo(*image, -1, draws->Uniform(p.contrast_lower(), p.contrast_upper()), 0);
}

void Saturation(const DistortionParameter& p, Draws* draws, cv::Mat* image) {
  if (!draws->Bernoulli(p.saturation_prob())) return;
  ChangeHsv(1, draws->Uniform(p.saturation_lower(), p.saturation_upper()), 0, image);
}

void Hue(const DistortionParameter& p, Draws* draws, cv::Mat* image) {
  if (!draws->Bernoulli(p.hue_prob())) return;
  ChangeHsv(0, 1, draws->Uniform(-p.hue_delta(), p.hue_delta()), image);
}

void ChannelOrder(const DistortionParameter& p, Draws* draws, cv::Mat* image) {
  if (!draws->Bernoulli(p.random_order_prob())) return;
  std::vector<cv::Mat> planes;
  cv::split(*image, planes);
  for (int left = 3; left > 1; --left) {
    std::swap(planes[static_cast<size_t>(left) - 1], planes[draws->Below(left)]);
  }
  cv::merge(planes, *image);
}

void CheckRange(const char* what, float lower, float upper) {
  if (lower >= 0 && lower <= upper) return;
  throw UserError({}, "distort_param: ", what, "_lower ", lower, " and ", what, "_upper ", upper,
                  " must be at least 0 and in this order");
}

}  // namespace

void CheckDistortion(const DistortionParameter& p) {
  CheckRange("contrast", p.contrast_lower(), p.contrast_upper());
  CheckRange("saturation", p.saturation_lower(), p.saturation_upper());
  RefuseIf(p.brightness_delta() < 0 || p.hue_delta() < 0,
           "distort_param: brightness_delta and hue_delta must be at least 0");
}

void Distort(const DistortionParameter& parameter, Draws* draws, Image* image) {
  if (image->shape.channels != 3) {
    throw FileError("distort_param needs images with 3 channels, but this one has ",
                    image->shape.channels, "; set force_color: true");
  }
  cv::Mat pixels(image->shape.height, image->shape.width, CV_8UC3, image->bytes.data());
  const bool contrast_first = draws->Bernoulli(0.5f);
  Brightness(parameter, draws, &pixels);
  if (contrast_first) Contrast(parameter, draws, &pixels);
  Saturation(parameter, draws, &pixels);
  Hue(parameter, draws, &pixels);
  if (!contrast_first) Contrast(parameter, draws, &pixels);
  ChannelOrder(parameter, draws, &pixels);
  // Sizes and types do not change, so OpenCV works in the image's own memory.
  DOPPIO_CHECK(pixels.data == image->bytes.data(), "a distorted image has moved");
}

}  // namespace doppio
