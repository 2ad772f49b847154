#include "data/augment/noise.h"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "core/base/error.h"
#include "data/decode/encode.h"
#include "data/decode/mat_image.h"

namespace doppio {
namespace {

void Decolorize(cv::Mat* image) {
  if (image->channels() == 1) return;
  cv::Mat gray;
  cv::cvtColor(*image, gray, cv::COLOR_BGR2GRAY);
  cv::cvtColor(gray, *image, cv::COLOR_GRAY2BGR);
}

// Applies `change` to a gray image, or to the luma of a colour image.
template <class F>
void ChangeLuma(const F& change, cv::Mat* image) {
  if (image->channels() == 1) {
    change(image);
    return;
  }
  cv::Mat luma_first;
  cv::cvtColor(*image, luma_first, cv::COLOR_BGR2YCrCb);
  std::vector<cv::Mat> planes;
  cv::split(luma_first, planes);
  change(&planes[0]);
  cv::merge(planes, luma_first);
  cv::cvtColor(luma_first, *image, cv::COLOR_YCrCb2BGR);
}

void Recompress(int quality, cv::Mat* image) {
  Image pixels = ImageOf(*image);
  const std::string file = Encode(pixels, ImageFormat::kJpeg, quality);
  Decode(reinterpret_cast<const uint8_t*>(file.data()), file.size(), DecodeOptions(), &pixels);
  *image = MatOf(&pixels).clone();
}

// Reduces values to four levels, the middles of the four quarters of the range.
void Posterize(cv::Mat* image) {
  std::for_each(image->data, image->data + image->total() * image->elemSize(),
                [](uchar& byte) { byte = static_cast<uchar>(byte / 64 * 64 + 32); });
}

// Sets random pixels to `value`, which has one or three numbers; if it is empty, to white and black
// in turn.
void SaltAndPepper(const SaltPepperParameter& p, Draws* draws, cv::Mat* image) {
  const auto pixels = static_cast<float>(image->total());
  const auto dots = static_cast<int64_t>(std::floor(p.fraction() * pixels));
  for (int64_t i = 0; i < dots; ++i) {
    const int x = draws->Below(image->cols), y = draws->Below(image->rows);
    uchar* pixel = image->ptr(y) + int64_t{x} * image->channels();
    for (int c = 0; c < image->channels(); ++c) {
      if (p.value_size() == 0) {
        pixel[c] = i % 2 == 0 ? 255 : 0;
      } else {
        pixel[c] = static_cast<uchar>(p.value(std::min(c, p.value_size() - 1)));
      }
    }
  }
}

void ConvertColour(int conversion, cv::Mat* image) {
  if (image->channels() != 3) {
    throw FileError(
        "noise_param: conversion to another colour space needs images with 3 channels, but this "
        "one has 1");
  }
  cv::cvtColor(*image, *image, conversion);
}

}  // namespace

void CheckNoise(const NoiseParameter& p) {
  RefuseIf(!(p.prob() >= 0 && p.prob() <= 1), "noise_param: prob must be from 0 to 1");
  RefuseIf(p.jpeg() > 100, "noise_param: jpeg is a quality up to 100, or negative for none");
  RefuseIf(p.convert_to_hsv() && p.convert_to_lab(),
           "noise_param: set only one of convert_to_hsv and convert_to_lab");
  const SaltPepperParameter& dots = p.saltpepper_param();
  RefuseIf(!(dots.fraction() >= 0 && dots.fraction() <= 1),
           "saltpepper_param: fraction must be from 0 to 1");
  RefuseIf(dots.value_size() > 1 && dots.value_size() != 3,
           "saltpepper_param: give one value, or one for each of 3 channels");
  for (float value : dots.value()) {
    if (value >= 0 && value <= 255) continue;
    throw UserError({}, "saltpepper_param: value must be from 0 to 255");
  }
}

void AddNoise(const NoiseParameter& p, Draws* draws, Image* image) {
  if (p.has_prob() && !draws->Bernoulli(p.prob())) return;
  cv::Mat pixels = MatOf(image).clone();
  if (p.decolorize()) Decolorize(&pixels);
  if (p.gauss_blur()) cv::GaussianBlur(pixels, pixels, cv::Size(7, 7), 1.5);
  if (p.hist_eq()) ChangeLuma([](cv::Mat* luma) { cv::equalizeHist(*luma, *luma); }, &pixels);
  if (p.clahe()) {
    ChangeLuma([](cv::Mat* luma) { cv::createCLAHE(4)->apply(*luma, *luma); }, &pixels);
  }
  if (p.jpeg() >= 1) Recompress(static_cast<int>(p.jpeg()), &pixels);
  if (p.erode()) {
    cv::erode(pixels, pixels, cv::getStructuringElement(cv::MORPH_ELLIPSE, cv::Size(3, 3)));
  }
  if (p.posterize()) Posterize(&pixels);
  if (p.inverse()) cv::bitwise_not(pixels, pixels);
  if (p.saltpepper()) SaltAndPepper(p.saltpepper_param(), draws, &pixels);
  if (p.convert_to_hsv()) ConvertColour(cv::COLOR_BGR2HSV, &pixels);
  if (p.convert_to_lab()) ConvertColour(cv::COLOR_BGR2Lab, &pixels);
  *image = ImageOf(pixels);
}

}  // namespace doppio
