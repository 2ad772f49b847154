#include "tools/data/image_input.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <numeric>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/random.h"
#include "core/base/whole_number.h"
#include "data/augment/mean_file.h"
#include "proto/data.pb.h"
#include "tools/cli/flags.h"

namespace doppio {
namespace {

// Crops, means and scale are applied by the transformation of a data layer in the TEST phase.
TransformationParameter TransformOf(const ImageInputOptions& options) {
  TransformationParameter transform;
  transform.set_crop_h(static_cast<uint32_t>(options.input.height));
  transform.set_crop_w(static_cast<uint32_t>(options.input.width));
  transform.set_scale(options.scale);
  transform.mutable_mean_value()->Add(options.means.begin(), options.means.end());
  return transform;
}

// Crops the image to its largest middle part with the proportions height:width.
void KeepMiddle(int height, int width, Image* image) {
  const ImageShape from = image->shape;
  ImageShape to = from;
  if (int64_t{from.height} * width > int64_t{from.width} * height) {
    to.height = std::max(1, static_cast<int>(std::lround(double(from.width) * height / width)));
  } else {
    to.width = std::max(1, static_cast<int>(std::lround(double(from.height) * width / height)));
  }
  const int top = (from.height - to.height) / 2, left = (from.width - to.width) / 2;
  const int64_t from_row = int64_t{from.width} * from.channels;
  const int64_t to_row = int64_t{to.width} * to.channels;
  std::vector<uint8_t> part(to.count());
  for (int y = 0; y < to.height; ++y) {
    const uint8_t* row = image->bytes.data() + (top + y) * from_row + int64_t{left} * from.channels;
    std::copy(row, row + to_row, part.data() + y * to_row);
  }
  image->bytes.swap(part);
  image->shape = to;
}

void SwapRedAndBlue(Image* image) {
  for (size_t i = 0; i + 2 < image->bytes.size(); i += 3) {
    std::swap(image->bytes[i], image->bytes[i + 2]);
  }
}

bool ParseFloat(const std::string& text, float* value) {
  char* end = nullptr;
  *value = std::strtof(text.c_str(), &end);
  return !text.empty() && *end == '\0' && std::isfinite(*value);
}

}  // namespace

bool IsImageName(const std::string& path) {
  std::string lower = path;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const char* end : {".jpg", ".jpeg", ".png", ".bmp", ".ppm", ".pgm", ".pbm"}) {
    if (EndsWith(lower, end)) return true;
  }
  return false;
}

ImageInput::ImageInput(const ImageInputOptions& options)
    : options_(options), augment_(TransformOf(options), TEST, Random(0, 0)) {
  if (options_.height == 0) {
    options_.height = options_.input.height;
    options_.width = options_.input.width;
  }
  const ImageShape& input = options_.input;
  const size_t means = options_.means.size();
  if (means > 1 && means != static_cast<size_t>(input.channels)) {
    throw UsageError(std::to_string(means) + " means for " + std::to_string(input.channels) +
                     " channels of the net's input");
  }
  if (options_.height < input.height || options_.width < input.width) {
    throw UsageError("images of " + std::to_string(options_.height) + "x" +
                     std::to_string(options_.width) + " are smaller than the net's input, " +
                     std::to_string(input.height) + "x" + std::to_string(input.width));
  }
}

Image DecodeTo(int channels, const std::string& file) {
  DecodeOptions decode;
  decode.color = channels == 1 ? DecodeOptions::Color::kGray : DecodeOptions::Color::kColor;
  Image image;
  Decode(reinterpret_cast<const uint8_t*>(file.data()), file.size(), decode, &image);
  return image;
}

std::vector<float> ImageInput::Read(const std::string& file) const {
  Image image = DecodeTo(options_.input.channels, file);
  return Convert(&image);
}

std::vector<float> ImageInput::Convert(Image* image) const {
  if (options_.center_crop) KeepMiddle(options_.height, options_.width, image);
  Resize(options_.height, options_.width, image);
  if (options_.rgb && image->shape.channels == 3) SwapRedAndBlue(image);
  CutPixels cut;
  augment_.Apply(image->pixels(), 0, &cut);
  std::vector<float> values(options_.input.count());
  augment_.Finish(cut, options_.input, values.data());
  return values;
}

std::vector<float> MeansOf(const std::string& file_or_values, int channels) {
  std::vector<float> means;
  for (const std::string& part : SplitList(file_or_values)) {
    float value;
    if (!ParseFloat(part, &value)) {
      const MeanImage mean = ReadMeanFile(file_or_values);
      if (mean.shape.channels != channels) {
        throw FileError("the mean '" + file_or_values + "' has " +
                        std::to_string(mean.shape.channels) +
                        " channels, but the net's input has " + std::to_string(channels));
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
    throw UsageError(std::string("--") + flag + " wants SIZE or HEIGHTxWIDTH, got '" + text + "'");
  };
  *height = number(first);
  *width = number(second);
}

std::vector<std::string> FindImages(const std::vector<std::string>& files_and_folders) {
  std::vector<std::string> images;
  for (const std::string& path : files_and_folders) {
    std::error_code failed;
    if (!std::filesystem::is_directory(path, failed)) {
      images.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path, failed)) {
      if (IsImageName(entry.path().string())) found.push_back(entry.path().string());
    }
    if (failed) throw FileError("cannot read folder '" + path + "': " + failed.message());
    if (found.empty())
      throw FileError("folder '" + path +
                      "' has no .jpg, .jpeg, .png, .bmp, .ppm, .pgm or .pbm file");
    std::sort(found.begin(), found.end());
    images.insert(images.end(), found.begin(), found.end());
  }
  return images;
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
