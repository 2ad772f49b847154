#include "data/augment/detectnet_grid.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <string>

#include "core/base/error.h"

namespace doppio {
namespace {

constexpr int64_t kRowNumbers = 16, kClassNumber = 5;
constexpr uint32_t kMostPixels = 65535;  // of a side

// Returns the share of a side that counts as covered.
double CoveredSide(const DetectNetGroundTruthParameter& param, double side) {
  const double part = static_cast<double>(param.scale_cvg()) * side;
  return param.gridbox_type() == DetectNetGroundTruthParameter::GRIDBOX_MIN
             ? std::min(side, std::max<double>(param.min_cvg_len(), part))
             : std::min<double>(param.max_cvg_len(), part);
}

}  // namespace

std::vector<DetectNetObject> ReadDetectNetObjects(const float* values, int64_t count) {
  if (count < kRowNumbers || values[1] != static_cast<float>(kRowNumbers)) {
    throw UserError({},
                    "the first row of an image's labels must be the number of objects and 16, the "
                    "numbers of each object, as DIGITS writes them");
  }
  const int64_t most = count / kRowNumbers - 1;
  if (!(values[0] >= 0 && values[0] <= static_cast<float>(most))) {
    throw UserError({}, "an image has ", values[0], " objects, but its labels have room for 0 to ",
                    most);
  }
  std::vector<DetectNetObject> objects;
  for (int64_t i = 1; i <= static_cast<int64_t>(values[0]); ++i) {
    const float* row = values + i * kRowNumbers;
    if (!std::all_of(row, row + 4, [](float number) { return std::isfinite(number); }))
      throw UserError({}, "the box of object ", i - 1, " is not finite");
    DetectNetObject object;
    object.box = cv::Rect2d(row[0], row[1], row[2], row[3]);
    const bool known = row[kClassNumber] >= 0 && row[kClassNumber] < static_cast<float>(1 << 24);
    object.source = known ? static_cast<int64_t>(row[kClassNumber]) : -1;
    objects.push_back(object);
  }
  return objects;
}

DetectNetGrid::DetectNetGrid(const DetectNetGroundTruthParameter& param)
    : param_(param), stride_(param.stride()) {
  RefuseIf(param.stride() == 0, "stride must be at least 1");
  RefuseIf(param.image_size_x() > kMostPixels || param.image_size_y() > kMostPixels,
           "image_size_x and image_size_y must be at most ", kMostPixels);
  RefuseIf(!(param.scale_cvg() >= 0), "scale_cvg must not be negative");
  height_ = std::lrint(param.image_size_y() / stride_);
  width_ = std::lrint(param.image_size_x() / stride_);
  RefuseIf(height_ < 1 || width_ < 1, "image_size_x and image_size_y must be at least stride, ",
           param.stride());
  for (const auto& mapping : param.object_class()) {
    class_of_[mapping.src()] = mapping.dst();
    classes_ = std::max<int64_t>(classes_, int64_t{mapping.dst()} + 1);
  }
  // KITTI's cars.
  if (class_of_.empty()) class_of_[1] = 0;
}

void DetectNetGrid::Write(const std::vector<DetectNetObject>& objects, float* values) const {
  std::fill_n(values, channels() * height_ * width_, 0.0f);
  const cv::Rect2d image(0, 0, param_.image_size_x(), param_.image_size_y());
  for (const DetectNetObject& object : objects) {
    const auto found = class_of_.find(object.source);
    if (found == class_of_.end()) continue;
    const cv::Rect2d box = param_.crop_bboxes() ? object.box & image : object.box;
    if (box.width > 0 && box.height > 0 && box.area() >= static_cast<double>(FLT_EPSILON))
      WriteObject(box, found->second, values);
  }
}

cv::Rect2d DetectNetGrid::CoverageOf(const cv::Rect2d& box) const {
  const double width = CoveredSide(param_, box.width), height = CoveredSide(param_, box.height);
  return cv::Rect2d(box.x + (box.width - width) / 2, box.y + (box.height - height) / 2, width,
                    height);
}

void DetectNetGrid::WriteObject(const cv::Rect2d& box, int64_t object_class, float* values) const {
  const cv::Rect2d coverage = CoverageOf(box);
  // Returns the cell in which a coordinate lies, rounded by `round`, or the nearest one of the
  // grid.
  const auto cell_of = [&](double at, double (*round)(double), int64_t cells) {
    return static_cast<int64_t>(std::clamp(round(at / stride_), 0.0, static_cast<double>(cells)));
  };
  const int64_t left = cell_of(coverage.x, &std::floor, width_);
  const int64_t right = cell_of(coverage.br().x, &std::ceil, width_);
  const int64_t top = cell_of(coverage.y, &std::floor, height_);
  const int64_t bottom = cell_of(coverage.br().y, &std::ceil, height_);
  const double norm = stride_ * stride_ / coverage.area();
  const int64_t plane = height_ * width_;
  for (int64_t y = top; y < bottom; ++y) {
    for (int64_t x = left; x < right; ++x) {
      const cv::Rect2d cell(static_cast<double>(x) * stride_, static_cast<double>(y) * stride_,
                            stride_, stride_);
      const double covered = (coverage & cell).area() / (stride_ * stride_);
      if (covered <= static_cast<double>(FLT_EPSILON)) continue;
      const double numbers[kClasses] = {1,
                                        box.x - cell.x,
                                        box.y - cell.y,
                                        box.br().x - cell.x,
                                        box.br().y - cell.y,
                                        1 / box.width,
                                        1 / box.height,
                                        param_.obj_norm() ? norm : std::max(1.0, norm)};
      float* at = values + y * width_ + x;
      for (const double number : numbers) {
        *at = static_cast<float>(number);
        at += plane;
      }
      for (int64_t c = 0; c < classes_; ++c) at[c * plane] = c == object_class ? 1 : 0;
    }
  }
}

}  // namespace doppio
