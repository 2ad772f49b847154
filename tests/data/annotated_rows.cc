// Rows of the layers AnnotatedData, BoxData and RoiData.
#include "tests/data/source_text.h"
#include "tests/data/transform_fields.h"
#include "tests/data/transform_rows.h"
#include "tests/random/layer_row.h"
#include "tests/random/tiny_images.h"

namespace doppio {
namespace {

constexpr int64_t kShapesClasses = 6, kMostShapesObjects = 4;

// ---- AnnotatedData and BoxData -----------------------------------------------------------------

std::string DrawConstraint(Draw* draw) {
  const std::string kind =
      draw->Of<std::string>({"jaccard_overlap", "sample_coverage", "object_coverage"});
  std::string text = Maybe(draw, 0.6, RealText(draw, "min_" + kind, 0, 0.6));
  text += Maybe(draw, 0.4, RealText(draw, "max_" + kind, 0.4, 1));
  return MessageText("sample_constraint", text);
}

std::string DrawBatchSampler(Draw* draw) {
  std::string window;
  if (draw->Chance(0.8)) {
    window += RealText(draw, "min_scale", 0.2, 0.6);
    window += RealText(draw, "max_scale", 0.6, 1);
  }
  if (draw->Chance(0.8)) {
    window += RealText(draw, "min_aspect_ratio", 0.4, 1);
    window += RealText(draw, "max_aspect_ratio", 1, 2.5);
  }
  std::string text = Maybe(draw, 0.9, MessageText("sampler", window));
  text += Maybe(draw, 0.2, FieldText("use_original_image", draw->Chance(0.5)));
  text += Maybe(draw, 0.6, DrawConstraint(draw));
  text += Maybe(draw, 0.6, IntText(draw, "max_sample", 0, 2));
  text += Maybe(draw, 0.6, IntText(draw, "max_trials", 0, 20));
  return MessageText("batch_sampler", text);
}

std::string DrawEmitConstraint(Draw* draw) {
  std::string text = Maybe(draw, 0.7, WordText(draw, "emit_type", {"CENTER", "MIN_OVERLAP"}));
  text += Maybe(draw, 0.7, RealText(draw, "emit_overlap", 0, 0.7));
  return MessageText("emit_constraint", text);
}

// Draws a layer with records of a database, or with SHAPES if `kind` is empty. `backend` is that
// field.
std::string DrawAnnotated(Draw* draw, const SourceWish& wish, const std::string& type,
                          const std::string& kind, const std::string& backend) {
  const bool shapes = kind.empty();
  if (!WantsImage(wish) || wish.tops.size() > 2) return "";
  if (wish.classes < (shapes ? kShapesClasses : 2) || (shapes && wish.sample[0] != 3)) return "";
  ImageWish image;
  image.sample = wish.sample;
  image.folder = wish.folder;
  image.layer = ImageWish::kAnnotated;
  image.windows = draw->Chance(0.4);
  const int side = static_cast<int>(draw->Int(32, 40));
  if (shapes) image.stored = {side, side};
  const std::optional<DrawnImages> images = DrawImages(draw, image);
  if (!images) return "";
  std::string transform = images->transform, fields = backend;
  transform += Maybe(draw, 0.4, DrawEmitConstraint(draw));
  if (shapes) {
    fields += FieldText("size", wish.records) + FieldText("shapes_size", side);
    fields += Maybe(draw, 0.5, IntText(draw, "seed", 0, 99));
    fields += Maybe(draw, 0.3, WordText(draw, "part", {"TRAIN", "TEST"}));
  } else {
    std::vector<std::string> contents = {"boxes", "yolo"};
    if (images->any_size) contents.push_back("boxsizes");
    const std::string content = draw->Of(contents);
    int64_t channels = 0;
    std::string colour = DrawColour(draw, false, wish.sample[0], &channels);
    if (colour == FieldText("force_color", true) && draw->Chance(0.3)) {
      colour = "";
      fields += FieldText("force_encoded_color", true);
    }
    transform += colour;
    fields += QuotedText("source", DrawDataPath(draw, kind + content, wish,
                                                ShapeOfImages(channels, images->stored)));
  }
  fields += DrawReading(draw, wish);
  fields += DrawDataFields(draw);
  std::string annotated;
  for (int64_t left = image.windows ? draw->Int(1, 2) : 0; left > 0; --left)
    annotated += DrawBatchSampler(draw);
  annotated += Maybe(draw, 0.8, IntText(draw, "max_boxes", kMostShapesObjects, 9));
  annotated += Maybe(draw, 0.2, FieldText("anno_type", "BBOX"));
  std::string body = WithTransform(draw, "data_param", fields, transform);
  body += MessageText("annotated_data_param", annotated);
  return SourceText(draw, wish, type, body);
}

std::string DrawAnnotatedLmdb(Draw* draw, const SourceWish& wish) {
  return DrawAnnotated(draw, wish, "AnnotatedData", "lmdb", FieldText("backend", "LMDB"));
}
std::string DrawAnnotatedLevelDb(Draw* draw, const SourceWish& wish) {
  return DrawAnnotated(draw, wish, "AnnotatedData", "leveldb", "");
}
std::string DrawAnnotatedShapes(Draw* draw, const SourceWish& wish) {
  return DrawAnnotated(draw, wish, "AnnotatedData", "", FieldText("backend", "SHAPES"));
}
std::string DrawBoxLmdb(Draw* draw, const SourceWish& wish) {
  return DrawAnnotated(draw, wish, "BoxData", "lmdb", FieldText("backend", "LMDB"));
}
std::string DrawBoxLevelDb(Draw* draw, const SourceWish& wish) {
  return DrawAnnotated(draw, wish, "BoxData", "leveldb", FieldText("backend", "LEVELDB"));
}
std::string DrawBoxShapes(Draw* draw, const SourceWish& wish) {
  return DrawAnnotated(draw, wish, "BoxData", "", FieldText("backend", "SHAPES"));
}

DOPPIO_REGISTER(SourceRows, "AnnotatedData/LMDB", {&DrawAnnotatedLmdb, 0, SourceRow::kObjects});
DOPPIO_REGISTER(SourceRows, "AnnotatedData/LEVELDB",
                {&DrawAnnotatedLevelDb, 0, SourceRow::kObjects});
DOPPIO_REGISTER(SourceRows, "AnnotatedData/SHAPES", {&DrawAnnotatedShapes, 0, SourceRow::kObjects});
DOPPIO_REGISTER(SourceRows, "BoxData/LMDB", {&DrawBoxLmdb, 0, SourceRow::kObjects});
DOPPIO_REGISTER(SourceRows, "BoxData/LEVELDB", {&DrawBoxLevelDb, 0, SourceRow::kObjects});
DOPPIO_REGISTER(SourceRows, "BoxData/SHAPES", {&DrawBoxShapes, 0, SourceRow::kObjects});

// ---- RoiData -----------------------------------------------------------------------------------

bool WantsRois(const SourceWish& wish) {
  return WantsImage(wish) && wish.sample[0] == 3 && wish.batch == 1 && wish.tops.size() >= 3 &&
         wish.tops.size() <= 4 && wish.classes >= 2 && wish.classes <= kMostTinyClasses;
}

// Draws how the images become as large as the sample. Sets the size of their files.
std::string DrawSides(Draw* draw, const SourceWish& wish, PixelSize* files) {
  const int factor = draw->Chance(0.3) ? 2 : 1;
  const int64_t height = wish.sample[1], width = wish.sample[2];
  *files = {factor * static_cast<int>(height), factor * static_cast<int>(width)};
  if (draw->Chance(0.5)) return FieldText("max_side", std::max(height, width));  // it decides
  std::string text = FieldText("short_side", std::min(height, width));
  text += Maybe(draw, 0.5, FieldText("max_side", std::max(height, width)));
  return text;
}

// Draws a layer whose roi_data_param also has `fields`.
std::string DrawRois(Draw* draw, const SourceWish& wish, std::string fields,
                     const std::string& data_param) {
  fields += Maybe(draw, 0.3, FieldText("use_flipped", draw->Chance(0.5)));
  fields += Maybe(draw, 0.3, FieldText("use_difficult", draw->Chance(0.5)));
  fields += Maybe(draw, 0.3, FieldText("shuffle", draw->Chance(0.5)));
  fields += Maybe(draw, 0.7, IntText(draw, "max_boxes", kMostShapesObjects, 9));
  std::string transform = DrawMean(draw, 3, PixelSize(), false, false, "");
  transform += DrawScale(draw, false) + DrawDeviations(draw, 3);
  transform += Maybe(draw, 0.1, FieldText("force_color", true));
  transform += DrawDecoding(draw);
  std::string body = MessageText("roi_data_param", fields);
  if (!data_param.empty()) body += MessageText("data_param", data_param);
  return SourceText(draw, wish, "RoiData", body + MessageText("transform_param", transform));
}

std::string DrawRoiFiles(Draw* draw, const SourceWish& wish, const std::string& kind,
                         const std::string& ending, const std::string& format) {
  if (!WantsRois(wish)) return "";
  PixelSize size;
  std::string fields = format;
  fields += DrawSides(draw, wish, &size);
  const std::string file = DrawDataPath(draw, kind, wish, ShapeOfImages(3, size));
  fields += QuotedText("source", file + ending) + QuotedText("root_folder", file + "/");
  if (draw->Chance(0.5)) {
    for (int64_t label = 1; label < wish.classes; ++label)
      fields += QuotedText("class_name", kTinyClasses[label]);
  }
  return DrawRois(draw, wish, fields, "");
}

std::string DrawRoiVoc(Draw* draw, const SourceWish& wish) {
  return DrawRoiFiles(draw, wish, "voc", ".txt", Maybe(draw, 0.5, FieldText("format", "VOC")));
}
std::string DrawRoiCoco(Draw* draw, const SourceWish& wish) {
  return DrawRoiFiles(draw, wish, "coco", ".json", FieldText("format", "COCO"));
}

std::string DrawRoiRecords(Draw* draw, const SourceWish& wish, const std::string& kind,
                           const std::string& backend) {
  if (!WantsRois(wish)) return "";
  PixelSize size;
  const std::string fields = DrawSides(draw, wish, &size);
  std::string source = FieldText("backend", backend);
  source += Maybe(draw, 0.2, FieldText("batch_size", wish.batch));  // without effect
  source += QuotedText("source", DrawDataPath(draw, kind + "boxes", wish, ShapeOfImages(3, size)));
  return DrawRois(draw, wish, fields, source);
}

std::string DrawRoiLmdb(Draw* draw, const SourceWish& wish) {
  return DrawRoiRecords(draw, wish, "lmdb", "LMDB");
}
std::string DrawRoiLevelDb(Draw* draw, const SourceWish& wish) {
  return DrawRoiRecords(draw, wish, "leveldb", "LEVELDB");
}

// SHAPES are square.
std::string DrawRoiShapes(Draw* draw, const SourceWish& wish) {
  if (!WantsRois(wish) || wish.sample[1] != wish.sample[2]) return "";
  if (wish.classes < kShapesClasses) return "";
  std::string source = FieldText("backend", "SHAPES") + FieldText("size", wish.records);
  source += IntText(draw, "shapes_size", 32, 40);
  source += Maybe(draw, 0.5, IntText(draw, "seed", 0, 99));
  source += Maybe(draw, 0.3, WordText(draw, "part", {"TRAIN", "TEST"}));
  return DrawRois(draw, wish, FieldText("short_side", wish.sample[1]), source);
}

DOPPIO_REGISTER(SourceRows, "RoiData/VOC", {&DrawRoiVoc, 0, SourceRow::kObjects, 3, 4});
DOPPIO_REGISTER(SourceRows, "RoiData/COCO", {&DrawRoiCoco, 0, SourceRow::kObjects, 3, 4});
DOPPIO_REGISTER(SourceRows, "RoiData/LMDB", {&DrawRoiLmdb, 0, SourceRow::kObjects, 3, 4});
DOPPIO_REGISTER(SourceRows, "RoiData/LEVELDB", {&DrawRoiLevelDb, 0, SourceRow::kObjects, 3, 4});
DOPPIO_REGISTER(SourceRows, "RoiData/SHAPES", {&DrawRoiShapes, 0, SourceRow::kObjects, 3, 4});

}  // namespace
}  // namespace doppio
