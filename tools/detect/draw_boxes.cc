#include "tools/detect/draw_boxes.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/text/lower_case.h"
#include "data/augment/net_input.h"
#include "data/decode/decode.h"
#include "data/decode/encode.h"
#include "data/decode/mat_image.h"
#include "tools/cli/text_table.h"

namespace doppio {
namespace {

// Returns the colour of a class, in the order blue, green, red. Neighbouring classes differ.
cv::Scalar ColourOf(int label) {
  static const std::vector<cv::Scalar> colours = {
      {60, 60, 255},  {80, 200, 60},  {255, 120, 40}, {30, 190, 255},  {220, 60, 220},
      {210, 210, 40}, {40, 120, 255}, {160, 80, 160}, {120, 220, 180}, {90, 90, 90}};
  return colours[static_cast<size_t>(std::max(0, label - 1)) % colours.size()];
}

cv::Point CornerAt(double x, double y) {
  return {static_cast<int>(std::lround(x)), static_cast<int>(std::lround(y))};
}

// Draws `text` on a filled background whose lower left corner is `at`. Text that would leave the
// image at the top is drawn below `at`, at the right to the left of it.
void DrawText(const std::string& text, const cv::Point& at, const cv::Scalar& colour, int thick,
              cv::Mat* image) {
  constexpr int kFont = cv::FONT_HERSHEY_SIMPLEX;
  const double scale = 0.4 * thick;
  int below = 0;
  const cv::Size size = cv::getTextSize(text, kFont, scale, thick, &below);
  const int height = size.height + below + 2;
  const int top = at.y >= height ? at.y - height : at.y;
  const int left = std::max(0, std::min(at.x, image->cols - size.width - 2));
  cv::rectangle(*image, cv::Rect(left, top, size.width + 2, height), colour, cv::FILLED);
  cv::putText(*image, text, {left + 1, top + size.height + 1}, kFont, scale, {255, 255, 255}, thick,
              cv::LINE_AA);
}

bool IsJpegName(const std::filesystem::path& name) {
  const std::string ending = LowerCase(name.extension().string());
  return ending == ".jpg" || ending == ".jpeg";
}

}  // namespace

void WriteWithBoxes(const Preprocessing& record, const std::string& image,
                    const std::vector<FoundObject>& objects, const ClassLabels& labels,
                    const std::string& copy) {
  Image drawn = DecodeFor(record, 3, ReadFile(image));
  cv::Mat pixels = MatOf(&drawn);
  const int thick = std::max(1, std::min(drawn.shape.height, drawn.shape.width) / 300);
  for (auto object = objects.rbegin(); object != objects.rend(); ++object) {
    const PixelBox& box = object->box;
    const cv::Scalar colour = ColourOf(object->label);
    cv::rectangle(pixels, CornerAt(box[0], box[1]), CornerAt(box[2], box[3]), colour, thick);
    const auto label = labels.find(object->label);
    const std::string name = label == labels.end() ? std::to_string(object->label) : label->second;
    DrawText(name + " " + Fixed(object->score, 2), CornerAt(box[0], box[1]), colour, thick,
             &pixels);
  }
  const ImageFormat format = IsJpegName(copy) ? ImageFormat::kJpeg : ImageFormat::kPng;
  WriteFileAtomically(copy, Encode(drawn, format));
}

std::string CopyPaths::Of(const std::string& image) {
  namespace fs = std::filesystem;
  fs::path name = fs::path(image).filename();
  if (!IsJpegName(name)) name.replace_extension(".png");
  const fs::path path = fs::path(folder_) / name;
  fs::path copy = path;
  int& copies = taken_[path.string()];
  if (copies++ > 0) {
    do {
      copy.replace_filename(path.stem());
      copy += "_" + std::to_string(copies) + path.extension().string();
    } while (!taken_.emplace(copy.string(), 1).second && ++copies > 0);
  }
  std::error_code failed;
  if (fs::equivalent(copy, image, failed))
    throw UsageError("--out=", folder_, " would replace '", image, "'; name another folder");
  return copy.string();
}

}  // namespace doppio
