// Objects, regions and sizes of images for the rows of detection layers, made of numbers of the
// draft.
#ifndef DOPPIO_TESTS_LAYERS_DETECTION_DRAWN_OBJECTS_H_
#define DOPPIO_TESTS_LAYERS_DETECTION_DRAWN_OBJECTS_H_

#include <optional>
#include <string>
#include <vector>

#include "tests/layers/common/drawn_blobs.h"
#include "tests/random/net_draft.h"

namespace doppio {

// Adds a Concat of the blobs. Returns its top, or nothing if the draft refuses it.
inline std::optional<DraftBlob> Joined(NetDraft* draft, const std::vector<std::string>& blobs,
                                       int axis) {
  return AddWithOneTop(draft, "Concat", blobs,
                       "concat_param { axis: " + std::to_string(axis) + " }", BlobKind::kOther);
}

// Adds rows of 8 numbers as SSD's layers read objects: image of the batch, label, instance, xmin,
// ymin, xmax, ymax, difficult. Labels are from `first` to `last`. The shape is N x K x 8 or, with
// `four_axes`, N x 1 x K x 8.
inline std::optional<DraftBlob> SsdObjects(NetDraft* draft, int64_t first, int64_t last,
                                           bool four_axes) {
  Draw& draw = draft->draw();
  const int64_t rows = draw.Int(1, 3);
  const int axis = four_axes ? 3 : 2;
  const auto numbers = [&](const std::string& kind, int64_t low, int64_t high, int64_t width) {
    std::vector<int64_t> sample = {rows, width};
    if (four_axes) sample.insert(sample.begin(), 1);
    return draft->Numbers({kind, static_cast<double>(low), static_cast<double>(high), sample}).name;
  };
  std::string image;
  if (draw.Chance(0.25)) {
    image = numbers("whole", -1, 0, 1);  // an empty row, or one of the first image
  } else {
    const std::string regions = numbers("regions", 0, 1, 5);
    const std::string cut = "slice_param { axis: " + std::to_string(axis) + " slice_point: 1 }";
    if (!draft->Add({"Slice", {regions}, 2, cut, {BlobKind::kOther, BlobKind::kOther}}))
      return std::nullopt;
    image = draft->tops().front().name;
  }
  const std::string label = numbers("whole", first, last, 1), boxes = numbers("boxes", 0, 1, 4),
                    difficult = numbers("whole", 0, 1, 1);
  return Joined(draft, {image, label, difficult, boxes, difficult}, axis);
}

// Adds sizes of images: height and width in pixels, about `side`, and scale, about 1.
inline std::optional<DraftBlob> ImageSizes(NetDraft* draft, int64_t side) {
  const double pixels = static_cast<double>(side);
  const DraftBlob sizes = draft->Numbers({"whole", pixels, pixels + 5, {2}});
  const DraftBlob scale = draft->Numbers({"uniform", 0.5, 1.5, {1}});
  return Joined(draft, {sizes.name, scale.name}, 1);
}

// Adds a box of x1, y1, x2, y2 in pixels of an image of `side` pixels for each sample.
inline std::optional<DraftBlob> PixelBoxes(NetDraft* draft, int64_t side) {
  const DraftBlob boxes = draft->Numbers({"boxes", 0, 1, {4}});
  return AddWithOneTop(draft, "Power", {boxes.name},
                       "power_param { scale: " + std::to_string(side) + " }", BlobKind::kOther);
}

// Adds an object of x1, y1, x2, y2 and class for each sample, as R-CNN's layers read them. Class 0
// is no object.
inline std::optional<DraftBlob> RcnnObjects(NetDraft* draft, int64_t side, int64_t last_class) {
  const std::optional<DraftBlob> boxes = PixelBoxes(draft, side);
  if (!boxes) return std::nullopt;
  const DraftBlob label = draft->Numbers({"whole", 0, static_cast<double>(last_class), {1}});
  return Joined(draft, {boxes->name, label.name}, 1);
}

// Adds regions of image, x1, y1, x2, y2 for images of `side` pixels: one or several per sample.
// Some exceed the image.
inline std::optional<DraftBlob> DrawnRegions(NetDraft* draft, double side) {
  Draw& draw = draft->draw();
  const double low = draw.Chance(0.3) ? -2 : 0, high = draw.Chance(0.3) ? side * 1.25 : side - 1;
  if (draw.Chance(0.6)) return draft->Numbers({"regions", low, high, {5}});
  const DraftBlob several = draft->Numbers({"regions", low, high, {draw.Int(2, 3), 5}});
  return AddWithOneTop(draft, "Reshape", {several.name},
                       "reshape_param { shape { dim: -1 dim: 5 } }", BlobKind::kOther);
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_LAYERS_DETECTION_DRAWN_OBJECTS_H_
