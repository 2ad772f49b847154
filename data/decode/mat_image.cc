#include "data/decode/mat_image.h"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

#include "core/base/error.h"
#include "core/base/library_version.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

// Copies pixels in planes or interleaved.
void TakePixels(const Pixels& planes, Image* image) {
  image->shape = planes.shape;
  image->bytes.resize(planes.shape.count());
  if (planes.interleaved) {
    std::copy_n(planes.bytes, planes.shape.count(), image->bytes.data());
    return;
  }
  const int64_t plane = int64_t{planes.shape.height} * planes.shape.width;
  for (int c = 0; c < planes.shape.channels; ++c) {
    for (int64_t i = 0; i < plane; ++i) {
      image->bytes[i * planes.shape.channels + c] = planes.bytes[c * plane + i];
    }
  }
}

DOPPIO_REGISTER(Libraries, "OpenCV",
                {CV_VERSION, [] { return std::string(cv::getVersionString()); }});

}  // namespace

void KeepOpenCvSerial() {
  static const bool serial = (cv::setNumThreads(0), true);
  static_cast<void>(serial);
}

cv::Mat MatOf(Image* image) {
  return cv::Mat(image->shape.height, image->shape.width, CV_8UC(image->shape.channels),
                 image->bytes.data());
}

Image ImageOf(const cv::Mat& pixels) {
  Image image;
  image.shape = {pixels.channels(), pixels.rows, pixels.cols};
  image.bytes.resize(image.shape.count());
  pixels.copyTo(MatOf(&image));
  return image;
}

Image ImageOfRecord(Record* record, const TransformationParameter& transform) {
  Image image;
  if (record->encoded != nullptr) {
    DecodeOptions options = record->decode;
    if (transform.force_color()) options.color = DecodeOptions::Color::kColor;
    if (transform.force_gray()) options.color = DecodeOptions::Color::kGray;
    Decode(record->encoded, record->encoded_bytes, options, &image);
    record->remarks.narrowed |= image.narrowed;
    return image;
  }
  const int channels = record->pixels.shape.channels;
  if (record->pixels.bytes == nullptr || (channels != 1 && channels != 3)) {
    throw FileError("its pixels must be bytes, of 1 or 3 channels");
  }
  TakePixels(record->pixels, &image);
  return image;
}

void SetImage(const Image& image, Record* record) {
  record->byte_storage.assign(reinterpret_cast<const char*>(image.bytes.data()),
                              image.bytes.size());
  record->encoded = nullptr;
  record->pixels = {image.shape, reinterpret_cast<const uint8_t*>(record->byte_storage.data()),
                    nullptr, image.shape.channels == 3};
}

int BorderOf(ResizeParameter::Pad_mode mode) {
  if (mode == ResizeParameter::MIRRORED) return cv::BORDER_REFLECT_101;
  return mode == ResizeParameter::REPEAT_NEAREST ? cv::BORDER_REPLICATE : cv::BORDER_CONSTANT;
}

int InterpolationOf(const ResizeParameter& resize, Draws* draws) {
  if (resize.interp_mode_size() == 0) return cv::INTER_LINEAR;
  switch (resize.interp_mode(draws->Below(resize.interp_mode_size()))) {
    case ResizeParameter::AREA:
      return cv::INTER_AREA;
    case ResizeParameter::NEAREST:
      return cv::INTER_NEAREST;
    case ResizeParameter::CUBIC:
      return cv::INTER_CUBIC;
    case ResizeParameter::LANCZOS4:
      return cv::INTER_LANCZOS4;
    default:
      return cv::INTER_LINEAR;
  }
}

cv::Scalar MeanFill(const TransformationParameter& transform, int channels) {
  cv::Scalar mean(0, 0, 0);
  const int means = transform.mean_value_size();
  for (int c = 0; means > 0 && c < channels; ++c) {
    mean[c] = std::floor(transform.mean_value(std::min(c, means - 1)));
  }
  return mean;
}

}  // namespace doppio
