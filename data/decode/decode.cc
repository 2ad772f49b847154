#include "data/decode/decode.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <opencv2/imgproc.hpp>
#include <optional>
#include <string>
#include <utility>

#include "core/base/checked_product.h"
#include "core/base/content/content_kind.h"
#include "core/base/error.h"
#include "data/decode/decode_formats.h"
#include "data/decode/mat_image.h"

namespace doppio {
namespace {

// The limit protects the memory of the process against damaged files, so it is one of the process:
// sources, nets and commands that decode images share nothing else.
std::atomic<int64_t> most_image_pixels{kMaxImagePixels};

// A format and the bytes with which its files begin (Signature), or which they contain at offset
// `at` (Foreign).
struct Signature {
  ImageFormat format;
  std::string bytes;
};
struct Foreign {
  const char* name;
  size_t at;
  std::string bytes;
};

const std::vector<Signature>& Signatures() {
  static const std::vector<Signature> signatures = {{ImageFormat::kJpeg, "\xff\xd8\xff"},
                                                    {ImageFormat::kPng, "\x89PNG"},
                                                    {ImageFormat::kBmp, "BM"}};
  return signatures;
}

// Common formats that are not supported, for a clear error message.
const std::vector<Foreign>& ForeignFormats() {
  static const std::vector<Foreign> formats = {{"WebP", 8, "WEBP"},       {"GIF", 0, "GIF8"},
                                               {"TIFF", 0, {"II*\0", 4}}, {"TIFF", 0, {"MM\0*", 4}},
                                               {"AVIF", 4, "ftypavif"},   {"HEIC", 4, "ftyphei"},
                                               {"HEIC", 4, "ftypmif1"},   {"JPEG 2000", 4, "jP  "}};
  return formats;
}

bool Has(const uint8_t* file, size_t bytes, size_t at, const std::string& signature) {
  return bytes >= at + signature.size() &&
         std::equal(signature.begin(), signature.end(), file + at,
                    [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
}

bool IsPnm(const uint8_t* file, size_t bytes) {
  return bytes >= 3 && file[0] == 'P' && file[1] >= '1' && file[1] <= '6' &&
         (std::isspace(file[2]) != 0 || file[2] == '#');
}

std::optional<ImageFormat> KnownFormat(const uint8_t* file, size_t bytes) {
  for (const Signature& signature : Signatures()) {
    if (Has(file, bytes, 0, signature.bytes)) return signature.format;
  }
  if (IsPnm(file, bytes)) return ImageFormat::kPnm;
  return std::nullopt;
}

}  // namespace

std::string FormatName(const uint8_t* file, size_t bytes) {
  const std::optional<ImageFormat> format = KnownFormat(file, bytes);
  if (!format) return "";
  static const char* const names[] = {"JPEG", "PNG", "BMP", "PNM"};
  return names[static_cast<int>(*format)];
}

ImageFormat FormatOf(const uint8_t* file, size_t bytes) {
  if (bytes == 0) throw FileError("the image is empty");
  if (const std::optional<ImageFormat> format = KnownFormat(file, bytes)) return *format;
  const std::string read = "JPEG, PNG, BMP or PNM";
  for (const Foreign& foreign : ForeignFormats()) {
    if (!Has(file, bytes, foreign.at, foreign.bytes)) continue;
    throw FileError("it is a ", foreign.name, " image; convert it to ", read);
  }
  const size_t head = std::min(bytes, kKindBytes);
  const std::string found = DescribeContent({reinterpret_cast<const char*>(file), head});
  throw FileError("it is not a ", read, " image", found.empty() ? "" : ": " + found);
}

void MakeGray(Image* image) {
  const size_t pixels = static_cast<size_t>(image->shape.height) * image->shape.width;
  for (size_t i = 0; i < pixels; ++i) {
    const uint8_t* bgr = &image->bytes[3 * i];
    image->bytes[i] =
        static_cast<uint8_t>((1868 * bgr[0] + 9617 * bgr[1] + 4899 * bgr[2] + (1 << 13)) >> 14);
  }
  image->bytes.resize(pixels);
  image->shape.channels = 1;
}

void SetMostImagePixels(int64_t pixels) { most_image_pixels = pixels; }

void CheckPixels(int64_t height, int64_t width, const std::string& is) {
  const int64_t most = most_image_pixels;
  if (CheckedProduct({height, width}, most)) return;
  throw FileError(is, " ", width, "x", height, ", more than the limit of ", most,
                  " pixels; --max_pixels=N raises it");
}

std::string PixelText(int64_t pixel, const ImageShape& shape) {
  return StrCat("x = ", pixel % shape.width, ", y = ", pixel / shape.width);
}

FileError LabelTooLarge(int value, int64_t index, const ImageShape& shape) {
  const int64_t pixel = index / shape.channels;
  return FileError("its value at ", PixelText(pixel, shape), " is ", value,
                   ", but labels are at most 255");
}

void CheckExtents(const FileReader& file, int64_t height, int64_t width, int64_t bits_per_pixel) {
  if (height < 1 || width < 1) {
    throw file.Corrupt("its size is " + std::to_string(width) + "x" + std::to_string(height));
  }
  CheckPixels(height, width);
  const auto bits = CheckedProduct({height, width, bits_per_pixel}, INT64_MAX);
  if (!bits || static_cast<int64_t>(file.left()) < *bits / 8) {
    throw file.Corrupt("it ends too early");
  }
}

void Decode(const uint8_t* file, size_t bytes, const DecodeOptions& options, Image* image) {
  image->narrowed = false;
  image->palette_as_gray = false;
  switch (FormatOf(file, bytes)) {
    case ImageFormat::kJpeg:
      DecodeJpeg(file, bytes, options, image);
      break;
    case ImageFormat::kPng:
      DecodePng(file, bytes, options.color, image);
      break;
    case ImageFormat::kBmp:
      DecodeBmp(file, bytes, options.color, image);
      break;
    case ImageFormat::kPnm:
      DecodePnm(file, bytes, options.color, image);
      break;
  }
  if (options.height > 0 && options.width > 0) Resize(options.height, options.width, image);
}

void Resize(int64_t height, int64_t width, Image* image, int interpolation) {
  if (image->shape.height == height && image->shape.width == width) return;
  CheckPixels(height, width, "it would be resized to");
  KeepOpenCvSerial();
  Image resized;
  resized.shape = {image->shape.channels, static_cast<int>(height), static_cast<int>(width)};
  resized.bytes.resize(resized.shape.count());
  cv::Mat to = MatOf(&resized);
  cv::resize(MatOf(image), to, to.size(), 0, 0, interpolation);
  *image = std::move(resized);
}

}  // namespace doppio
