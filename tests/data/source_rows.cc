// Rows of the layers Data, ImageData, WindowData and VideoData.
#include "tests/data/source_text.h"
#include "tests/data/transform_fields.h"
#include "tests/data/transform_rows.h"
#include "tests/random/layer_row.h"

namespace doppio {
namespace {

// ---- Data --------------------------------------------------------------------------------------

// Draws a layer Data with these fields of data_param.
std::string DataText(Draw* draw, const SourceWish& wish, const std::string& fields,
                     const std::string& transform) {
  std::string all = fields + DrawReading(draw, wish);
  all += DrawDataFields(draw);
  return SourceText(draw, wish, "Data", WithTransform(draw, "data_param", all, transform));
}

// Returns what the records of a database can be.
std::vector<std::string> ContentsFor(const SourceWish& wish, const DrawnImages& images,
                                     bool floats) {
  if (floats) return {"float"};
  if (!WantsImage(wish)) return {""};
  std::vector<std::string> contents = {"", "png", "jpeg", "mixed"};
  if (wish.classes >= 2) contents.push_back("boxes");
  if (images.any_size) contents.push_back("sizes");
  return contents;
}

std::string DrawDatabase(Draw* draw, const SourceWish& wish, const std::string& kind,
                         const std::string& backend) {
  ImageWish image;
  image.sample = wish.sample;
  image.folder = wish.folder;
  image.floats = draw->Chance(0.15);
  image.layer = WantsImage(wish) && !image.floats ? ImageWish::kImages : ImageWish::kPlain;
  const std::optional<DrawnImages> images = DrawImages(draw, image);
  if (!images) return "";
  const std::string content = draw->Of(ContentsFor(wish, *images, image.floats));
  std::string transform = images->transform, fields = backend;
  int64_t channels = wish.sample[0];
  if (content != "" && content != "float") {
    std::string colour = DrawColour(draw, content == "mixed", wish.sample[0], &channels);
    if (colour == FieldText("force_color", true) && draw->Chance(0.3)) {
      colour = "";
      fields += FieldText("force_encoded_color", true);
    }
    transform += colour;
  }
  fields +=
      QuotedText("source", DrawDataPath(draw, kind + content, wish,
                                        ShapeOfImages(channels, images->stored), LabelsOf(wish)));
  return DataText(draw, wish, fields, transform);
}

std::string DrawLmdbData(Draw* draw, const SourceWish& wish) {
  return DrawDatabase(draw, wish, "lmdb", FieldText("backend", "LMDB"));
}

std::string DrawLevelDbData(Draw* draw, const SourceWish& wish) {
  return DrawDatabase(draw, wish, "leveldb", Maybe(draw, 0.5, FieldText("backend", "LEVELDB")));
}

// Draws the images of a source of bytes.
std::optional<DrawnImages> DrawBytes(Draw* draw, const SourceWish& wish, const PixelSize& stored) {
  ImageWish image;
  image.sample = wish.sample;
  image.folder = wish.folder;
  image.stored = stored;
  image.layer = WantsImage(wish) ? ImageWish::kImages : ImageWish::kPlain;
  return DrawImages(draw, image);
}

std::string DrawIdxData(Draw* draw, const SourceWish& wish) {
  if (wish.classes > 256) return "";
  const std::optional<DrawnImages> images = DrawBytes(draw, wish, PixelSize());
  if (!images) return "";
  const bool flat = wish.sample[0] == 1 && draw->Chance(0.7);
  const std::string packed = Maybe(draw, 0.3, ".gz");
  SourceWish file = wish;
  std::string fields = FieldText("backend", "IDX");
  if (draw->Chance(0.4)) {
    file.records += draw->Int(0, 5);
    fields += FieldText("size", wish.records);
  }
  fields += Maybe(draw, 0.3, WordText(draw, "part", {"TRAIN", "TEST"}));
  const ImageShape shape = ShapeOfImages(wish.sample[0], images->stored);
  const std::string stem = DrawDataPath(draw, "idx", file, shape, LabelsOf(wish));
  fields +=
      QuotedText("source", stem + (flat ? "-images-idx3-ubyte" : "-images-idx4-ubyte") + packed);
  const bool several = LabelsOf(wish) > 1;
  if (several || draw->Chance(0.3)) {
    for (int64_t i = 0; i < LabelsOf(wish); ++i) {
      const std::string number = several ? std::to_string(i) : "";
      fields += QuotedText("labels", stem + "-labels" + number + "-idx1-ubyte" + packed);
    }
  }
  return DataText(draw, wish, fields, images->transform);
}

std::string DrawCifarData(Draw* draw, const SourceWish& wish) {
  const bool fits = WantsImage(wish) && wish.sample[0] == 3;
  if (!fits || wish.classes > 256 || LabelsOf(wish) > 1) return "";
  constexpr int kCifarSide = 32;
  const PixelSize size = {kCifarSide, kCifarSide};
  const std::optional<DrawnImages> images = DrawBytes(draw, wish, size);
  if (!images) return "";
  const std::string kind = draw->Of<std::string>({"cifar", "cifarfine", "cifarfolder"});
  std::string source = DrawDataPath(draw, kind, wish, ShapeOfImages(3, size));
  std::string fields = FieldText("backend", "CIFAR");
  if (kind != "cifarfolder") {
    source += ".bin";
  } else {
    source += Maybe(draw, 0.3, "/data_batch_*.bin");
    fields += Maybe(draw, 0.3, WordText(draw, "part", {"TRAIN", "TEST"}));
  }
  return DataText(draw, wish, fields + QuotedText("source", source), images->transform);
}

// Draws the fields of a source that Doppio draws itself.
std::string DrawGeneratedFields(Draw* draw, const SourceWish& wish, const std::string& backend) {
  std::string fields = FieldText("backend", backend) + FieldText("size", wish.records);
  fields += Maybe(draw, 0.5, IntText(draw, "seed", 0, 99));
  fields += Maybe(draw, 0.3, WordText(draw, "part", {"TRAIN", "TEST"}));
  return fields;
}

std::string DrawDigitsData(Draw* draw, const SourceWish& wish) {
  constexpr int kDigitSide = 28, kDigits = 10;
  const bool fits = WantsImage(wish) && wish.sample[0] == 1;
  if (!fits || wish.classes < kDigits || LabelsOf(wish) > 1) return "";
  const std::optional<DrawnImages> images = DrawBytes(draw, wish, {kDigitSide, kDigitSide});
  if (!images) return "";
  return DataText(draw, wish, DrawGeneratedFields(draw, wish, "DIGITS"), images->transform);
}

std::string DrawShapesData(Draw* draw, const SourceWish& wish) {
  constexpr int64_t kLeastSide = 32, kMostSide = 40, kClasses = 6;
  const bool fits = WantsImage(wish) && wish.sample[0] == 3;
  if (!fits || wish.classes < kClasses || LabelsOf(wish) > 1) return "";
  const int side = static_cast<int>(draw->Int(kLeastSide, kMostSide));
  const std::optional<DrawnImages> images = DrawBytes(draw, wish, {side, side});
  if (!images) return "";
  const std::string fields = DrawGeneratedFields(draw, wish, "SHAPES");
  return DataText(draw, wish, fields + FieldText("shapes_size", side), images->transform);
}

constexpr int kMostLabelTops = 4;
DOPPIO_REGISTER(SourceRows, "Data/LMDB",
                {&DrawLmdbData, 0, SourceRow::kPerSample, 1, kMostLabelTops});
DOPPIO_REGISTER(SourceRows, "Data/LEVELDB",
                {&DrawLevelDbData, 0, SourceRow::kPerSample, 1, kMostLabelTops});
DOPPIO_REGISTER(SourceRows, "Data/IDX",
                {&DrawIdxData, 0, SourceRow::kPerSample, 1, kMostLabelTops});
DOPPIO_REGISTER(SourceRows, "Data/CIFAR", {&DrawCifarData});
DOPPIO_REGISTER(SourceRows, "Data/DIGITS", {&DrawDigitsData});
DOPPIO_REGISTER(SourceRows, "Data/SHAPES", {&DrawShapesData});

// ---- ImageData ---------------------------------------------------------------------------------

std::string DrawImageData(Draw* draw, const SourceWish& wish) {
  if (!WantsImage(wish)) return "";
  ImageWish image;
  image.sample = wish.sample;
  image.folder = wish.folder;
  image.layer = ImageWish::kImages;
  const std::optional<DrawnImages> images = DrawImages(draw, image);
  if (!images) return "";
  std::string fields, transform = images->transform;
  PixelSize stored = images->stored;
  const bool resized = draw->Chance(0.4);
  if (resized) {
    fields += FieldText("new_height", stored.height) + FieldText("new_width", stored.width);
    fields += Maybe(draw, 0.4, FieldText("scaled_decode", true));
    constexpr int kMostFileSide = 33;
    const int64_t height = draw->Extent(kMostFileSide), width = draw->Extent(kMostFileSide);
    stored = {static_cast<int>(height), static_cast<int>(width)};
  }
  std::vector<std::string> kinds = {"list", "listjpeg", "listmixed"};
  if (resized || images->any_size) kinds.push_back("listsizes");
  const std::string kind = draw->Of(kinds);
  const bool colour = wish.sample[0] == 3;
  if (!colour || draw->Chance(0.3)) fields += FieldText("is_color", colour);
  transform += Maybe(draw, 0.1, FieldText(colour ? "force_color" : "force_gray", true));
  const ImageShape shape = ShapeOfImages(draw->Of<int64_t>({1, 3}), stored);
  const std::string list = DrawDataPath(draw, kind, wish, shape, LabelsOf(wish));
  fields += QuotedText("source", list + ".txt") + QuotedText("root_folder", list + "/");
  fields += DrawReading(draw, wish);
  fields += Maybe(draw, 0.03, IntText(draw, "min_height", 1, 9));
  fields += Maybe(draw, 0.03, IntText(draw, "min_width", 1, 9));
  fields += Maybe(draw, 0.03, IntText(draw, "short_side", 1, 9));
  fields += Maybe(draw, 0.03, RealText(draw, "dataset_share_per_node", 0, 1));
  std::string body = WithTransform(draw, "image_data_param", fields, transform);
  body += Maybe(draw, 0.3, MessageText("data_param", IntText(draw, "prefetch", 1, 3)));
  return SourceText(draw, wish, "ImageData", body);
}

DOPPIO_REGISTER(SourceRows, "ImageData",
                {&DrawImageData, 0, SourceRow::kPerSample, 1, kMostLabelTops});

// ---- WindowData --------------------------------------------------------------------------------

// Draws which windows show objects. The overlaps in the file are 0.05, 0.45 and 1.
std::string DrawThresholds(Draw* draw) {
  std::string text = Maybe(draw, 0.7, RealText(draw, "fg_threshold", 0.2, 0.9));
  text += Maybe(draw, 0.7, RealText(draw, "bg_threshold", 0.1, 0.9));
  if (draw->Chance(0.7)) text += FieldText("fg_fraction", draw->Of<double>({0, 0.25, 0.5, 0.7, 1}));
  return text;
}

std::string DrawWindowData(Draw* draw, const SourceWish& wish) {
  const bool square = WantsImage(wish) && wish.sample[1] == wish.sample[2];
  if (!square || wish.classes < 2) return "";
  const int64_t side = wish.sample[1];
  std::string transform = FieldText("crop_size", side);
  const bool mirror = draw->Chance(0.5);
  transform += FieldText("mirror", mirror);
  // A mean image may be larger than the windows.
  const int more = static_cast<int>(draw->Int(0, 3)), mean = static_cast<int>(side) + more;
  transform += DrawMean(draw, wish.sample[0], {mean, mean}, false, true, wish.folder);
  transform += DrawDeviations(draw, wish.sample[0]);
  transform += DrawUnusedTransforms(draw, mirror);
  std::string fields = FieldText("batch_size", wish.batch);
  fields += DrawThresholds(draw);
  const std::string scale = DrawScale(draw, false);
  (draw->Chance(0.5) ? transform : fields) += scale;
  fields += Maybe(draw, 0.5, IntText(draw, "context_pad", 0, (side - 1) / 2));
  if (draw->Chance(0.5))
    fields += QuotedText("crop_mode", draw->Of<std::string>({"warp", "square"}));
  fields += Maybe(draw, 0.4, FieldText("cache_images", true));
  const int64_t height = draw->Extent(20), width = draw->Extent(20);
  const ImageShape shape =
      ShapeOfImages(wish.sample[0], {static_cast<int>(height), static_cast<int>(width)});
  const std::string file = DrawDataPath(draw, "windows", wish, shape);
  fields += QuotedText("source", file + ".txt") + QuotedText("root_folder", file + "/");
  std::string body =
      MessageText("window_data_param", fields) + MessageText("transform_param", transform);
  body += Maybe(draw, 0.3, MessageText("data_param", IntText(draw, "prefetch", 1, 3)));
  return SourceText(draw, wish, "WindowData", body);
}

DOPPIO_REGISTER(SourceRows, "WindowData", {&DrawWindowData, 0, SourceRow::kPerSample, 1, 2, true});

// ---- VideoData ---------------------------------------------------------------------------------

// The label is 0.
std::string DrawVideoData(Draw* draw, const SourceWish& wish) {
  if (!WantsImage(wish) || wish.sample[0] != 3) return "";
  const std::optional<DrawnImages> images = DrawBytes(draw, wish, PixelSize());
  if (!images) return "";
  SourceWish file = wish;
  const int64_t skipped = draw->Int(0, 2);
  file.records = (wish.records - 1) * (skipped + 1) + 1;
  std::string fields = FieldText("video_type", "VIDEO");
  if (skipped > 0) fields += FieldText("skip_frames", skipped);
  fields += Maybe(draw, 0.1, IntText(draw, "device_id", 0, 1));
  fields += QuotedText(
      "video_file", DrawDataPath(draw, "video", file, ShapeOfImages(3, images->stored)) + ".y4m");
  std::string reading = DrawReading(draw, wish);
  reading += DrawDataFields(draw);
  std::string body = MessageText("video_data_param", fields);
  body += WithTransform(draw, "data_param", reading, images->transform);
  return SourceText(draw, wish, "VideoData", body);
}

// Runs the programs ffprobe and ffmpeg, which the machine may lack.
DOPPIO_REGISTER(SourceRows, "VideoData", {&DrawVideoData, LayerRow::kOutside});

}  // namespace
}  // namespace doppio
