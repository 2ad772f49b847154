#include "tools/data/image_input.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/text/whole_number.h"
#include "data/augment/mean_file.h"
#include "data/decode/decode.h"
#include "tools/cli/flags.h"

namespace doppio {
namespace {

bool ParseFloat(const std::string& text, float* value) {
  char* end = nullptr;
  *value = std::strtof(text.c_str(), &end);
  return !text.empty() && *end == '\0' && std::isfinite(*value);
}

constexpr std::array<const char*, 28> kEndings = {
    ".jpg", ".jpeg", ".jfif", ".jpe",  ".png",  ".bmp",  ".ppm", ".pgm", ".pbm", ".webp",
    ".gif", ".tif",  ".tiff", ".heic", ".heif", ".avif", ".jp2", ".jxl", ".exr", ".tga",
    ".svg", ".psd",  ".dng",  ".cr2",  ".cr3",  ".nef",  ".arw", ".raf"};

std::string ImageHead(const std::string& path) {
  constexpr size_t kSignature = 16;
  return ReadHead(path, kSignature);
}

const uint8_t* BytesOf(const std::string& head) {
  return reinterpret_cast<const uint8_t*>(head.data());
}

}  // namespace

bool IsImageName(std::string path) {
  for (char& c : path) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [&path](const char* ending) { return EndsWith(path, ending); });
}

bool IsImageFile(const std::string& path) {
  if (IsImageName(path)) return true;
  // The signatures of BMP and PNM are too short to tell images from text.
  const std::string head = ImageHead(path);
  const std::string format = FormatName(BytesOf(head), head.size());
  return !format.empty() && format != "BMP" && format != "PNM";
}

std::string UnreadFormatOf(const std::string& path) {
  const std::string head = ImageHead(path);
  if (!FormatName(BytesOf(head), head.size()).empty()) return "";
  return ImageFormatName(BytesOf(head), head.size());
}

std::vector<float> MeansOf(const std::string& file_or_values, int channels) {
  std::vector<float> means;
  for (const std::string& part : SplitList(file_or_values)) {
    float value;
    if (!ParseFloat(part, &value)) {
      const MeanImage mean = ReadMeanFile(file_or_values);
      if (mean.shape.channels != channels) {
        throw FileError("the mean '", file_or_values, "' has ", mean.shape.channels,
                        " channels, but the net's input has ", channels);
      }
      const std::vector<double> of_channels = mean.ChannelMeans();
      return {of_channels.begin(), of_channels.end()};
    }
    means.push_back(value);
  }
  return means;
}

void ParseSize(const char* flag, const std::string& text, int* height, int* width) {
  const size_t x = text.find('x');
  const std::string first = text.substr(0, x);
  const std::string second = x == std::string::npos ? first : text.substr(x + 1);
  const auto number = [&](const std::string& part) {
    constexpr int64_t kMost = 99'999;
    const int64_t value = ParseWholeNumber(part).value_or(0);
    if (value >= 1 && value <= kMost) return static_cast<int>(value);
    throw UsageError("--", flag, " needs SIZE or HEIGHTxWIDTH; got '", text, "'");
  };
  *height = number(first);
  *width = number(second);
}

std::vector<int> TopClasses(const float* values, int count, int top) {
  // NaN sorts last; comparing NaN itself would not be a strict weak ordering.
  const auto rank = [values](int i) {
    return std::isnan(values[i]) ? -std::numeric_limits<float>::infinity() : values[i];
  };
  std::vector<int> classes(count);
  std::iota(classes.begin(), classes.end(), 0);
  const int shown = std::min(top, count);
  std::partial_sort(classes.begin(), classes.begin() + shown, classes.end(),
                    [&](int a, int b) { return rank(a) != rank(b) ? rank(a) > rank(b) : a < b; });
  classes.resize(shown);
  return classes;
}

}  // namespace doppio
