// Tests that NetInput, led by the record of a data layer, gives the values that the layer gives in
// phase TEST, bit for bit.
#include "data/augment/net_input.h"

#include <string>
#include <vector>

#include "core/base/random.h"
#include "data/augment/mean_file.h"
#include "data/augment/preprocessing.h"
#include "tests/data/data_net.h"
#include "tests/data/tiny_images.h"

namespace doppio {
namespace {

using testing::HasSubstr;

std::vector<int> RandomPixels(int count, uint64_t seed) {
  std::vector<int> pixels(static_cast<size_t>(count));
  for (size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<int>(Random(seed, 1).Below(256, 0, i));
  }
  return pixels;
}

std::string Photo(int height, int width, int channels = 3, uint64_t seed = 1) {
  return Png(height, width, channels, RandomPixels(height * width * channels, seed));
}

// Returns a Data layer that reads the image files from a database.
std::string Encoded(const std::vector<std::string>& files, const std::string& transform) {
  static int databases = 0;
  const std::string path = ScratchPath("db" + std::to_string(databases++));
  KeysAndValues records;
  for (const std::string& file : files) {
    records.push_back({std::to_string(records.size()), EncodedDatum(file, 0)});
  }
  WriteLmdb(path, records);
  return "type: 'Data' top: 'd' data_param { backend: LMDB source: '" + path +
         "' batch_size: " + std::to_string(files.size()) + " } transform_param { " + transform +
         " } ";
}

std::string Listed(const std::string& file, const std::string& fields,
                   const std::string& transform) {
  WriteFile(ScratchPath("listed"), file);
  WriteFile(ScratchPath("list.txt"), "listed 0\n");
  return "type: 'ImageData' top: 'd' image_data_param { source: '" + ScratchPath("list.txt") +
         "' root_folder: '" + ScratchPath("") + "' " + fields + " } transform_param { " +
         transform + " } ";
}

Preprocessing RecordOf(const std::string& layer, Phase phase) {
  return MakeTestGraph("layer { name: 'input' " + layer + " }", DataMode::kOpen, phase)
      .preprocessing.value();
}

// Expects the values of `files` by the record to be those of the layer. Returns the record.
Preprocessing ExpectSame(const std::vector<std::string>& files, const std::string& layer) {
  DataNet net(layer, DataMode::kOpen, TEST);
  net->Forward();
  const std::vector<double> values = net.Values("d");
  const Shape shape = net.ShapeOf("d");
  const Preprocessing record = RecordOf(layer, TRAIN);
  EXPECT_EQ(record.ShortDebugString(), RecordOf(layer, TEST).ShortDebugString()) << layer;
  const NetInput input(
      record, {static_cast<int>(shape[1]), static_cast<int>(shape[2]), static_cast<int>(shape[3])});
  for (size_t i = 0; i < files.size(); ++i) {
    const std::vector<float> found = input.Read(files[i]);
    const auto begin = values.begin() + static_cast<int64_t>(i * found.size());
    EXPECT_TRUE(std::equal(found.begin(), found.end(), begin))
        << "image " << i << " of " << layer << " by " << record.ShortDebugString();
  }
  return record;
}

const std::vector<std::string>& Transforms28() {
  static const std::vector<std::string> transforms = {
      "",
      "crop_size: 20",
      "crop_h: 21 crop_w: 24",
      "pad: 4",
      "pad: 4 crop_size: 28",
      "pad: 4 crop_size: 20",
      "pad: 4 crop_size: 32",
      "pad: 3 crop_size: 31",
      "pad: 3 crop_h: 34 crop_w: 21",
      "resize_param { height: 32 width: 40 }",
      "resize_param { height: 32 width: 32 } pad: 4 crop_size: 32",
      "resize_param { height: 32 width: 40 interp_mode: CUBIC } crop_size: 30",
      "resize_param { height: 32 width: 40 interp_mode: AREA } pad: 5 crop_size: 36",
      "resize_param { height: 20 width: 30 resize_mode: FIT_SMALL_SIZE } crop_size: 20",
      "resize_param { height: 20 width: 30 resize_mode: FIT_SMALL_SIZE } pad: 8 crop_size: 40",
      "resize_param { height: 20 width: 30 resize_mode: FIT_LARGE_SIZE_AND_PAD "
      "  pad_value: 9 pad_value: 99 pad_value: 199 }",
      "resize_param { height: 50 width: 30 resize_mode: FIT_LARGE_SIZE_AND_PAD "
      "  pad_mode: MIRRORED interp_mode: NEAREST } crop_size: 28",
      "random_aspect_ratio_param { min_area_ratio: 0.1 } crop_size: 19",
      "random_aspect_ratio_param { resize_param { height: 40 width: 30 interp_mode: CUBIC } } "
      "  crop_size: 24",
      "random_aspect_ratio_param { resize_param { height: 40 width: 30 } } "
      "  resize_param { height: 33 width: 35 interp_mode: AREA } crop_size: 24",
      "random_resize_param { min_size: 30 max_size: 41 } crop_size: 24",
      "img_rand_resize_lower: 30 img_rand_resize_upper: 41 allow_upscale: true crop_size: 24",
      "img_rand_resize_lower: 20 img_rand_resize_upper: 25 rand_resize_ratio_lower: 1 "
      "  rand_resize_ratio_upper: 2 vertical_stretch_upper: 1.5 crop_size: 20",
      "vertical_stretch_upper: 1.5 allow_upscale: true crop_size: 36",
      "horizontal_stretch_upper: 1.5 crop_size: 20",
      "noise_param { decolorize: true gauss_blur: true }",
      "noise_param { jpeg: 40 posterize: true } pad: 4 crop_size: 32",
      "noise_param { inverse: true convert_to_lab: true }",
      "rotation_param { max_degrees: 30 }",
      "shift_param { width: 0.3 } cutout_param { size: 9 } pad: 4 crop_size: 28",
      "distort_param { brightness_prob: 1 brightness_delta: 90 }",
      "rand_augment_param { } random_erasing_param { prob: 1 }",
      "trivial_augment_param { } random_erasing_param { prob: 1 fill: NOISE } pad: 4 crop_size: 28",
      "expand_param { max_expand_ratio: 3 }",
  };
  return transforms;
}

TEST(NetInput, EqualsTheDataLayerForEveryTransform) {
  const std::vector<std::string> files = {Photo(28, 28), Photo(28, 28, 3, 2)};
  for (const std::string& transform : Transforms28()) {
    for (const char* values :
         {"", " scale: 0.0078125 mean_value: 100.3",
          " scale: 0.3 mean_value: [104.01, 117.02, 122.03]", " mean_value: 100 std_value: 57.4",
          " scale: 0.7 std_value: [57.375, 57.12, 58.395]"}) {
      ExpectSame(files, Encoded(files, transform + values));
    }
  }
}

TEST(NetInput, EqualsTheDataLayerForAnImageList) {
  const std::string file = Photo(37, 31);
  for (const char* fields : {"", "new_height: 28 new_width: 28", "is_color: false",
                             "is_color: false new_height: 28 new_width: 40"}) {
    for (const char* transform :
         {"", "crop_size: 25", "pad: 4 crop_size: 28", "pad: 4 crop_size: 36 scale: 0.1",
          "resize_param { height: 28 width: 28 } crop_size: 27",
          "resize_param { height: 50 width: 30 resize_mode: FIT_LARGE_SIZE_AND_PAD }"}) {
      ExpectSame({file}, Listed(file, fields, transform));
    }
  }
  const std::string jpeg = Jpeg({100, 90, 3}, RandomPixels(100 * 90 * 3, 3));
  ExpectSame({jpeg}, Listed(jpeg, "new_height: 20 new_width: 20 scaled_decode: true",
                            "pad: 2 crop_size: 20"));
}

// The fast path of JPEGs included.
TEST(NetInput, TurnsAndScalesAsTheDataLayer) {
  const std::string phone = WithExif(Jpeg({37, 31, 3}, RandomPixels(37 * 31 * 3, 3)), Exif(6));
  const std::string same = WithExif(Jpeg({31, 37, 3}, RandomPixels(37 * 31 * 3, 4)), Exif(1));
  TiffKind kind{37, 31, 3, 16, 8};
  kind.orientation = 8;
  std::vector<int> wide = RandomPixels(37 * 31 * 3, 5);
  for (int& value : wide) value *= 9;
  const std::vector<std::string> files = {phone, same, Tiff(kind, wide)};
  for (const char* transform : {"", "crop_size: 20", "pad: 4 crop_h: 28 crop_w: 33",
                                "resize_param { height: 32 width: 40 } crop_size: 30"}) {
    const std::string fields =
        std::string("exif_rotation: true sixteen_bit_range: 4096 force_color: true ") + transform;
    const Preprocessing record = ExpectSame(files, Encoded(files, fields));
    EXPECT_TRUE(record.exif_rotation());
    EXPECT_EQ(record.sixteen_bit_range(), 4096u);
  }
  for (const std::string& file : files) {
    for (const char* fields :
         {"", "new_height: 28 new_width: 20", "new_height: 9 new_width: 8 scaled_decode: true"}) {
      const std::string transform = "exif_rotation: true sixteen_bit_range: 4096";
      ExpectSame({file}, Listed(file, fields, transform));
    }
  }
  const Preprocessing plain = ExpectSame({same}, Listed(same, "", ""));
  EXPECT_FALSE(plain.has_exif_rotation() || plain.has_sixteen_bit_range());
}

// Images of one size before they are turned have two sizes afterwards.
TEST(NetInput, RecordsTheSizesOfUprightImages) {
  const std::string lies = WithExif(Photo(20, 28), Exif(6)), stands = Photo(28, 20);
  const std::vector<std::string> files = {lies, stands};
  const Preprocessing record = ExpectSame(files, Encoded(files, "exif_rotation: true"));
  EXPECT_EQ(record.resize_height(), 28u);
  EXPECT_EQ(record.resize_width(), 20u);
}

TEST(NetInput, EqualsTheDataLayerForGrayImagesAmongColours) {
  const std::vector<std::string> files = {Photo(28, 28, 1), Photo(28, 28), Photo(28, 28, 1, 4)};
  for (const std::string color : {"force_color: true ", "force_gray: true "}) {
    for (const char* transform : {"", "pad: 4 crop_size: 32", "crop_size: 20 mean_value: 7",
                                  "noise_param { hist_eq: true }"}) {
      ExpectSame(files, Encoded(files, color + transform));
    }
  }
}

TEST(NetInput, EqualsTheDataLayerForImagesOfSeveralSizes) {
  const std::vector<std::string> files = {Photo(33, 40), Photo(37, 36, 3, 2), Photo(33, 40, 3, 3)};
  for (const char* transform :
       {"crop_size: 32", "pad: 4 crop_size: 40", "resize_param { height: 28 width: 30 }",
        "resize_param { height: 28 width: 30 resize_mode: FIT_SMALL_SIZE } crop_size: 28",
        "noise_param { erode: true } crop_size: 32"}) {
    ExpectSame(files, Encoded(files, transform));
  }
}

// Returns a layer whose mean file has the size `height` x `width`, for images of 28 x 28 pixels.
std::string WithMean(const std::string& files, const std::string& transform, int height,
                     int width) {
  MeanImage mean = {{3, height, width}, {}};
  for (const int value : RandomPixels(3 * height * width, 5)) {
    mean.values.push_back(static_cast<float>(value) + 0.123f);
  }
  WriteMeanFile(mean, ScratchPath("mean.binaryproto"));
  return Encoded({files},
                 transform + " scale: 0.017 mean_file: '" + ScratchPath("mean.binaryproto") + "'");
}

TEST(NetInput, SubtractsTheMeanImageOfTheDataLayer) {
  const std::string file = Photo(28, 28);
  ExpectSame({file}, WithMean(file, "", 28, 28));
  ExpectSame({file}, WithMean(file, "crop_h: 20 crop_w: 23", 28, 28));
  ExpectSame({file}, WithMean(file, "pad: 4 crop_size: 28", 36, 36));
  ExpectSame({file}, WithMean(file, "pad: 4", 36, 36));
  ExpectSame({file}, WithMean(file, "resize_param { height: 32 width: 30 } crop_size: 29", 32, 30));
  ExpectSame(
      {file},
      WithMean(file, "random_resize_param { min_size: 20 max_size: 40 } crop_size: 19", 24, 26));
}

// Planes keep their order of channels, and force_gray and force_color have no effect on them.
TEST(NetInput, EqualsTheDataLayerForPlanes) {
  const std::string path = ScratchPath("planes");
  const std::vector<int> pixels = RandomPixels(3 * 32 * 32, 6);
  std::vector<int> planes;
  for (size_t c = 0; c < 3; ++c) {
    for (size_t i = c; i < pixels.size(); i += 3) planes.push_back(pixels[i]);
  }
  WriteLmdb(path, {{"00000", RawDatum(3, 32, 32, planes, 0)}});  // as convert_cifar_data: red first
  for (const char* transform :
       {"", "force_gray: true", "force_color: true pad: 4 crop_size: 32",
        "resize_param { height: 40 width: 36 resize_mode: FIT_LARGE_SIZE_AND_PAD pad_value: 1 "
        "  pad_value: 2 pad_value: 3 }",
        "noise_param { hist_eq: true }", "mean_value: [1, 2, 3] crop_size: 28"}) {
    ExpectSame({Png(32, 32, 3, pixels)},
               "type: 'Data' top: 'd' data_param { backend: LMDB source: '" + path +
                   "' batch_size: 1 } transform_param { " + transform + " } ");
  }
}

Preprocessing ParseRecord(const std::string& text) { return Parse<Preprocessing>(text); }

TEST(NetInput, ResizesImagesToTheInputWithoutARecord) {
  EXPECT_EQ(NetInput({}, {1, 1, 2}).Read(Png(2, 4, 1, {9, 9, 5, 5, 9, 9, 5, 5})),
            (std::vector<float>{9, 5}));
}

TEST(NetInput, ResizesImagesToAnotherInputThanTheRecords) {
  const std::string file = Png(1, 2, 1, {9, 5});
  EXPECT_EQ(NetInput(ParseRecord("resize_height: 9 resize_width: 9 height: 7 width: 7 scale: 2"),
                     {1, 1, 2})
                .Read(file),
            (std::vector<float>{18, 10}));
}

TEST(NetInput, MakesGrayForOneChannel) {
  EXPECT_EQ(NetInput({}, {1, 1, 1}).Read(Png(1, 1, 3, {7, 7, 7})), std::vector<float>{7});
}

TEST(NetInput, PutsRedFirstIfTheRecordSaysSo) {
  const std::string file = Png(1, 2, 3, {10, 20, 30, 40, 50, 60});
  EXPECT_EQ(NetInput(ParseRecord("mean: [1, 2, 3] scale: 0.5"), {3, 1, 2}).Read(file),
            (std::vector<float>{14.5f, 29.5f, 9, 24, 3.5f, 18.5f}));
  EXPECT_EQ(NetInput(ParseRecord("channels: RGB mean: [1, 2, 3]"), {3, 1, 2}).Read(file),
            (std::vector<float>{9, 39, 18, 48, 27, 57}));
}

TEST(NetInput, CutsTheMiddleOutOfTheResizedImage) {
  EXPECT_EQ(NetInput(ParseRecord("resize_height: 3 resize_width: 3"), {1, 1, 1})
                .Read(Png(3, 3, 1, {1, 2, 3, 4, 5, 6, 7, 8, 9})),
            std::vector<float>{5});
}

TEST(NetInput, LeavesTheEdgesOutWithCenterCrop) {
  const std::string wide = Png(1, 3, 1, {9, 50, 200}), tall = Png(3, 1, 1, {9, 50, 200});
  for (const char* record : {"", "keep_size: true height: 1 width: 1"}) {
    EXPECT_EQ(NetInput(ParseRecord(record), {1, 1, 1}, true).Read(wide), std::vector<float>{50});
    EXPECT_EQ(NetInput(ParseRecord(record), {1, 1, 1}, true).Read(tall), std::vector<float>{50});
  }
}

TEST(NetInput, RefusesImagesThatAreSmallerThanTheCrop) {
  const NetInput input(ParseRecord("keep_size: true height: 3 width: 2"), {1, 3, 2});
  EXPECT_THAT(MessageOf([&] {
                input.Read(Png(2, 3, 1, {1, 2, 3, 4, 5, 6}));
              }),
              HasSubstr("it is 2x3, less than the net's input of 3x2"));
}

TEST(NetInput, RefusesADamagedRecord) {
  EXPECT_THAT(MessageOf([] {
                NetInput(ParseRecord("keep_size: true height: 3 width: 2 changes { pad: 99999 }"),
                         {1, 3, 2});
              }),
              HasSubstr("pad must be at most 16384"));
}

}  // namespace
}  // namespace doppio
