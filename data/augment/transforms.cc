#include "data/augment/transforms.h"

#include <algorithm>
#include <opencv2/core.hpp>
#include <set>

#include "core/base/error.h"
#include "data/augment/auto_augment.h"
#include "data/augment/distort.h"
#include "data/augment/noise.h"
#include "data/augment/random_changes.h"
#include "data/augment/random_moves.h"
#include "data/augment/random_size.h"
#include "data/augment/resize_image.h"
#include "data/augment/settle.h"
#include "data/decode/decode_formats.h"
#include "data/decode/mat_image.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

using Parameter = TransformationParameter;

void CheckProbability(const char* field, float prob) {
  if (prob >= 0 && prob <= 1) return;
  throw UserError({}, field, ": prob must be from 0 to 1, got ", prob);
}

cv::Scalar FillOf(const TransformArgs& c) { return MeanFill(c.parameter, c.image->shape.channels); }

// Returns the size to which crops are resized; 0 x 0 if it is not set.
cv::Size CropSize(const Parameter& t) {
  const ResizeParameter& resize = t.random_aspect_ratio_param().resize_param();
  const auto side = [&t](uint32_t pixels, uint32_t crop) {
    if (pixels == 0) pixels = crop > 0 ? crop : t.crop_size();
    return static_cast<int>(pixels);
  };
  return {side(resize.width(), t.crop_w()), side(resize.height(), t.crop_h())};
}

void CheckAreas(const std::string& field, const RandomAspectRatioParameter& p) {
  RefuseIf(!(p.min_area_ratio() > 0 && p.min_area_ratio() <= p.max_area_ratio() &&
             p.max_area_ratio() <= 1),
           field,
           "min_area_ratio and max_area_ratio must be above 0, at most 1, and in this order");
}

void CheckCrop(const Parameter& t) {
  const RandomAspectRatioParameter& p = t.random_aspect_ratio_param();
  const std::string field = "random_aspect_ratio_param: ";
  CheckAreas(field, p);
  RefuseIf(!(p.aspect_ratio_change() >= 0.01f && p.aspect_ratio_change() <= 100), field,
           "aspect_ratio_change must be from 0.01 to 100");
  constexpr int kMax = 1 << 16;
  const cv::Size size = CropSize(t);
  RefuseIf(size.height < 1 || size.width < 1 || size.height > kMax || size.width > kMax, field,
           "set height and width in resize_param, to which crops are resized, or crop_size in "
           "transform_param");
  RefuseIf(p.resize_param().resize_mode() != ResizeParameter::WARP, field,
           "resize_param: only resize_mode: WARP is supported here");
}

void Crop(const TransformArgs& c) {
  const RandomAspectRatioParameter& p = c.parameter.random_aspect_ratio_param();
  const ImageShape& shape = c.image->shape;
  cv::Rect part(0, 0, shape.width, shape.height);
  if (c.training) part = DrawCrop(p, shape.height, shape.width, c.draws);
  *c.image = ImageOf(MatOf(c.image)(part));
  const cv::Size size = CropSize(c.parameter);
  Resize(size.height, size.width, c.image, InterpolationOf(p.resize_param(), c.draws));
}

void DeclareCrop(const Parameter& t, ImageShape* image) {
  const cv::Size size = CropSize(t);
  image->height = size.height;
  image->width = size.width;
}

void CheckRotation(const Parameter& t) {
  const RotationParameter& p = t.rotation_param();
  CheckProbability("rotation_param", p.prob());
  if (p.max_degrees() >= 0 && p.max_degrees() <= 180) return;
  throw UserError({}, "rotation_param: max_degrees must be from 0 to 180");
}

void Turn(const TransformArgs& c) {
  const RotationParameter& p = c.parameter.rotation_param();
  if (!c.draws->Bernoulli(p.prob())) return;
  Rotate(c.draws->Uniform(-p.max_degrees(), p.max_degrees()), FillOf(c), c.image);
}

void CheckShift(const Parameter& t) {
  const ShiftParameter& p = t.shift_param();
  CheckProbability("shift_param", p.prob());
  for (const auto& [field, share] :
       {std::pair("width", p.width()), std::pair("height", p.height())}) {
    if (share >= 0 && share <= 1) continue;
    throw UserError({}, "shift_param: ", field,
                    " must be a fraction of the image's, from 0 to 1, got ", share);
  }
}

void Move(const TransformArgs& c) {
  const ShiftParameter& p = c.parameter.shift_param();
  if (!c.draws->Bernoulli(p.prob())) return;
  const double right = c.draws->Uniform(-p.width(), p.width()) * c.image->shape.width;
  const double down = c.draws->Uniform(-p.height(), p.height()) * c.image->shape.height;
  Shift(right, down, BorderOf(p.pad_mode()), FillOf(c), c.image);
}

void ExpandWithObjects(const TransformArgs& c) {
  const Box canvas = Expand(c.parameter.expand_param(), FillOf(c), c.draws, c.image);
  if (c.objects == nullptr) return;
  const bool constrained = c.parameter.has_emit_constraint();
  *c.objects =
      ObjectsIn(canvas, *c.objects, constrained ? &c.parameter.emit_constraint() : nullptr);
}

void ResizeWithObjects(const TransformArgs& c) {
  const Box frame = ResizeAs(c.parameter.resize_param(), c.draws, c.image);
  if (c.objects != nullptr) *c.objects = ObjectsIn(frame, *c.objects, nullptr);
}

void DeclareUnknown(const Parameter&, ImageShape* image) { image->height = image->width = 0; }

void DeclareResize(const Parameter& t, ImageShape* image) {
  const ResizeParameter& p = t.resize_param();
  image->height = GivesOneSize(p) ? static_cast<int>(p.height()) : 0;
  image->width = GivesOneSize(p) ? static_cast<int>(p.width()) : 0;
}

void CheckCutout(const Parameter& t) {
  CheckProbability("cutout_param", t.cutout_param().prob());
  constexpr uint32_t kMax = 1 << 16;
  RefuseIf(t.cutout_param().size() == 0 || t.cutout_param().size() > kMax,
           "cutout_param needs a size from 1 to 65536");
}

void CutOut(const TransformArgs& c) {
  const CutoutParameter& p = c.parameter.cutout_param();
  for (uint32_t i = 0; i < p.count(); ++i) {
    if (!c.draws->Bernoulli(p.prob())) continue;
    const int x = c.draws->Below(c.image->shape.width), y = c.draws->Below(c.image->shape.height);
    CutSquare(x, y, static_cast<int>(p.size()), FillOf(c), c.image);
  }
}

RandomAspectRatioParameter PartToErase(const RandomErasingParameter& p) {
  RandomAspectRatioParameter part;
  part.set_min_area_ratio(p.min_area_ratio());
  part.set_max_area_ratio(p.max_area_ratio());
  part.set_aspect_ratio_change(p.aspect_ratio_change());
  part.set_max_attempt(p.max_attempt());
  return part;
}

void CheckErasing(const Parameter& t) {
  const RandomErasingParameter& p = t.random_erasing_param();
  CheckProbability("random_erasing_param", p.prob());
  CheckAreas("random_erasing_param: ", PartToErase(p));
  RefuseIf(!(p.aspect_ratio_change() >= 1 && p.aspect_ratio_change() <= 100),
           "random_erasing_param: aspect_ratio_change must be from 1 to 100");
}

void Erase(const TransformArgs& c) {
  const RandomErasingParameter& p = c.parameter.random_erasing_param();
  const ImageShape& shape = c.image->shape;
  for (uint32_t i = 0; i < p.count(); ++i) {
    if (!c.draws->Bernoulli(p.prob())) continue;
    const auto part = DrawPart(PartToErase(p), shape.height, shape.width, c.draws);
    if (!part) continue;
    if (p.fill() == RandomErasingParameter::NOISE) {
      CoverWithNoise(*part, c.draws, c.image);
    } else {
      MatOf(c.image)(*part).setTo(FillOf(c));
    }
  }
}

void CheckPad(const Parameter& t) {
  constexpr uint32_t kMaxPad = 1 << 14;
  if (t.pad() <= kMaxPad) return;
  throw UserError({}, "pad must be at most 16384 pixels, got ", t.pad());
}

void Pad(const TransformArgs& c) {
  const int pad = static_cast<int>(c.parameter.pad());
  const int64_t height = c.image->shape.height, width = c.image->shape.width;
  CheckPixels(height + 2 * pad, width + 2 * pad, "it would be padded to");
  cv::Mat padded;
  cv::copyMakeBorder(MatOf(c.image), padded, pad, pad, pad, pad, cv::BORDER_CONSTANT);
  *c.image = ImageOf(padded);
}

void DeclarePad(const Parameter& t, ImageShape* image) {
  if (image->height > 0) image->height += 2 * static_cast<int>(t.pad());
  if (image->width > 0) image->width += 2 * static_cast<int>(t.pad());
}

const google::protobuf::FieldDescriptor* FieldOf(const std::string& name) {
  const auto* field = Parameter::descriptor()->FindFieldByName(name);
  DOPPIO_CHECK(field != nullptr, name);
  return field;
}

}  // namespace

const std::vector<Transform>& Transforms() {
  using Boxes = Transform::Boxes;
  // Distort, expand, resize and noise come in SSD's order.
  static const std::vector<Transform> transforms = {
      Transform({"random_aspect_ratio_param"}, 0, CheckCrop, Crop)
          .InTest([](Parameter* t) { SettleAspectRatio(CropSize(*t), t); })
          .Moves(MoveOfCrop)
          .Resizes(DeclareCrop),
      Transform(
          {"random_resize_param", "img_rand_resize_lower", "img_rand_resize_upper",
           "rand_resize_ratio_lower", "rand_resize_ratio_upper", "vertical_stretch_lower",
           "vertical_stretch_upper", "horizontal_stretch_lower", "horizontal_stretch_upper"},
          1, CheckRandomSize,
          [](const TransformArgs& c) { ResizeAtRandom(c.parameter, c.training, c.draws, c.image); })
          .Options({"allow_upscale", "interpolation_algo_down", "interpolation_algo_up"})
          .InTest(SettleRandomSize)
          .Moves(MoveOfRandomSize)
          .Resizes(DeclareUnknown),
      Transform({"rotation_param"}, 2, CheckRotation, Turn).Moves(MoveOfRotation),
      Transform({"shift_param"}, 5, CheckShift, Move).Moves(MoveOfShift),
      Transform(
          {"distort_param"}, 3, [](const Parameter& t) { CheckDistortion(t.distort_param()); },
          [](const TransformArgs& c) { Distort(c.parameter.distort_param(), c.draws, c.image); })
          .WithBoxes(Boxes::kBeforeWindow),
      Transform({"expand_param"}, 6, CheckExpansion, ExpandWithObjects)
          .Moves(MoveOfExpansion)
          .WithBoxes(Boxes::kBeforeWindow)
          .Resizes(DeclareUnknown),
      Transform(
          {"resize_param"}, 7, [](const Parameter& t) { CheckResize(t.resize_param()); },
          ResizeWithObjects)
          .WithBoxes(Boxes::kAfterWindow)
          .InTest([](Parameter* t) { SettleResize(t->mutable_resize_param()); })
          .Moves(MoveOfResize, true)
          .Resizes(DeclareResize),
      Transform(
          {"noise_param"}, 8, [](const Parameter& t) { CheckNoise(t.noise_param()); },
          [](const TransformArgs& c) { AddNoise(c.parameter.noise_param(), c.draws, c.image); })
          .WithBoxes(Boxes::kAfterWindow)
          .InTest(SettleNoise),
      Transform(
          {"rand_augment_param"}, 10, CheckRandAugment,
          [](const TransformArgs& c) { RandAugment(c.parameter, FillOf(c), c.draws, c.image); })
          .Moves(MoveOfRandAugment),
      Transform(
          {"trivial_augment_param"}, 11, CheckTrivialAugment,
          [](const TransformArgs& c) { TrivialAugment(c.parameter, FillOf(c), c.draws, c.image); })
          .Moves(MoveOfTrivialAugment),
      Transform({"cutout_param"}, 4, CheckCutout, CutOut),
      Transform({"random_erasing_param"}, 12, CheckErasing, Erase),
      // Intel Caffe pads images just before it crops them.
      Transform({"pad"}, 9, CheckPad, Pad).InTest().Resizes(DeclarePad),
  };
  return transforms;
}

std::string Transform::RequestedBy(const TransformationParameter& parameter) const {
  const auto set = std::find_if(fields.begin(), fields.end(), [&](const std::string& name) {
    const auto* field = FieldOf(name);
    if (!parameter.GetReflection()->HasField(parameter, field)) return false;
    // `pad: 0` asks for nothing.
    return field->cpp_type() != field->CPPTYPE_UINT32 ||
           parameter.GetReflection()->GetUInt32(parameter, field) > 0;
  });
  return set == fields.end() ? "" : *set;
}

void Transform::Clear(TransformationParameter* parameter) const {
  for (const std::string& field : fields) {
    parameter->GetReflection()->ClearField(parameter, FieldOf(field));
  }
}

std::vector<const Transform*> RequestedTransforms(const TransformationParameter& parameter) {
  std::vector<const Transform*> asked;
  for (const Transform& transform : Transforms()) {
    if (!transform.RequestedBy(parameter).empty()) asked.push_back(&transform);
  }
  return asked;
}

void ApplyTransforms(const std::vector<const Transform*>& transforms,
                     const TransformationParameter& parameter, bool training,
                     const TransformRandom& random, uint64_t sample, Image* image) {
  for (const Transform* transform : transforms) {
    if (!training && !transform->in_test) continue;
    Draws draws = random.Of(*transform, sample);
    transform->apply({parameter, training, &draws, image});
  }
}

TransformationParameter ChangesInTest(const TransformationParameter& parameter) {
  TransformationParameter changes = parameter;
  std::set<std::string> kept;
  for (const Transform& transform : Transforms()) {
    if (!transform.in_test || transform.RequestedBy(changes).empty()) continue;
    if (transform.settle != nullptr) transform.settle(&changes);
    if (transform.RequestedBy(changes).empty()) continue;
    kept.insert(transform.fields.begin(), transform.fields.end());
    kept.insert(transform.options.begin(), transform.options.end());
  }
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  changes.GetReflection()->ListFields(changes, &fields);
  for (const auto* field : fields) {
    if (kept.count(field->name()) == 0) changes.GetReflection()->ClearField(&changes, field);
  }
  return changes;
}

bool HasTransformField(const std::string& name) {
  static const auto* names = [] {
    // The forks' fields that data/augment/augment.cc uses or refuses.
    auto* all = new std::set<std::string>{"bgr2rgb",         "crop_h", "crop_w",
                                          "emit_constraint", "flow",   "scale_factors"};
    for (const Transform& transform : Transforms()) {
      all->insert(transform.fields.begin(), transform.fields.end());
      all->insert(transform.options.begin(), transform.options.end());
    }
    return all;
  }();
  return names->count(name) > 0;
}

}  // namespace doppio
