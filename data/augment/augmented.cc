// Applies those changes of transform_param to images of layers Data and ImageData that go beyond
// crop and mirror, between any source and the pipeline. The random numbers are a function of the
// sample's number in the run. Records stay as they are if no change is requested.
#include <algorithm>
#include <opencv2/imgproc.hpp>
#include <utility>

#include "core/base/error.h"
#include "data/augment/distort.h"
#include "data/decode/mat_image.h"
#include "data/augment/noise.h"
#include "data/augment/random_changes.h"
#include "data/augment/random_size.h"
#include "data/augment/resize_image.h"
#include "data/source/source.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

void CheckProbability(const char* field, float prob) {
  if (prob >= 0 && prob <= 1) return;
  throw UserError({},
                  std::string(field) + ": prob must be from 0 to 1, it is " + std::to_string(prob));
}

void CheckShare(const char* field, float share) {
  if (share >= 0 && share <= 1) return;
  throw UserError({}, std::string("shift_param: ") + field +
                          " is a share of the image's, from 0 to 1, it is " +
                          std::to_string(share));
}

// Returns the size to which crops are resized; 0 x 0 if it is not set.
cv::Size CropSize(const TransformationParameter& t) {
  const ResizeParameter& resize = t.random_aspect_ratio_param().resize_param();
  const auto side = [&t](uint32_t pixels, uint32_t crop) {
    if (pixels == 0) pixels = crop > 0 ? crop : t.crop_size();
    return static_cast<int>(pixels);
  };
  return {side(resize.width(), t.crop_w()), side(resize.height(), t.crop_h())};
}

void CheckCrop(const TransformationParameter& t) {
  const RandomAspectRatioParameter& p = t.random_aspect_ratio_param();
  const std::string field = "random_aspect_ratio_param: ";
  if (!(p.min_area_ratio() > 0 && p.min_area_ratio() <= p.max_area_ratio() &&
        p.max_area_ratio() <= 1)) {
    throw UserError({}, field +
                            "min_area_ratio and max_area_ratio must be above 0, at most 1, and "
                            "in this order");
  }
  if (!(p.aspect_ratio_change() >= 0.01f && p.aspect_ratio_change() <= 100)) {
    throw UserError({}, field + "aspect_ratio_change must be from 0.01 to 100");
  }
  constexpr int kMost = 1 << 16;
  const cv::Size size = CropSize(t);
  if (size.height < 1 || size.width < 1 || size.height > kMost || size.width > kMost) {
    throw UserError({}, field +
                            "resize_param needs height and width, what crops are resized to, or "
                            "transform_param a crop_size");
  }
  if (p.resize_param().resize_mode() != ResizeParameter::WARP) {
    throw UserError({}, field + "resize_param: only resize_mode: WARP is known here");
  }
}

bool ChangesAlways(const TransformationParameter& t) {
  return t.has_random_aspect_ratio_param() || HasRandomSize(t) || t.has_resize_param() ||
         t.has_noise_param();
}

bool ChangesInTraining(const TransformationParameter& t) {
  return t.has_rotation_param() || t.has_shift_param() || t.has_distort_param() ||
         t.has_expand_param() || t.has_cutout_param();
}

}  // namespace

void CheckAugmented(const TransformationParameter& t) {
  if (t.has_random_aspect_ratio_param()) {
    if (HasRandomSize(t)) {
      throw UserError({},
                      "transform_param: set only one of random_aspect_ratio_param and fields of "
                      "random sizes (random_resize_param, img_rand_resize_lower, ...)");
    }
    CheckCrop(t);
  }
  CheckRandomSize(t);
  if (t.has_rotation_param()) {
    CheckProbability("rotation_param", t.rotation_param().prob());
    if (!(t.rotation_param().max_degrees() >= 0 && t.rotation_param().max_degrees() <= 180)) {
      throw UserError({}, "rotation_param: max_degrees must be from 0 to 180");
    }
  }
  if (t.has_shift_param()) {
    CheckProbability("shift_param", t.shift_param().prob());
    CheckShare("width", t.shift_param().width());
    CheckShare("height", t.shift_param().height());
  }
  if (t.has_distort_param()) CheckDistortion(t.distort_param());
  if (t.has_expand_param()) CheckExpansion(t);
  if (t.has_resize_param()) CheckResize(t.resize_param());
  if (t.has_noise_param()) CheckNoise(t.noise_param());
  if (!t.has_cutout_param()) return;
  CheckProbability("cutout_param", t.cutout_param().prob());
  constexpr uint32_t kMost = 1 << 16;
  if (t.cutout_param().size() == 0 || t.cutout_param().size() > kMost) {
    throw UserError({}, "cutout_param needs a size from 1 to 65536");
  }
}

namespace {

class AugmentedSource : public Source {
 public:
  AugmentedSource(std::unique_ptr<Source> records, const TransformationParameter& transform,
                  Phase phase, const Random& random)
      : records_(std::move(records)),
        transform_(transform),
        training_(phase == TRAIN),
        random_(random) {
    CheckAugmented(transform);
  }

  int64_t size() const override { return records_->size(); }
  bool decodes() const override { return true; }
  std::string Name(int64_t index) const override { return records_->Name(index); }
  SourceFacts facts() const override { return FactsOf(*records_); }
  // Returns the wrapped source, for a phase in which nothing changes.
  std::unique_ptr<Source> TakeRecords() { return std::move(records_); }
  void Read(int64_t index, Record* record) const override { ReadSample(index, 0, record); }

  void ReadSample(int64_t index, uint64_t sample, Record* record) const override {
    records_->ReadSample(index, sample, record);
    Image image = ImageOfRecord(*record, transform_);
    Change(sample, &image);
    GiveImage(image, record);
  }

 private:
  // Each kind of change has its own random numbers, so that adding a kind does not change the
  // numbers of the others.
  enum Kind { kCrop, kSide, kTurn, kColour, kCutOut, kMove, kExpand, kResize, kNoise };
  static constexpr uint64_t kKinds = 16;  // an upper bound on the number of kinds

  Draws DrawsFor(Kind kind, uint64_t sample) const {
    return Draws(random_, sample * kKinds + static_cast<uint64_t>(kind));
  }

  // Distort, expand, resize and noise come in SSD's order.
  void Change(uint64_t sample, Image* image) const {
    const TransformationParameter& t = transform_;
    if (t.has_random_aspect_ratio_param()) Crop(sample, image);
    if (HasRandomSize(t)) {
      Draws draws = DrawsFor(kSide, sample);
      ResizeAtRandom(t, training_, &draws, image);
    }
    if (training_ && t.has_rotation_param()) Turn(sample, image);
    if (training_ && t.has_shift_param()) Move(sample, image);
    if (training_ && t.has_distort_param()) {
      Draws draws = DrawsFor(kColour, sample);
      Distort(t.distort_param(), &draws, image);
    }
    if (training_ && t.has_expand_param()) {
      Draws draws = DrawsFor(kExpand, sample);
      Expand(t.expand_param(), Fill(*image), &draws, image);
    }
    if (t.has_resize_param()) {
      Draws draws = DrawsFor(kResize, sample);
      ResizeAs(t.resize_param(), &draws, image);
    }
    if (t.has_noise_param()) {
      Draws draws = DrawsFor(kNoise, sample);
      AddNoise(t.noise_param(), &draws, image);
    }
    if (training_ && t.has_cutout_param()) CutOut(sample, image);
  }

  void Crop(uint64_t sample, Image* image) const {
    const RandomAspectRatioParameter& p = transform_.random_aspect_ratio_param();
    Draws draws = DrawsFor(kCrop, sample);
    const ImageShape& shape = image->shape;
    cv::Rect part(0, 0, shape.width, shape.height);
    if (training_) part = DrawCrop(p, shape.height, shape.width, &draws);
    cv::Mat resized;
    cv::resize(MatOf(image)(part), resized, CropSize(transform_), 0, 0,
               InterpolationOf(p.resize_param(), &draws));
    *image = ImageOf(resized);
  }

  void Turn(uint64_t sample, Image* image) const {
    const RotationParameter& p = transform_.rotation_param();
    Draws draws = DrawsFor(kTurn, sample);
    if (!draws.Happens(p.prob())) return;
    Rotate(draws.Uniform(-p.max_degrees(), p.max_degrees()), Fill(*image), image);
  }

  void Move(uint64_t sample, Image* image) const {
    const ShiftParameter& p = transform_.shift_param();
    Draws draws = DrawsFor(kMove, sample);
    if (!draws.Happens(p.prob())) return;
    const double right = draws.Uniform(-p.width(), p.width()) * image->shape.width;
    const double down = draws.Uniform(-p.height(), p.height()) * image->shape.height;
    Shift(right, down, BorderOf(p.pad_mode()), Fill(*image), image);
  }

  void CutOut(uint64_t sample, Image* image) const {
    const CutoutParameter& p = transform_.cutout_param();
    Draws draws = DrawsFor(kCutOut, sample);
    for (uint32_t i = 0; i < p.count(); ++i) {
      if (!draws.Happens(p.prob())) continue;
      const int x = draws.Below(image->shape.width), y = draws.Below(image->shape.height);
      CutSquare(x, y, static_cast<int>(p.size()), Fill(*image), image);
    }
  }

  cv::Scalar Fill(const Image& image) const { return MeanFill(transform_, image.shape.channels); }

  std::unique_ptr<Source> records_;
  const TransformationParameter transform_;
  const bool training_;
  const Random random_;
};

}  // namespace

std::unique_ptr<Source> OpenAugmented(std::unique_ptr<Source> records,
                                      const TransformationParameter& transform, Phase phase,
                                      const Random& random) {
  if (!ChangesAlways(transform) && !ChangesInTraining(transform)) return records;
  auto augmented = std::make_unique<AugmentedSource>(std::move(records), transform, phase, random);
  if (phase != TRAIN && !ChangesAlways(transform)) return augmented->TakeRecords();
  return augmented;
}

TransformationParameter BehindAugmented(TransformationParameter transform) {
  transform.clear_random_aspect_ratio_param();
  transform.clear_random_resize_param();
  transform.clear_img_rand_resize_lower();
  transform.clear_img_rand_resize_upper();
  transform.clear_rand_resize_ratio_lower();
  transform.clear_rand_resize_ratio_upper();
  transform.clear_vertical_stretch_lower();
  transform.clear_vertical_stretch_upper();
  transform.clear_horizontal_stretch_lower();
  transform.clear_horizontal_stretch_upper();
  transform.clear_rotation_param();
  transform.clear_shift_param();
  transform.clear_distort_param();
  transform.clear_expand_param();
  transform.clear_resize_param();
  transform.clear_noise_param();
  transform.clear_cutout_param();
  return transform;
}

}  // namespace doppio
