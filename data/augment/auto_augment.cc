#include "data/augment/auto_augment.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <opencv2/imgproc.hpp>

#include "core/base/error.h"
#include "data/augment/random_changes.h"
#include "data/decode/mat_image.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

constexpr float kMostMagnitude = 30;

// How much an image is changed. The unit depends on the change.
struct Amount {
  double value;
  bool of_side;  // of moves: `value` is a fraction of the image's side, not a number of pixels
};

// The largest amount of a change.
struct Range {
  double most = 0;
  bool of_side = false;
};

struct AutoChange {
  const char* name;
  Range rand, wide;  // of RandAugment and of TrivialAugment
  bool directed;     // the amount is negative for half of the images
  void (*apply)(const Amount& amount, const cv::Scalar& fill, Image* image);
};

void KeepImage(const Amount&, const cv::Scalar&, Image*) {}

void ShearAcross(const Amount& by, const cv::Scalar& fill, Image* image) {
  Shear(by.value, 0, fill, image);
}

void ShearDown(const Amount& by, const cv::Scalar& fill, Image* image) {
  Shear(0, by.value, fill, image);
}

double PixelsOf(const Amount& by, int side) { return by.of_side ? by.value * side : by.value; }

void MoveAcross(const Amount& by, const cv::Scalar& fill, Image* image) {
  Shift(PixelsOf(by, image->shape.width), 0, cv::BORDER_CONSTANT, fill, image);
}

void MoveDown(const Amount& by, const cv::Scalar& fill, Image* image) {
  Shift(0, PixelsOf(by, image->shape.height), cv::BORDER_CONSTANT, fill, image);
}

void TurnBy(const Amount& degrees, const cv::Scalar& fill, Image* image) {
  Rotate(degrees.value, fill, image);
}

cv::Mat GrayOf(const cv::Mat& pixels) {
  cv::Mat gray;
  if (pixels.channels() == 1) return pixels.clone();
  cv::cvtColor(pixels, gray, cv::COLOR_BGR2GRAY);
  return gray;
}

// Replaces each value v by v * factor + other * (1 - factor). `other` has the image's shape.
void BlendWith(const cv::Mat& other, double factor, cv::Mat pixels) {
  cv::addWeighted(pixels, factor, other, 1 - factor, 0, pixels);
}

void ChangeBrightness(const Amount& by, const cv::Scalar&, Image* image) {
  cv::Mat pixels = MatOf(image);
  pixels.convertTo(pixels, -1, 1 + by.value);
}

void ChangeColour(const Amount& by, const cv::Scalar&, Image* image) {
  if (image->shape.channels == 1) return;
  cv::Mat gray;
  cv::cvtColor(GrayOf(MatOf(image)), gray, cv::COLOR_GRAY2BGR);
  BlendWith(gray, 1 + by.value, MatOf(image));
}

void ChangeContrast(const Amount& by, const cv::Scalar&, Image* image) {
  cv::Mat pixels = MatOf(image);
  const double mean = std::round(cv::mean(GrayOf(pixels))[0]);
  pixels.convertTo(pixels, -1, 1 + by.value, -by.value * mean);
}

void ChangeSharpness(const Amount& by, const cv::Scalar&, Image* image) {
  const cv::Mat kernel = (cv::Mat_<float>(3, 3) << 1, 1, 1, 1, 5, 1, 1, 1, 1) / 13;
  cv::Mat smooth;
  cv::filter2D(MatOf(image), smooth, -1, kernel, {-1, -1}, 0, cv::BORDER_REPLICATE);
  BlendWith(smooth, 1 + by.value, MatOf(image));
}

// Applies `change` to each value.
template <class F>
void ChangeValues(const F& change, Image* image) {
  std::transform(image->bytes.begin(), image->bytes.end(), image->bytes.begin(),
                 [&](uint8_t value) { return static_cast<uint8_t>(change(value)); });
}

void DropBits(const Amount& bits, const cv::Scalar&, Image* image) {
  const int mask = 0xff << std::lround(bits.value);
  ChangeValues([mask](int value) { return value & mask; }, image);
}

void InvertBright(const Amount& by, const cv::Scalar&, Image* image) {
  const double threshold = 255 - by.value;
  ChangeValues([threshold](int value) { return value >= threshold ? 255 - value : value; }, image);
}

// Calls change(plane) for each channel.
template <class F>
void ChangePlanes(const F& change, Image* image) {
  cv::Mat pixels = MatOf(image);
  std::vector<cv::Mat> planes;
  cv::split(pixels, planes);
  for (cv::Mat& plane : planes) change(&plane);
  cv::merge(planes, pixels);
}

void StretchContrast(const Amount&, const cv::Scalar&, Image* image) {
  const auto stretch = [](cv::Mat* plane) {
    double low = 0, high = 0;
    cv::minMaxLoc(*plane, &low, &high);
    if (high <= low) return;
    const double factor = 255 / (high - low);
    plane->convertTo(*plane, -1, factor, -low * factor);
  };
  ChangePlanes(stretch, image);
}

void EqualizeValues(const Amount&, const cv::Scalar&, Image* image) {
  ChangePlanes([](cv::Mat* plane) { cv::equalizeHist(*plane, *plane); }, image);
}

// RandAugment moves by up to 150/331 of the side, as the paper's images of 331 pixels.
constexpr double kMostMove = 150.0 / 331;

constexpr AutoChange kAutoChanges[] = {
    {"Identity", {}, {}, false, KeepImage},
    {"ShearX", {0.3}, {0.99}, true, ShearAcross},
    {"ShearY", {0.3}, {0.99}, true, ShearDown},
    {"TranslateX", {kMostMove, true}, {32}, true, MoveAcross},
    {"TranslateY", {kMostMove, true}, {32}, true, MoveDown},
    {"Rotate", {30}, {135}, true, TurnBy},
    {"Brightness", {0.9}, {0.99}, true, ChangeBrightness},
    {"Color", {0.9}, {0.99}, true, ChangeColour},
    {"Contrast", {0.9}, {0.99}, true, ChangeContrast},
    {"Sharpness", {0.9}, {0.99}, true, ChangeSharpness},
    {"Posterize", {4}, {6}, false, DropBits},
    {"Solarize", {255}, {255}, false, InvertBright},
    {"AutoContrast", {}, {}, false, StretchContrast},
    {"Equalize", {}, {}, false, EqualizeValues},
};

void ApplyChange(const AutoChange& change, double strength, bool wide, const cv::Scalar& fill,
                 Image* image) {
  const Range& range = wide ? change.wide : change.rand;
  const double amount = change.directed ? strength : std::abs(strength);
  change.apply({amount * range.most, range.of_side}, fill, image);
}

// Applies a change drawn from the table. `strength` is from 0 to 1.
void ChangeByTable(double strength, bool wide, const cv::Scalar& fill, Draws* draws, Image* image) {
  const int which = draws->Below(static_cast<int>(std::size(kAutoChanges)));
  const bool negative = draws->Bernoulli(0.5f);
  ApplyChange(kAutoChanges[which], negative ? -strength : strength, wide, fill, image);
}

}  // namespace

void CheckRandAugment(const TransformationParameter& transform) {
  const RandAugmentParameter& p = transform.rand_augment_param();
  const std::string field = "rand_augment_param: ";
  constexpr uint32_t kMostChanges = 100;
  RefuseIf(p.count() > kMostChanges, field, "count must be at most ", kMostChanges, ", got ",
           p.count());
  RefuseIf(!(p.magnitude() >= 0 && p.magnitude() <= kMostMagnitude), field,
           "magnitude must be from 0 to 30, got ", p.magnitude());
  RefuseIf(!(p.magnitude_std() >= 0 && p.magnitude_std() <= kMostMagnitude), field,
           "magnitude_std must be from 0 to 30, got ", p.magnitude_std());
  RefuseIf(!(p.prob() >= 0 && p.prob() <= 1), field, "prob must be from 0 to 1, got ", p.prob());
  RefuseIf(transform.has_trivial_augment_param(),
           "transform_param: set only one of rand_augment_param and trivial_augment_param");
}

void CheckTrivialAugment(const TransformationParameter& transform) {
  const float prob = transform.trivial_augment_param().prob();
  RefuseIf(!(prob >= 0 && prob <= 1), "trivial_augment_param: prob must be from 0 to 1, got ",
           prob);
}

void RandAugment(const TransformationParameter& transform, const cv::Scalar& fill, Draws* draws,
                 Image* image) {
  const RandAugmentParameter& p = transform.rand_augment_param();
  for (uint32_t i = 0; i < p.count(); ++i) {
    if (!draws->Bernoulli(p.prob())) continue;
    float magnitude = p.magnitude();
    if (p.magnitude_std() > 0) magnitude += draws->Normal(p.magnitude_std());
    const float strength = std::clamp(magnitude, 0.0f, kMostMagnitude) / kMostMagnitude;
    ChangeByTable(static_cast<double>(strength), false, fill, draws, image);
  }
}

void TrivialAugment(const TransformationParameter& transform, const cv::Scalar& fill, Draws* draws,
                    Image* image) {
  if (!draws->Bernoulli(transform.trivial_augment_param().prob())) return;
  constexpr int kSteps = 30;
  ChangeByTable(static_cast<double>(draws->Below(kSteps + 1)) / kSteps, true, fill, draws, image);
}

std::vector<std::string> AutoChanges() {
  std::vector<std::string> names;
  for (const AutoChange& change : kAutoChanges) names.emplace_back(change.name);
  return names;
}

void ApplyAutoChange(const std::string& name, double strength, bool wide, const cv::Scalar& fill,
                     Image* image) {
  const auto* found = std::find_if(std::begin(kAutoChanges), std::end(kAutoChanges),
                                   [&](const AutoChange& change) { return change.name == name; });
  DOPPIO_CHECK(found != std::end(kAutoChanges), name);
  ApplyChange(*found, strength, wide, fill, image);
}

}  // namespace doppio
