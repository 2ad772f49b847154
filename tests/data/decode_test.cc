#include "data/decode.h"

#include "tests/data/tiny_data.h"

namespace doppio {
namespace {

using Color = DecodeOptions::Color;
using testing::ElementsAre;
using testing::HasSubstr;

Image DecodeFile(const std::string& file, DecodeOptions options = {}) {
  Image image;
  Decode(reinterpret_cast<const uint8_t*>(file.data()), file.size(), options, &image);
  return image;
}

TEST(Decode, GivesPngColoursAsBlueGreenRed) {
  const Image image = DecodeFile(Png(1, 2, 3, {10, 20, 30, 40, 50, 60}));
  EXPECT_EQ(image.shape, (ImageShape{3, 1, 2}));
  EXPECT_THAT(image.bytes, ElementsAre(30, 20, 10, 60, 50, 40));
}

TEST(Decode, KeepsGrayAsStoredOrSpreadsIt) {
  const std::string file = Png(2, 1, 1, {7, 200});
  EXPECT_THAT(DecodeFile(file).bytes, ElementsAre(7, 200));
  const Image color = DecodeFile(file, {Color::kColor});
  EXPECT_EQ(color.shape, (ImageShape{3, 2, 1}));
  EXPECT_THAT(color.bytes, ElementsAre(7, 7, 7, 200, 200, 200));
}

TEST(Decode, DropsAlpha) {
  const Image image = DecodeFile(Png(1, 1, 4, {10, 20, 30, 128}));
  EXPECT_THAT(image.bytes, ElementsAre(30, 20, 10));
}

TEST(Decode, WeighsColoursForGray) {
  // 0.299 * 100 + 0.587 * 50 + 0.114 * 200 = 82.05
  const Image image = DecodeFile(Png(1, 1, 3, {100, 50, 200}), {Color::kGray});
  EXPECT_EQ(image.shape.channels, 1);
  EXPECT_NEAR(image.bytes[0], 82, 1);
}

TEST(Decode, ReadsJpegInColourAndGray) {
  std::vector<int> pixels;
  for (int i = 0; i < 16 * 16; ++i) pixels.insert(pixels.end(), {200, 100, 50});
  const std::string file = Jpeg(16, 16, 3, pixels);
  const Image color = DecodeFile(file);
  EXPECT_EQ(color.shape, (ImageShape{3, 16, 16}));
  EXPECT_NEAR(color.bytes[0], 50, 2);
  EXPECT_NEAR(color.bytes[1], 100, 2);
  EXPECT_NEAR(color.bytes[2], 200, 2);
  const Image gray = DecodeFile(file, {Color::kGray});
  EXPECT_EQ(gray.shape, (ImageShape{1, 16, 16}));
  EXPECT_NEAR(gray.bytes[0], 124, 2);  // 0.299 * 200 + 0.587 * 100 + 0.114 * 50
}

TEST(Decode, ReadsGrayAndFourInkJpegs) {
  const std::string gray = Jpeg(8, 8, 1, std::vector<int>(64, 90));
  EXPECT_EQ(DecodeFile(gray).shape, (ImageShape{1, 8, 8}));
  EXPECT_EQ(DecodeFile(gray, {Color::kColor}).shape, (ImageShape{3, 8, 8}));
  // As photo editors write them: with Adobe's marker, inks inverted. Light is ink * black / 255.
  std::vector<int> inks;
  for (int i = 0; i < 64; ++i) inks.insert(inks.end(), {255, 128, 0, 204});
  const Image image = DecodeFile(Jpeg(8, 8, 4, inks));
  ASSERT_EQ(image.shape, (ImageShape{3, 8, 8}));
  for (size_t i = 0; i < 64; ++i) {
    EXPECT_NEAR(image.bytes[3 * i], 0, 2);
    EXPECT_NEAR(image.bytes[3 * i + 1], 102, 2);
    EXPECT_NEAR(image.bytes[3 * i + 2], 204, 2);
  }
}

// cv::resize samples at (i + 0.5) * scale - 0.5: halving averages the two in the middle of each
// four.
TEST(Decode, ResizesBilinearly) {
  const Image half = DecodeFile(Png(1, 4, 1, {0, 100, 200, 40}), {Color::kAsStored, 1, 2});
  EXPECT_EQ(half.shape, (ImageShape{1, 1, 2}));
  EXPECT_THAT(half.bytes, ElementsAre(50, 120));
  // A third of the size takes the pixel in the middle: no averaging over the area.
  EXPECT_THAT(DecodeFile(Png(1, 3, 1, {0, 90, 255}), {Color::kAsStored, 1, 1}).bytes,
              ElementsAre(90));
  const Image twice = DecodeFile(Png(1, 2, 1, {0, 100}), {Color::kAsStored, 1, 4});
  EXPECT_THAT(twice.bytes, ElementsAre(0, 25, 75, 100));
}

TEST(Decode, SaysThatAnImageIsNeitherJpegNorPng) {
  EXPECT_EQ(MessageOf([] { DecodeFile("GIF89a..."); }), "4: it is neither a JPEG nor a PNG image");
  EXPECT_EQ(MessageOf([] { DecodeFile(""); }), "4: the image is empty");
}

TEST(Decode, SaysThatAnImageIsCutShort) {
  const std::string png = Png(20, 20, 1, std::vector<int>(400, 3));
  EXPECT_EQ(MessageOf([&] { DecodeFile(png.substr(0, png.size() - 20)); }),
            "4: corrupt PNG image: it ends too early");
  const std::string jpeg = Jpeg(64, 64, 1, std::vector<int>(64 * 64, 3));
  EXPECT_EQ(MessageOf([&] { DecodeFile(jpeg.substr(0, jpeg.size() - 20)); }),
            "4: corrupt JPEG image: it ends too early");
}

TEST(Decode, SaysWhatTheLibraryFoundWrong) {
  std::string png = Png(20, 20, 1, std::vector<int>(400, 3));
  png[20] ^= 1;  // in the header, which has a checksum
  EXPECT_EQ(MessageOf([&] { DecodeFile(png); }), "4: corrupt PNG image: IHDR: CRC error");
  EXPECT_THAT(MessageOf([] { DecodeFile(std::string("\xff\xd8\xff\xda\x01\x02\x03\x04", 8)); }),
              HasSubstr("4: corrupt JPEG image: "));
}

TEST(Decode, ReusesAnImageOfAnotherSize) {
  Image image;
  const std::string large = Png(3, 3, 3, std::vector<int>(27, 9)), small = Png(1, 1, 1, {5});
  for (const std::string& file : {large, small}) {
    Decode(reinterpret_cast<const uint8_t*>(file.data()), file.size(), {}, &image);
  }
  EXPECT_EQ(image.shape, (ImageShape{1, 1, 1}));
  EXPECT_EQ(image.bytes[0], 5);
}

}  // namespace
}  // namespace doppio
