#include "data/augment/detectnet_changes.h"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <string>

#include "core/base/error.h"
#include "data/augment/mean_file.h"
#include "data/decode/mat_image.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

constexpr double kWhite = 255;
constexpr float kMostScale = 16, kMostDegrees = 360;
constexpr uint32_t kMostShift = 65535;
const cv::Scalar kBeyond = cv::Scalar::all(-kWhite / 2);

// Throws UserError if a parameter has no meaning.
void Check(const DetectNetAugmentationParameter& p) {
  const auto fail = [](const std::string& why) {
    throw UserError({}, "detectnet_augmentation_param: ", why);
  };
  for (const float scale : {p.scale_min(), p.scale_max()}) {
    if (!(scale > 0 && scale <= kMostScale))
      fail("scale_min and scale_max must be positive and at most 16");
  }
  if (!(p.max_rotate_degree() >= 0 && p.max_rotate_degree() <= kMostDegrees))
    fail("max_rotate_degree must be from 0 to 360");
  if (!(p.hue_rotation() >= 0)) fail("hue_rotation must not be negative");
  if (p.shift_x() > kMostShift || p.shift_y() > kMostShift)
    fail("shift_x and shift_y must be at most " + std::to_string(kMostShift));
}

void Scale(cv::Size size, cv::Mat* image, std::vector<DetectNetObject>* objects) {
  if (image->size() == size) return;
  const double x = static_cast<double>(size.width) / image->cols;
  const double y = static_cast<double>(size.height) / image->rows;
  cv::Mat scaled;
  cv::resize(*image, scaled, size, 0, 0, cv::INTER_CUBIC);
  *image = scaled;
  for (DetectNetObject& object : *objects) {
    const cv::Rect2d& box = object.box;
    object.box = cv::Rect2d(box.x * x, box.y * y, box.width * x, box.height * y);
  }
}

void Mirror(cv::Mat* image, std::vector<DetectNetObject>* objects) {
  cv::Mat mirrored;
  cv::flip(*image, mirrored, 1);
  *image = mirrored;
  for (DetectNetObject& object : *objects)
    object.box.x = image->cols - object.box.x - 1 - object.box.width;
}

// Returns a place on an axis where a window of `window` of `length` pixels begins, moved by up to
// half of `shift` beyond both ends.
int WindowBegin(int length, int window, int shift, float draw) {
  return static_cast<int>(std::round(draw * static_cast<float>(length - window + shift))) -
         shift / 2;
}

}  // namespace

DetectNetChanges::DetectNetChanges(const DetectNetAugmentationParameter& param,
                                   const TransformationParameter& transform, cv::Size size)
    : param_(param), size_(size) {
  KeepOpenCvSerial();
  Check(param);
  const int means = transform.mean_value_size();
  if (transform.has_mean_file()) {
    MeanImage mean = ReadMeanFile(transform.mean_file());
    RefuseIf(mean.shape.channels != 3, "'", transform.mean_file(), "' must have three channels");
    std::vector<cv::Mat> planes;
    for (int c = 0; c < 3; ++c) {
      planes.emplace_back(mean.shape.height, mean.shape.width, CV_32F,
                          mean.values.data() + c * (mean.shape.count() / 3));
    }
    cv::merge(planes, mean_image_);
  } else if (means != 0 && means != 1 && means != 3) {
    throw UserError({}, "transform_param has ", means,
                    " mean_value; give one, or one for each of the three channels");
  } else {
    for (int c = 0; c < 3 && means > 0; ++c)
      mean_[c] = static_cast<double>(transform.mean_value(means == 1 ? 0 : c));
  }
}

cv::Mat DetectNetChanges::Augment(cv::Mat image, Draws* draws,
                                  std::vector<DetectNetObject>* objects) const {
  ChangeColours(draws, &image);
  SubtractMean(&image);
  const bool scales = draws->Bernoulli(param_.scale_prob());
  const float scale = draws->Uniform(param_.scale_min(), param_.scale_max());
  if (scales) {
    const auto scaled = [&](int length) {
      return std::max(1, static_cast<int>(std::round(static_cast<float>(length) * scale)));
    };
    Scale(cv::Size(scaled(image.cols), scaled(image.rows)), &image, objects);
  }
  const bool rotates = draws->Bernoulli(param_.rotation_prob());
  const float degrees = draws->Uniform(-param_.max_rotate_degree(), param_.max_rotate_degree());
  if (rotates && degrees != 0) Rotate(static_cast<double>(degrees), &image, objects);
  if (draws->Bernoulli(param_.flip_prob())) Mirror(&image, objects);
  Shift(draws, &image, objects);
  return image;
}

cv::Mat DetectNetChanges::Fit(cv::Mat image, std::vector<DetectNetObject>* objects) const {
  SubtractMean(&image);
  Scale(size_, &image, objects);
  return image;
}

void DetectNetChanges::ChangeColours(Draws* draws, cv::Mat* image) const {
  const bool turns = draws->Bernoulli(param_.hue_rotation_prob());
  const float most = std::min(param_.hue_rotation(), 180.0f);
  const float degrees = draws->Uniform(-most, most);
  const bool fades = draws->Bernoulli(param_.desaturation_prob());
  const float saturation = 1 - draws->Uniform(0, param_.desaturation_max());
  if (!turns && !fades) return;
  cv::Mat hsv;
  // OpenCV's hue is in degrees if the channels are from 0 to 1.
  cv::cvtColor(*image / kWhite, hsv, cv::COLOR_BGR2HSV);
  std::vector<cv::Mat> planes;
  cv::split(hsv, planes);
  if (turns) planes[0] += degrees;
  if (fades) planes[1] *= saturation;
  cv::merge(planes, hsv);
  cv::cvtColor(hsv, *image, cv::COLOR_HSV2BGR);
  *image *= kWhite;
}

void DetectNetChanges::SubtractMean(cv::Mat* image) const {
  if (mean_image_.empty()) {
    *image -= mean_;
    return;
  }
  cv::Mat mean;
  cv::resize(mean_image_, mean, image->size(), 0, 0, cv::INTER_CUBIC);
  *image -= mean;
}

void DetectNetChanges::Rotate(double degrees, cv::Mat* image,
                              std::vector<DetectNetObject>* objects) const {
  const cv::Size2f size(image->size());
  const cv::Point2f center(size.width / 2, size.height / 2);
  const cv::Rect bounds = cv::RotatedRect(center, size, static_cast<float>(degrees)).boundingRect();
  // RotatedRect turns clockwise, getRotationMatrix2D counter-clockwise.
  cv::Mat turn = cv::getRotationMatrix2D(center, -degrees, 1);
  turn.at<double>(0, 2) -= bounds.x;
  turn.at<double>(1, 2) -= bounds.y;
  cv::Mat turned(bounds.size(), image->type(), kBeyond);
  cv::warpAffine(*image, turned, turn, turned.size(), cv::INTER_LINEAR, cv::BORDER_TRANSPARENT);
  *image = turned;
  // Boxes keep their size; their centers turn.
  for (DetectNetObject& object : *objects) {
    const cv::Rect2d& box = object.box;
    const double x = box.x + box.width / 2, y = box.y + box.height / 2;
    const auto moved = [&](int row) {
      return turn.at<double>(row, 0) * x + turn.at<double>(row, 1) * y + turn.at<double>(row, 2);
    };
    object.box =
        cv::Rect2d(moved(0) - box.width / 2, moved(1) - box.height / 2, box.width, box.height);
  }
}

void DetectNetChanges::Shift(Draws* draws, cv::Mat* image,
                             std::vector<DetectNetObject>* objects) const {
  const bool shifts = draws->Bernoulli(param_.crop_prob());
  const float right = draws->Uniform(0, 1), down = draws->Uniform(0, 1);
  cv::Point begin((image->cols - size_.width) / 2, (image->rows - size_.height) / 2);
  if (shifts) {
    begin.x = WindowBegin(image->cols, size_.width, static_cast<int>(param_.shift_x()), right);
    begin.y = WindowBegin(image->rows, size_.height, static_cast<int>(param_.shift_y()), down);
  }
  const cv::Rect window(begin, size_);
  const cv::Rect inside = window & cv::Rect(cv::Point(), image->size());
  cv::Mat shifted(size_, image->type(), kBeyond);
  if (inside.area() > 0) (*image)(inside).copyTo(shifted(inside - begin));
  *image = shifted;
  for (DetectNetObject& object : *objects) object.box -= cv::Point2d(begin);
}

}  // namespace doppio
