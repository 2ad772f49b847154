#include "data/decode.h"

#include <opencv2/imgproc.hpp>

#include "core/base/error.h"
#include "data/decode_formats.h"
#include "data/jpeg_reader.h"

namespace doppio {
namespace {

bool IsPng(const uint8_t* file, size_t bytes) {
  return bytes >= 8 && file[0] == 0x89 && file[1] == 'P' && file[2] == 'N' && file[3] == 'G';
}

}  // namespace

ImageFormat FormatOf(const uint8_t* file, size_t bytes) {
  if (IsJpeg(file, bytes)) return ImageFormat::kJpeg;
  if (IsPng(file, bytes)) return ImageFormat::kPng;
  throw FileError(bytes == 0 ? "the image is empty" : "it is neither a JPEG nor a PNG image");
}

void Decode(const uint8_t* file, size_t bytes, const DecodeOptions& options, Image* image) {
  if (FormatOf(file, bytes) == ImageFormat::kJpeg) {
    DecodeJpeg(file, bytes, options, image);
  } else {
    DecodePng(file, bytes, options.color, image);
  }
  if (options.height > 0 && options.width > 0) Resize(options.height, options.width, image);
}

void Resize(int height, int width, Image* image) {
  if (image->shape.height == height && image->shape.width == width) return;
  // Decode threads are many already: OpenCV must not start its own in each.
  static const bool serial = (cv::setNumThreads(0), true);
  static_cast<void>(serial);
  const int channels = image->shape.channels;
  const cv::Mat from(image->shape.height, image->shape.width, CV_8UC(channels),
                     image->bytes.data());
  std::vector<uint8_t> resized(static_cast<size_t>(height) * width * channels);
  cv::Mat to(height, width, CV_8UC(channels), resized.data());
  cv::resize(from, to, to.size());
  image->bytes.swap(resized);
  image->shape = {channels, height, width};
}

}  // namespace doppio
