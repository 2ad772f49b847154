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
#include "data/decode/exif.h"
#include "data/decode/mat_image.h"

namespace doppio {
namespace {

// The limit protects the memory of the process against damaged files, so it is one of the process:
// sources, nets and commands that decode images share nothing else.
std::atomic<int64_t> most_image_pixels{kMaxImagePixels};

constexpr const char* kReadable = "JPEG, PNG, WebP, TIFF, GIF, BMP or PNM";

// A format and the bytes that its files have at offset `at`.
struct Signature {
  ImageFormat format;
  size_t at;
  std::string bytes;
};
// A format that Decode does not read, and the command that converts its files to one that it reads.
struct Foreign {
  const char* name;
  size_t at;
  std::string bytes;
  const char* command;
};

const std::vector<Signature>& Signatures() {
  static const std::vector<Signature> signatures = {{ImageFormat::kJpeg, 0, "\xff\xd8\xff"},
                                                    {ImageFormat::kPng, 0, "\x89PNG"},
                                                    {ImageFormat::kBmp, 0, "BM"},
                                                    {ImageFormat::kWebp, 8, "WEBP"},
                                                    {ImageFormat::kTiff, 0, {"II*\0", 4}},
                                                    {ImageFormat::kTiff, 0, {"MM\0*", 4}},
                                                    {ImageFormat::kTiff, 0, {"II+\0", 4}},
                                                    {ImageFormat::kTiff, 0, {"MM\0+", 4}},
                                                    {ImageFormat::kGif, 0, "GIF8"}};
  return signatures;
}

const std::vector<Foreign>& ForeignFormats() {
  constexpr const char* kHeif = "heif-convert IN.heic OUT.jpg";
  constexpr const char* kAvif = "avifdec IN.avif OUT.png";
  constexpr const char* kJxl = "djxl IN.jxl OUT.png";
  constexpr const char* kRaw = "a camera's raw image";
  static const std::vector<Foreign> formats = {
      {"an AVIF image", 4, "ftypavi", kAvif},
      {"a HEIC image", 4, "ftyphe", kHeif},
      {"a HEIC image", 4, "ftypmif1", kHeif},
      {"a HEIC image", 4, "ftypmsf1", kHeif},
      {"a JPEG XL image", 0, "\xff\x0a", kJxl},
      {"a JPEG XL image", 4, "JXL ", kJxl},
      {"a JPEG 2000 image", 4, "jP  ", kImageMagick},
      {"a JPEG 2000 image", 0, "\xff\x4f\xff\x51", kImageMagick},
      {kRaw, 8, "CR\x02", kImageMagick},
      {kRaw, 4, "ftypcrx", kImageMagick},
      {kRaw, 0, "FUJIFILMCCD", kImageMagick},
      {kRaw, 0, "IIRO", kImageMagick},
      {kRaw, 0, {"IIU\0", 4}, kImageMagick},
      {"a Photoshop image", 0, "8BPS", kImageMagick},
      {"an OpenEXR image", 0, "\x76\x2f\x31\x01", kImageMagick},
      {"an SVG drawing", 0, "<svg", kImageMagick},
      {"a PDF document", 0, "%PDF-", kImageMagick}};
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

// Returns null if no foreign format fits.
const Foreign* ForeignFormat(const uint8_t* file, size_t bytes) {
  for (const Foreign& foreign : ForeignFormats()) {
    if (Has(file, bytes, foreign.at, foreign.bytes)) return &foreign;
  }
  return nullptr;
}

// Raw images of some cameras begin as TIFF files.
std::optional<ImageFormat> KnownFormat(const uint8_t* file, size_t bytes) {
  if (ForeignFormat(file, bytes) != nullptr) return std::nullopt;
  for (const Signature& signature : Signatures()) {
    if (Has(file, bytes, signature.at, signature.bytes)) return signature.format;
  }
  if (IsPnm(file, bytes)) return ImageFormat::kPnm;
  return std::nullopt;
}

// Returns the options for the pixels as stored: their height is the width of an image on its side.
DecodeOptions BeforeTurning(DecodeOptions options, int orientation) {
  if (SwapsSides(orientation)) std::swap(options.height, options.width);
  return options;
}

}  // namespace

std::string FormatName(const uint8_t* file, size_t bytes) {
  const std::optional<ImageFormat> format = KnownFormat(file, bytes);
  if (!format) return "";
  static const char* const names[] = {"JPEG", "PNG", "BMP", "PNM", "WebP", "TIFF", "GIF"};
  return names[static_cast<int>(*format)];
}

std::string ImageFormatName(const uint8_t* file, size_t bytes) {
  const Foreign* const foreign = ForeignFormat(file, bytes);
  if (foreign != nullptr) return foreign->name;
  const std::string name = FormatName(file, bytes);
  return name.empty() ? "" : "a " + name + " image";
}

int SixteenBitRangeFor(int brightest) {
  int range = 256;
  while (range <= brightest && range < kSixteenBits) range *= 2;
  return range;
}

ImageFormat FormatOf(const uint8_t* file, size_t bytes) {
  if (bytes == 0) throw FileError("the image is empty");
  if (const std::optional<ImageFormat> format = KnownFormat(file, bytes)) return *format;
  if (const Foreign* const foreign = ForeignFormat(file, bytes)) {
    throw FileError("it is ", foreign->name, "; convert it: ", foreign->command);
  }
  const size_t head = std::min(bytes, kKindBytes);
  const std::string found = DescribeContent({reinterpret_cast<const char*>(file), head});
  throw FileError("it is not a ", kReadable, " image", found.empty() ? "" : ": " + found);
}

bool TakePalette(const std::vector<Bgr>& palette, DecodeOptions::Color color, Image* image) {
  const bool colours = std::any_of(palette.begin(), palette.end(),
                                   [](const Bgr& c) { return c[0] != c[1] || c[1] != c[2]; });
  const std::vector<uint8_t> indices = std::move(image->bytes);
  image->bytes.clear();
  image->bytes.reserve(3 * indices.size());
  for (const uint8_t index : indices) {
    const Bgr c = index < palette.size() ? palette[index] : Bgr{};
    image->bytes.insert(image->bytes.end(), c.begin(), c.end());
  }
  image->shape.channels = 3;
  const bool gray = color == DecodeOptions::Color::kGray;
  if (gray || (color == DecodeOptions::Color::kAsStored && !colours)) MakeGray(image);
  return gray && colours;
}

void Spread(Image* image) {
  std::vector<uint8_t> spread;
  spread.reserve(3 * image->bytes.size());
  for (const uint8_t gray : image->bytes) spread.insert(spread.end(), 3, gray);
  image->bytes.swap(spread);
  image->shape.channels = 3;
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
  image->brightest = 0;
  image->palette_as_gray = false;
  const int orientation = options.upright ? OrientationOf(file, bytes) : kUpright;
  switch (FormatOf(file, bytes)) {
    case ImageFormat::kJpeg:
      DecodeJpeg(file, bytes, BeforeTurning(options, orientation), image);
      break;
    case ImageFormat::kPng:
      DecodePng(file, bytes, options, image);
      break;
    case ImageFormat::kBmp:
      DecodeBmp(file, bytes, options.color, image);
      break;
    case ImageFormat::kPnm:
      DecodePnm(file, bytes, options, image);
      break;
    case ImageFormat::kWebp:
      DecodeWebp(file, bytes, options.color, image);
      break;
    case ImageFormat::kTiff:
      DecodeTiff(file, bytes, options, image);
      break;
    case ImageFormat::kGif:
      DecodeGif(file, bytes, options.color, image);
      break;
  }
  TurnUpright(orientation, image);
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
  image->shape = resized.shape;
  image->bytes.swap(resized.bytes);
}

}  // namespace doppio
