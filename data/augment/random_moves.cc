#include "data/augment/random_moves.h"

#include <sstream>

#include "data/augment/transforms.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

using Parameter = TransformationParameter;
using Follows = RandomMove::Follows;

// Returns the size of images when they reach the crop. If it is random, returns a size that is in
// proportion to it.
PixelSize BeforeCrop(const Parameter& t, const PixelSize& stored) {
  ImageShape image = {1, stored.height, stored.width};
  for (const Transform* transform : RequestedTransforms(t)) {
    if (transform->declare != nullptr) transform->declare(t, &image);
  }
  if (image.height > 0 && image.width > 0) return {image.height, image.width};
  const auto square = [](uint32_t side) {
    return PixelSize{static_cast<int>(side), static_cast<int>(side)};
  };
  if (t.has_resize_param()) {
    return {static_cast<int>(t.resize_param().height()),
            static_cast<int>(t.resize_param().width())};
  }
  if (t.has_random_resize_param()) return square(t.random_resize_param().min_size());
  return t.has_img_rand_resize_lower() ? square(t.img_rand_resize_lower()) : stored;
}

}  // namespace

std::string RangeText(const std::vector<float>& numbers) {
  std::ostringstream text;
  for (float number : numbers) text << number << ' ';
  return text.str();
}

std::optional<RandomMove> MoveOfCrop(const Parameter& t) {
  const RandomAspectRatioParameter& p = t.random_aspect_ratio_param();
  return RandomMove{"random_aspect_ratio_param",
                    RangeText({p.min_area_ratio(), p.max_area_ratio(), p.aspect_ratio_change(),
                               static_cast<float>(p.max_attempt())})};
}

std::optional<RandomMove> MoveOfRandomSize(const Parameter& t) {
  if (t.has_random_resize_param()) {
    const RandomResizeParameter& p = t.random_resize_param();
    return RandomMove{"random_resize_param", RangeText({static_cast<float>(p.min_size()),
                                                        static_cast<float>(p.max_size())})};
  }
  return RandomMove{
      t.has_img_rand_resize_lower() ? "img_rand_resize_lower" : "rand_resize_ratio_lower",
      RangeText({static_cast<float>(t.img_rand_resize_lower()),
                 static_cast<float>(t.img_rand_resize_upper()), t.rand_resize_ratio_lower(),
                 t.rand_resize_ratio_upper(), t.vertical_stretch_lower(),
                 t.vertical_stretch_upper(), t.horizontal_stretch_lower(),
                 t.horizontal_stretch_upper(), t.allow_upscale() ? 1.0f : 0.0f})};
}

std::optional<RandomMove> MoveOfRotation(const Parameter& t) {
  const RotationParameter& p = t.rotation_param();
  return RandomMove{"rotation_param", RangeText({p.prob(), p.max_degrees()}),
                    Follows::kSameProportions};
}

std::optional<RandomMove> MoveOfShift(const Parameter& t) {
  const ShiftParameter& p = t.shift_param();
  return RandomMove{"shift_param", RangeText({p.prob(), p.width(), p.height()}), Follows::kAnySize};
}

std::optional<RandomMove> MoveOfExpansion(const Parameter& t) {
  const ExpansionParameter& p = t.expand_param();
  return RandomMove{"expand_param", RangeText({p.prob(), p.max_expand_ratio()})};
}

std::optional<RandomMove> MoveOfResize(const Parameter& t) {
  const ResizeParameter& p = t.resize_param();
  if (p.prob() >= 1) return std::nullopt;
  return RandomMove{"resize_param",
                    RangeText({p.prob(), static_cast<float>(p.resize_mode()),
                               static_cast<float>(p.height()), static_cast<float>(p.width())})};
}

std::optional<RandomMove> MoveOfRandAugment(const Parameter& t) {
  const RandAugmentParameter& p = t.rand_augment_param();
  return RandomMove{"rand_augment_param", RangeText({static_cast<float>(p.count()), p.magnitude(),
                                                     p.magnitude_std(), p.prob()})};
}

std::optional<RandomMove> MoveOfTrivialAugment(const Parameter& t) {
  return RandomMove{"trivial_augment_param", RangeText({t.trivial_augment_param().prob()})};
}

void DescribeMoves(const Parameter& t, Phase phase, bool annotated, SampleSet* set) {
  if (t.mirror()) set->moves.push_back({"mirror", "", Follows::kAnySize});
  for (const Transform* transform : RequestedTransforms(t)) {
    const bool acts = annotated ? transform->boxes != Transform::Boxes::kNever
                                : phase == TRAIN || transform->moves_always;
    if (!acts || transform->move == nullptr) continue;
    if (const std::optional<RandomMove> move = transform->move(t)) set->moves.push_back(*move);
  }
  set->before_crop = BeforeCrop(t, set->stored);
  if (phase != TRAIN) return;
  if (t.flip()) set->moves.push_back({"flip", "", Follows::kAnySize});
  if (t.quarter_turns()) set->moves.push_back({"quarter_turns", "", Follows::kAnySize});
  const bool rectangular = t.crop_h() > 0;
  set->random_crop = {static_cast<int>(rectangular ? t.crop_h() : t.crop_size()),
                      static_cast<int>(rectangular ? t.crop_w() : t.crop_size())};
}

}  // namespace doppio
