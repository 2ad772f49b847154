#include "tests/data/transform_fields.h"

#include <cstdint>

#include "tests/random/data_kind.h"
#include "tests/random/field_text.h"

namespace doppio {

std::string DrawInterpolations(Draw* draw) {
  std::string text;
  for (int64_t left = draw->Int(0, 3); left > 0; --left)
    text += WordText(draw, "interp_mode", {"LINEAR", "AREA", "NEAREST", "CUBIC", "LANCZOS4"});
  return text;
}

// Draws the fields of a ResizeParameter besides prob and resize_mode.
std::string DrawResizeFields(Draw* draw, const PixelSize& size) {
  std::string text = FieldText("height", size.height) + FieldText("width", size.width);
  text += Maybe(draw, 0.4, WordText(draw, "pad_mode", {"CONSTANT", "MIRRORED", "REPEAT_NEAREST"}));
  const int64_t values = draw->Of<int64_t>({0, 0, 1, 3});
  for (int64_t i = 0; i < values; ++i) text += IntText(draw, "pad_value", 0, 255);
  text += DrawInterpolations(draw);
  if (draw->Chance(0.2)) {
    text += IntText(draw, "height_scale", 1, 40);
    text += IntText(draw, "width_scale", 1, 40);
  }
  return text;
}

std::string DrawDistortion(Draw* draw) {
  std::string text = RealText(draw, "brightness_prob", 0, 1);
  text += RealText(draw, "brightness_delta", 0, 64);
  for (const char* what : {"contrast", "saturation"}) {
    const std::string name = what;
    text += RealText(draw, name + "_prob", 0, 1);
    text += RealText(draw, name + "_lower", 0.3, 1);
    text += RealText(draw, name + "_upper", 1, 2);
  }
  text += RealText(draw, "hue_prob", 0, 1);
  text += RealText(draw, "hue_delta", 0, 36);
  text += RealText(draw, "random_order_prob", 0, 1);
  return MessageText("distort_param", text);
}

std::string DrawNoise(Draw* draw, bool colour) {
  std::string text = Maybe(draw, 0.6, RealText(draw, "prob", 0, 1));
  for (const char* change :
       {"hist_eq", "inverse", "decolorize", "gauss_blur", "posterize", "erode", "clahe"}) {
    text += Maybe(draw, 0.2, FieldText(change, true));
  }
  text += Maybe(draw, 0.2, IntText(draw, "jpeg", -1, 100));
  if (draw->Chance(0.3)) {
    std::string dots = RealText(draw, "fraction", 0, 0.5);
    const int64_t values = draw->Of<int64_t>({0, 1, 3});
    for (int64_t i = 0; i < values; ++i) dots += IntText(draw, "value", 0, 255);
    text += FieldText("saltpepper", true) + MessageText("saltpepper_param", dots);
  }
  if (colour && draw->Chance(0.3))
    text += FieldText(draw->Of<std::string>({"convert_to_hsv", "convert_to_lab"}), true);
  return MessageText("noise_param", text);
}

std::string DrawExpansion(Draw* draw) {
  std::string text = Maybe(draw, 0.7, RealText(draw, "prob", 0, 1));
  text += RealText(draw, "max_expand_ratio", 1, 2);
  return MessageText("expand_param", text);
}

std::string DrawRotation(Draw* draw) {
  std::string text = RealText(draw, "max_degrees", 0, 180);
  text += Maybe(draw, 0.5, RealText(draw, "prob", 0, 1));
  return MessageText("rotation_param", text);
}

std::string DrawShift(Draw* draw) {
  std::string text = RealText(draw, "width", 0, 0.5);
  text += RealText(draw, "height", 0, 0.5);
  text += Maybe(draw, 0.5, WordText(draw, "pad_mode", {"CONSTANT", "MIRRORED", "REPEAT_NEAREST"}));
  text += Maybe(draw, 0.5, RealText(draw, "prob", 0, 1));
  return MessageText("shift_param", text);
}

std::string DrawCutout(Draw* draw) {
  std::string text = IntText(draw, "size", 1, 6);
  text += Maybe(draw, 0.5, IntText(draw, "count", 0, 3));
  text += Maybe(draw, 0.5, RealText(draw, "prob", 0, 1));
  return MessageText("cutout_param", text);
}

std::string DrawErasing(Draw* draw) {
  std::string text = Maybe(draw, 0.5, RealText(draw, "prob", 0, 1));
  if (draw->Chance(0.5)) {
    text += RealText(draw, "min_area_ratio", 0.02, 0.3);
    text += RealText(draw, "max_area_ratio", 0.3, 1);
  }
  text += Maybe(draw, 0.5, RealText(draw, "aspect_ratio_change", 1, 5));
  text += Maybe(draw, 0.3, IntText(draw, "max_attempt", 0, 10));
  text += Maybe(draw, 0.3, IntText(draw, "count", 0, 3));
  text += Maybe(draw, 0.5, WordText(draw, "fill", {"MEAN", "NOISE"}));
  return MessageText("random_erasing_param", text);
}

std::string DrawAutoAugment(Draw* draw) {
  std::string text = Maybe(draw, 0.3, RealText(draw, "prob", 0, 1));
  if (draw->Chance(0.4)) return MessageText("trivial_augment_param", text);
  text += Maybe(draw, 0.5, IntText(draw, "count", 0, 4));
  text += Maybe(draw, 0.5, RealText(draw, "magnitude", 0, 30));
  text += Maybe(draw, 0.3, RealText(draw, "magnitude_std", 0, 5));
  return MessageText("rand_augment_param", text);
}

std::string DrawAspectFields(Draw* draw) {
  std::string text;
  if (draw->Chance(0.7)) {
    text += RealText(draw, "min_area_ratio", 0.1, 0.6);
    text += RealText(draw, "max_area_ratio", 0.6, 1);
  }
  text += Maybe(draw, 0.7, RealText(draw, "aspect_ratio_change", 0.5, 2));
  text += Maybe(draw, 0.3, IntText(draw, "max_attempt", 0, 10));
  return text;
}

std::string DrawMean(Draw* draw, int64_t channels, const PixelSize& size, bool floats,
                     bool file_allowed, const std::string& folder) {
  const int64_t kind = draw->Int(0, file_allowed ? 3 : 2);
  std::string text;
  if (kind == 3) {
    const std::string name =
        DataNameText(floats ? "meanfloat" : "mean", 1,
                     {static_cast<int>(channels), size.height, size.width}, 0, 1, draw->Int(0, 99));
    return QuotedText("mean_file", DataPath(folder, name + ".binaryproto"));
  }
  const int64_t values = kind == 2 ? channels : kind;
  for (int64_t i = 0; i < values; ++i)
    text += RealText(draw, "mean_value", floats ? -0.5 : 100, floats ? 0.5 : 150);
  return text;
}

std::string DrawScale(Draw* draw, bool floats) {
  return floats ? Maybe(draw, 0.3, RealText(draw, "scale", 0.5, 1.5))
                : RealText(draw, "scale", 0.004, 0.02);
}

std::string DrawDeviations(Draw* draw, int64_t channels) {
  const int64_t values = draw->Of<int64_t>({0, 0, 0, 1, channels});
  std::string text;
  for (int64_t i = 0; i < values; ++i) text += RealText(draw, "std_value", 0.5, 2);
  return text;
}

std::string CropText(Draw* draw, const PixelSize& crop) {
  if (crop.height == crop.width && draw->Chance(0.7)) return FieldText("crop_size", crop.height);
  return FieldText("crop_h", crop.height) + FieldText("crop_w", crop.width);
}

std::string DrawUnusedTransforms(Draw* draw, bool mirrored) {
  constexpr double kSeldom = 0.03;
  std::string text = Maybe(draw, kSeldom, FieldText("use_gpu_transform", true));
  text += Maybe(draw, kSeldom, IntText(draw, "random_seed", 0, 9));
  text += Maybe(draw, kSeldom, WordText(draw, "forward_packing", {"NCHW", "NHWC"}));
  text += Maybe(draw, kSeldom, FieldText("display", true));
  text += Maybe(draw, kSeldom, IntText(draw, "num_labels", 0, 9));
  text += Maybe(draw, kSeldom, FieldText("bgr2rgb", false));
  text += Maybe(draw, kSeldom, FieldText("flow", !mirrored));
  return text + DrawDecoding(draw);
}

// Drawn files have neither EXIF data nor values of 16 bits.
std::string DrawDecoding(Draw* draw) {
  constexpr double kSometimes = 0.1;
  const std::string text = Maybe(draw, kSometimes, FieldText("exif_rotation", true));
  return text + Maybe(draw, kSometimes, IntText(draw, "sixteen_bit_range", 256, 65536));
}

}  // namespace doppio
