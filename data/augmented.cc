// What transform_param changes at random in images of Data and ImageData, beyond crop and mirror:
// on their way from any source to the pipeline. What is drawn is a formula of the sample's number
// in the run. Records are left alone where nothing is asked for.
#include <algorithm>
#include <opencv2/imgproc.hpp>
#include <utility>

#include "core/base/error.h"
#include "data/distort.h"
#include "data/mat_image.h"
#include "data/random_changes.h"
#include "data/source.h"
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

void CheckCrop(const RandomAspectRatioParameter& p) {
  const std::string field = "random_aspect_ratio_param: ";
  if (!(p.min_area_ratio() > 0 && p.min_area_ratio() <= p.max_area_ratio() &&
        p.max_area_ratio() <= 1)) {
    throw UserError({}, field +
                            "min_area_ratio and max_area_ratio must be above 0, at most 1, and "
                            "in this order");
  }
  if (!(p.aspect_ratio_change() >= 1)) {
    throw UserError({}, field + "aspect_ratio_change must be at least 1");
  }
  if (p.resize_param().height() == 0 || p.resize_param().width() == 0) {
    throw UserError({}, field + "resize_param needs height and width: what crops are resized to");
  }
  if (p.resize_param().resize_mode() != ResizeParameter::WARP) {
    throw UserError({}, field + "resize_param: only resize_mode: WARP is known here");
  }
}

// Sizes of the short side.
struct ShortSide {
  int lower = 0, upper = 0;
};

ShortSide ShortSideOf(const TransformationParameter& transform) {
  const bool intel = transform.has_random_resize_param();
  const RandomResizeParameter& p = transform.random_resize_param();
  const uint32_t lower = intel ? p.min_size() : transform.img_rand_resize_lower();
  const uint32_t upper = intel ? p.max_size() : transform.img_rand_resize_upper();
  if (lower == 0 || upper < lower) {
    throw UserError({}, intel
                            ? "random_resize_param: min_size and max_size must be positive, and in "
                              "this order"
                            : "transform_param: img_rand_resize_lower and img_rand_resize_upper "
                              "must be positive, and in this order");
  }
  constexpr uint32_t kMost = 1 << 16;
  if (upper > kMost) throw UserError({}, "transform_param: images of such a size cannot be made");
  return {static_cast<int>(lower), static_cast<int>(upper)};
}

int InterpolationOf(TransformationParameter::InterpolationAlgo algorithm) {
  switch (algorithm) {
    case TransformationParameter::INTER_NEAREST:
      return cv::INTER_NEAREST;
    case TransformationParameter::INTER_CUBIC:
      return cv::INTER_CUBIC;
    case TransformationParameter::INTER_AREA:
      return cv::INTER_AREA;
    default:
      return cv::INTER_LINEAR;
  }
}

bool ChangesSize(const TransformationParameter& t) {
  return t.has_random_aspect_ratio_param() || t.has_random_resize_param() ||
         t.has_img_rand_resize_lower() || t.has_img_rand_resize_upper();
}

bool ChangesPixels(const TransformationParameter& t) {
  return t.has_rotation_param() || t.has_shift_param() || t.has_distort_param() ||
         t.has_cutout_param();
}

class AugmentedSource : public Source {
 public:
  AugmentedSource(std::unique_ptr<Source> records, const TransformationParameter& transform,
                  Phase phase, const Random& random)
      : records_(std::move(records)),
        transform_(transform),
        training_(phase == TRAIN),
        random_(random) {
    Check();
  }

  int64_t size() const override { return records_->size(); }
  bool decodes() const override { return true; }
  std::string Name(int64_t index) const override { return records_->Name(index); }
  // What is behind, where nothing is to be changed in this phase after all.
  std::unique_ptr<Source> TakeRecords() { return std::move(records_); }
  void Read(int64_t index, Record* record) const override { ReadSample(index, 0, record); }

  void ReadSample(int64_t index, uint64_t sample, Record* record) const override {
    records_->ReadSample(index, sample, record);
    Image image = ImageOfRecord(*record, transform_);
    // Each kind has its own numbers, so that one more does not change what the others draw.
    if (transform_.has_random_aspect_ratio_param()) Crop(sample, &image);
    if (short_side_.upper > 0) ResizeSide(sample, &image);
    if (training_ && transform_.has_rotation_param()) Turn(sample, &image);
    if (training_ && transform_.has_shift_param()) Move(sample, &image);
    if (training_ && transform_.has_distort_param()) Colour(sample, &image);
    if (training_ && transform_.has_cutout_param()) CutOut(sample, &image);
    GiveImage(image, record);
  }

 private:
  enum Kind { kCrop, kSide, kTurn, kColour, kCutOut, kMove, kKinds };

  Draws DrawsFor(Kind kind, uint64_t sample) const {
    return Draws(random_, sample * kKinds + static_cast<uint64_t>(kind));
  }

  void Check() {
    const TransformationParameter& t = transform_;
    const bool crops = t.has_random_aspect_ratio_param();
    const bool nvidia = t.has_img_rand_resize_lower() || t.has_img_rand_resize_upper();
    if (crops + t.has_random_resize_param() + nvidia > 1) {
      throw UserError({},
                      "transform_param: set only one of random_aspect_ratio_param, "
                      "random_resize_param and img_rand_resize_lower/_upper");
    }
    if (crops) CheckCrop(t.random_aspect_ratio_param());
    if (t.has_random_resize_param() || nvidia) short_side_ = ShortSideOf(t);
    if (t.has_distort_param()) CheckDistortion(t.distort_param());
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
    if (!t.has_cutout_param()) return;
    CheckProbability("cutout_param", t.cutout_param().prob());
    constexpr uint32_t kMost = 1 << 16;
    if (t.cutout_param().size() == 0 || t.cutout_param().size() > kMost) {
      throw UserError({}, "cutout_param needs a size from 1 to 65536");
    }
  }

  void Crop(uint64_t sample, Image* image) const {
    const RandomAspectRatioParameter& p = transform_.random_aspect_ratio_param();
    Draws draws = DrawsFor(kCrop, sample);
    const ImageShape& shape = image->shape;
    cv::Rect part(0, 0, shape.width, shape.height);
    if (training_) part = DrawCrop(p, shape.height, shape.width, &draws);
    const cv::Size size(static_cast<int>(p.resize_param().width()),
                        static_cast<int>(p.resize_param().height()));
    cv::Mat resized;
    cv::resize(MatOf(image)(part), resized, size, 0, 0,
               doppio::InterpolationOf(p.resize_param(), &draws));
    *image = ImageOf(resized);
  }

  void ResizeSide(uint64_t sample, Image* image) const {
    Draws draws = DrawsFor(kSide, sample);
    const int range = short_side_.upper - short_side_.lower;
    const int side = short_side_.lower + (training_ ? draws.Below(range + 1) : range / 2);
    const int now = std::min(image->shape.height, image->shape.width);
    if (side == now) return;
    int interpolation;
    if (transform_.has_random_resize_param()) {
      interpolation =
          doppio::InterpolationOf(transform_.random_resize_param().resize_param(), &draws);
    } else {
      interpolation = InterpolationOf(side < now ? transform_.interpolation_algo_down()
                                                 : transform_.interpolation_algo_up());
    }
    ResizeShortSide(side, interpolation, image);
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

  void Colour(uint64_t sample, Image* image) const {
    if (image->shape.channels != 3) {
      throw FileError("distort_param is for images of 3 channels, it has " +
                      std::to_string(image->shape.channels) + "; set force_color: true");
    }
    Draws draws = DrawsFor(kColour, sample);
    Distort(transform_.distort_param(), &draws, image);
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
  ShortSide short_side_;
};

}  // namespace

std::unique_ptr<Source> OpenAugmented(std::unique_ptr<Source> records,
                                      const TransformationParameter& transform, Phase phase,
                                      const Random& random) {
  if (!ChangesSize(transform) && !ChangesPixels(transform)) return records;
  auto augmented = std::make_unique<AugmentedSource>(std::move(records), transform, phase, random);
  if (phase != TRAIN && !ChangesSize(transform)) return augmented->TakeRecords();
  return augmented;
}

TransformationParameter BehindAugmented(TransformationParameter transform) {
  transform.clear_random_aspect_ratio_param();
  transform.clear_random_resize_param();
  transform.clear_img_rand_resize_lower();
  transform.clear_img_rand_resize_upper();
  transform.clear_rotation_param();
  transform.clear_shift_param();
  transform.clear_distort_param();
  transform.clear_cutout_param();
  return transform;
}

}  // namespace doppio
