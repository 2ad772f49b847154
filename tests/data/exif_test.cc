#include "data/decode/exif.h"

#include <gmock/gmock.h>

#include "data/decode/decoding.h"
#include "data/source/datum.h"
#include "data/source/open_source.h"
#include "tests/data/tiny_data.h"
#include "tests/data/tiny_images.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

Image DecodeUpright(const std::string& file, bool upright = true) {
  DecodeOptions options;
  options.upright = upright;
  Image image;
  Decode(reinterpret_cast<const uint8_t*>(file.data()), file.size(), options, &image);
  return image;
}

int OrientationIn(const std::string& file) {
  return OrientationOf(reinterpret_cast<const uint8_t*>(file.data()), file.size());
}

// The upright image is
//   1 2 3
//   4 5 6
// and these are the pixels that a camera stores: 6 is the side of a phone that is held upright.
struct Stored {
  int orientation, height, width;
  std::vector<int> pixels;
};
const std::vector<Stored>& AllOrientations() {
  static const std::vector<Stored> all = {
      {1, 2, 3, {1, 2, 3, 4, 5, 6}}, {2, 2, 3, {3, 2, 1, 6, 5, 4}}, {3, 2, 3, {6, 5, 4, 3, 2, 1}},
      {4, 2, 3, {4, 5, 6, 1, 2, 3}}, {5, 3, 2, {1, 4, 2, 5, 3, 6}}, {6, 3, 2, {3, 6, 2, 5, 1, 4}},
      {7, 3, 2, {6, 3, 5, 2, 4, 1}}, {8, 3, 2, {4, 1, 5, 2, 6, 3}}};
  return all;
}

TEST(Exif, TurnsAllOrientationsUpright) {
  for (const Stored& stored : AllOrientations()) {
    const std::string png =
        WithExif(Png(stored.height, stored.width, 1, stored.pixels), Exif(stored.orientation));
    TiffKind kind{stored.height, stored.width, 1};
    kind.orientation = stored.orientation;
    std::vector<int> colours;
    for (const int pixel : stored.pixels) colours.insert(colours.end(), 3, pixel);
    const std::string webp = WithExif(Webp({stored.height, stored.width}, colours),
                                      std::string("Exif\0\0", 6) + Exif(stored.orientation));
    std::string tiff = Tiff(kind, stored.pixels);
    kind.big = true;
    for (const std::string& file : {png, tiff, Tiff(kind, stored.pixels)}) {
      EXPECT_EQ(OrientationIn(file), stored.orientation);
      EXPECT_EQ(DecodeUpright(file).shape, (ImageShape{1, 2, 3}));
      EXPECT_THAT(DecodeUpright(file).bytes, ElementsAre(1, 2, 3, 4, 5, 6));
      EXPECT_THAT(DecodeUpright(file, false).bytes, ElementsAreArray(stored.pixels));
    }
    EXPECT_THAT(DecodeUpright(webp).bytes,
                ElementsAre(1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6));
    EXPECT_EQ(DecodeUpright(webp, false).shape, (ImageShape{3, stored.height, stored.width}));
  }
}

TEST(Exif, KeepsTheFactsAboutTheValues) {
  TiffKind kind{1, 2, 1, 16};
  kind.orientation = 2;
  const Image image = DecodeUpright(Tiff(kind, {0x100, 0x200}));
  EXPECT_THAT(image.bytes, ElementsAre(2, 1));
  EXPECT_TRUE(image.narrowed);
  EXPECT_EQ(image.brightest, 0x200);
}

TEST(Exif, TurnsJpegsBeforeTheyAreScaledAndResized) {
  std::vector<int> pixels(size_t{64} * 32, 10);  // the left half of the stored image is light
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = i % 64 < 32 ? 200 : 10;
  const std::string file = WithExif(Jpeg({32, 64, 1}, pixels), Exif(6));
  for (const bool scaled : {false, true}) {
    DecodeOptions options{DecodeOptions::Color::kAsStored, 16, 8, scaled};
    options.upright = true;
    Image image;
    Decode(reinterpret_cast<const uint8_t*>(file.data()), file.size(), options, &image);
    EXPECT_EQ(image.shape, (ImageShape{1, 16, 8}));
    EXPECT_NEAR(image.bytes.front(), 200, 2);
    EXPECT_NEAR(image.bytes.back(), 10, 2);
  }
  EXPECT_EQ(DecodeUpright(file).shape, (ImageShape{1, 64, 32}));
}

TEST(Exif, IgnoresDamagedData) {
  const std::string jpeg = Jpeg({8, 16, 1}, std::vector<int>(128, 90));
  EXPECT_EQ(OrientationIn(WithExif(jpeg, Exif(9))), 1);
  EXPECT_EQ(OrientationIn(WithExif(jpeg, "MM")), 1);
  std::string far = Exif(6);
  far[4] = '\x7f';
  EXPECT_EQ(OrientationIn(WithExif(jpeg, far)), 1);
  const std::string whole = WithExif(jpeg, Exif(6));
  EXPECT_EQ(OrientationIn(whole), 6);
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const int orientation = OrientationIn(whole.substr(0, bytes));
    EXPECT_TRUE(orientation == 1 || orientation == 6) << bytes;
  }
  EXPECT_EQ(OrientationIn(""), 1);
}

TEST(Exif, TurnsBoxesAsPixels) {
  // The pixel 1 of the upright image is in its left upper corner.
  for (const Stored& stored : AllOrientations()) {
    const auto at = static_cast<int>(std::find(stored.pixels.begin(), stored.pixels.end(), 1) -
                                     stored.pixels.begin());
    const auto x = static_cast<float>(at % stored.width), y = static_cast<float>(at / stored.width);
    const auto width = static_cast<float>(stored.width), height = static_cast<float>(stored.height);
    const Box box = TurnedUpright(stored.orientation,
                                  {x / width, y / height, (x + 1) / width, (y + 1) / height});
    EXPECT_NEAR(box.xmin, 0, 1e-6) << stored.orientation;
    EXPECT_NEAR(box.ymin, 0, 1e-6);
    EXPECT_NEAR(box.xmax, 1.0 / 3, 1e-6);
    EXPECT_NEAR(box.ymax, 0.5, 1e-6);
  }
}

TEST(WithDecoding, SetsTheOptionsOfRecords) {
  const std::string path = ScratchPath("db");
  WriteLmdb(path, {{"a", EncodedDatum(Png(1, 1, 1, {7}), 3)}});
  const auto open = [&] {
    return OpenSource(Parse<DataParameter>("backend: LMDB source: '" + path + "'"), TRAIN);
  };
  DecodeOptions options;
  options.upright = true;
  options.sixteen_bit_range = 1024;
  Record record;
  WithDecoding(open(), options)->Read(0, &record);
  EXPECT_TRUE(record.decode.upright);
  EXPECT_EQ(record.decode.sixteen_bit_range, 1024);
  EXPECT_THAT(record.labels, ElementsAre(3));
  WithDecoding(open(), {})->ReadSample(0, 5, &record);
  EXPECT_FALSE(record.decode.upright);
  EXPECT_EQ(record.decode.sixteen_bit_range, kSixteenBits);
}

TEST(WithDecoding, ChecksTheRange) {
  for (const char* range : {"255", "65537"}) {
    const auto transform =
        Parse<TransformationParameter>(std::string("sixteen_bit_range: ") + range);
    EXPECT_EQ(MessageOf([&] { CheckDecoding(transform); }),
              std::string("3: transform_param: sixteen_bit_range is ") + range +
                  "; it must be from 256 to 65536");
  }
}

TEST(ReadDatum, NamesImagesOfAllFormatsWithoutEncoded) {
  for (const auto& [format, file] :
       {std::pair<std::string, std::string>{"WebP", Webp({1, 1}, {1, 2, 3})},
        {"TIFF", Tiff({1, 1}, {1, 2, 3})},
        {"GIF", Gif({1, 1}, {1})}}) {
    Datum datum;
    datum.set_data(file);
    const std::string value = datum.SerializeAsString();
    Record record;
    EXPECT_EQ(MessageOf([&] { ReadDatum(value.data(), value.size(), &record); }),
              "4: its data is a " + format +
                  " file, but its field encoded is not set; write the "
                  "database with encoded: true in such records");
    const std::string encoded = EncodedDatum(file, 1);
    ReadDatum(encoded.data(), encoded.size(), &record);
    Image image;
    Decode(record.encoded, record.encoded_bytes, record.decode, &image);
    EXPECT_EQ(image.shape.height, 1);
  }
}

}  // namespace
}  // namespace doppio
