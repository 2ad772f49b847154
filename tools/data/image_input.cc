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
#include "tools/cli/flags.h"

namespace doppio {
namespace {

bool ParseFloat(const std::string& text, float* value) {
  char* end = nullptr;
  *value = std::strtof(text.c_str(), &end);
  return !text.empty() && *end == '\0' && std::isfinite(*value);
}

// Endings of the names of images that Doppio reads.
constexpr std::array<const char*, 9> kReadable = {".jpg", ".jpeg", ".jfif", ".jpe", ".png",
                                                  ".bmp", ".ppm",  ".pgm",  ".pbm"};
// Endings of images in other formats.
constexpr std::array<const char*, 14> kForeign = {".webp", ".gif",  ".tif", ".tiff", ".heic",
                                                  ".heif", ".avif", ".jp2", ".jxl",  ".exr",
                                                  ".tga",  ".svg",  ".psd", ".dng"};

template <class Endings>
bool HasEnding(std::string path, const Endings& endings) {
  for (char& c : path) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::any_of(endings.begin(), endings.end(),
                     [&path](const char* ending) { return EndsWith(path, ending); });
}

}  // namespace

bool IsImageName(const std::string& path) { return HasEnding(path, kReadable); }

bool IsNameOfAnyImage(const std::string& path) {
  return IsImageName(path) || HasEnding(path, kForeign);
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
