#include "data/decode/label_image.h"

#include "tests/data/tiny_data.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

enum PngColor { kGray = 0, kColour = 2, kPalette = 3, kGrayAlpha = 4, kColourAlpha = 6 };

std::vector<uint8_t> LabelsOf(const std::string& file) {
  const Image image = DecodeLabels(reinterpret_cast<const uint8_t*>(file.data()), file.size());
  EXPECT_EQ(image.shape.channels, 1);
  return image.bytes;
}

std::string LabelMistake(const std::string& file) {
  return MessageOf([&] { LabelsOf(file); });
}

std::string Bytes(std::initializer_list<int> bytes) {
  std::string text;
  for (int byte : bytes) text += static_cast<char>(byte);
  return text;
}

TEST(DecodeLabels, TakesTheIndicesOfPngsWithAPalette) {
  EXPECT_THAT(LabelsOf(AnyPng(4, {8, kPalette}, {Bytes({0, 1, 15, 255})})),
              ElementsAre(0, 1, 15, 255));
  EXPECT_THAT(LabelsOf(AnyPng(3, {4, kPalette}, {Bytes({0x1f, 0x20})})), ElementsAre(1, 15, 2));
  EXPECT_THAT(LabelsOf(AnyPng(3, {2, kPalette}, {Bytes({0x6c})})), ElementsAre(1, 2, 3));
  EXPECT_THAT(LabelsOf(AnyPng(3, {1, kPalette}, {Bytes({0x40})})), ElementsAre(0, 1, 0));
}

TEST(DecodeLabels, TakesGrayValuesOfAnyNumberOfBitsAsStored) {
  EXPECT_THAT(LabelsOf(AnyPng(3, {1, kGray}, {Bytes({0x40})})), ElementsAre(0, 1, 0));
  EXPECT_THAT(LabelsOf(AnyPng(3, {2, kGray}, {Bytes({0x6c})})), ElementsAre(1, 2, 3));
  EXPECT_THAT(LabelsOf(AnyPng(2, {4, kGray}, {Bytes({0x2f})})), ElementsAre(2, 15));
  EXPECT_THAT(LabelsOf(Png(1, 4, 1, {0, 1, 15, 255})), ElementsAre(0, 1, 15, 255));
  EXPECT_THAT(LabelsOf(AnyPng(4, {16, kGray}, {Bytes({0, 0, 0, 1, 0, 15, 0, 255})})),
              ElementsAre(0, 1, 15, 255));
}

TEST(DecodeLabels, DropsAlphaAndTakesColoursThatAreGray) {
  EXPECT_THAT(LabelsOf(AnyPng(2, {8, kGrayAlpha}, {Bytes({7, 0, 9, 255})})), ElementsAre(7, 9));
  EXPECT_THAT(LabelsOf(AnyPng(2, {16, kGrayAlpha}, {Bytes({0, 7, 1, 2, 0, 9, 3, 4})})),
              ElementsAre(7, 9));
  EXPECT_THAT(LabelsOf(Png(1, 2, 3, {7, 7, 7, 255, 255, 255})), ElementsAre(7, 255));
  EXPECT_THAT(LabelsOf(AnyPng(1, {16, kColour}, {Bytes({0, 4, 0, 4, 0, 4})})), ElementsAre(4));
  EXPECT_THAT(LabelsOf(AnyPng(1, {8, kColourAlpha}, {Bytes({4, 4, 4, 9})})), ElementsAre(4));
}

TEST(DecodeLabels, ReadsInterlacedFiles) {
  const std::vector<std::string> rows = {Bytes({1, 2, 3}), Bytes({4, 5, 6})};
  for (const int color : {kGray, kPalette})
    EXPECT_THAT(LabelsOf(AnyPng(3, {8, color, true}, rows)), ElementsAre(1, 2, 3, 4, 5, 6));
  const std::string wide = AnyPng(2, {16, kGray, true}, {Bytes({0, 1, 0, 2}), Bytes({0, 3, 0, 4})});
  EXPECT_THAT(LabelsOf(wide), ElementsAre(1, 2, 3, 4));
}

TEST(DecodeLabels, RefusesColours) {
  EXPECT_EQ(LabelMistake(Png(1, 2, 3, {7, 7, 7, 128, 0, 64})),
            "4: it has colours, such as red 128, green 0, blue 64 at x = 1, y = 0, but a label is "
            "one number; store class numbers in a PNG with a palette or in gray");
}

TEST(DecodeLabels, RefusesValuesAbove255) {
  const std::string png = AnyPng(2, {16, kGray}, {Bytes({0, 1, 0, 2}), Bytes({0, 3, 1, 44})});
  EXPECT_EQ(LabelMistake(png), "4: its value at x = 1, y = 1 is 300, but labels are at most 255");
  EXPECT_THAT(LabelMistake("P5 2 1 65535 " + Bytes({0, 1, 1, 44})),
              HasSubstr("its value at x = 1, y = 0 is 300"));
}

TEST(DecodeLabels, ReadsPnmsWithoutScaling) {
  EXPECT_THAT(LabelsOf("P2 3 1 15 0 1 15"), ElementsAre(0, 1, 15));
  EXPECT_THAT(LabelsOf("P2 3 1 300 0 1 255"), ElementsAre(0, 1, 255));
  EXPECT_THAT(LabelsOf("P5 3 1 255 " + Bytes({0, 15, 255})), ElementsAre(0, 15, 255));
  EXPECT_THAT(LabelsOf("P5 2 1 65535 " + Bytes({0, 7, 0, 255})), ElementsAre(7, 255));
  EXPECT_THAT(LabelsOf("P1 3 1 0 1 0"), ElementsAre(0, 1, 0));
  EXPECT_THAT(LabelsOf("P4 3 1 " + Bytes({0x40})), ElementsAre(0, 1, 0));
  EXPECT_THAT(LabelsOf("P3 1 1 9 4 4 4"), ElementsAre(4));
}

// Returns a BMP of 2 rows whose bytes, each padded to 4, are `rows`, the lower row first. The
// palette has the gray values 0, 100, 200, ...
std::string Bmp(int width, int bits, const std::string& rows) {
  const auto number = [](int value) {
    std::string bytes;
    for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> (8 * i));
    return bytes;
  };
  std::string palette;
  for (int i = 0; bits <= 8 && i < 1 << bits; ++i)
    palette += std::string(3, static_cast<char>(100 * i)) + '\0';
  const int at = 54 + static_cast<int>(palette.size());
  std::string file = "BM" + number(at + static_cast<int>(rows.size())) + number(0) + number(at);
  file += number(40) + number(width) + number(2) + Bytes({1, 0, bits, 0});
  return file + std::string(24, '\0') + palette + rows;
}

TEST(DecodeLabels, TakesTheIndicesOfBmps) {
  EXPECT_THAT(LabelsOf(Bmp(2, 8, Bytes({3, 4, 0, 0, 1, 255, 0, 0}))), ElementsAre(1, 255, 3, 4));
  EXPECT_THAT(LabelsOf(Bmp(2, 1, Bytes({0x80, 0, 0, 0, 0x40, 0, 0, 0}))), ElementsAre(0, 1, 1, 0));
  const std::string gray = Bmp(1, 24, Bytes({3, 3, 3, 0, 5, 5, 5, 0}));
  EXPECT_THAT(LabelsOf(gray), ElementsAre(5, 3));
  EXPECT_THAT(LabelMistake(Bmp(1, 24, Bytes({3, 3, 3, 0, 5, 5, 6, 0}))), HasSubstr("has colours"));
  EXPECT_THAT(LabelMistake(Bmp(2, 16, std::string(8, '\0'))), HasSubstr("colours of 5 bits"));
}

}  // namespace
}  // namespace doppio
