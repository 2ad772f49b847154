// Tests BMP and PNM files. The expected pixels are those of OpenCV 4.6's imread.
#include "data/decode/decode.h"
#include "tests/data/tiny_data.h"

namespace doppio {
namespace {

using Color = DecodeOptions::Color;
using testing::ElementsAre;
using testing::HasSubstr;

Image Decoded(const std::string& file, Color color = Color::kAsStored) {
  Image image;
  Decode(reinterpret_cast<const uint8_t*>(file.data()), file.size(), {color}, &image);
  return image;
}

std::string Bytes(const std::vector<int>& values) { return {values.begin(), values.end()}; }

// Returns `value` as little-endian bytes.
std::string Little(int bytes, int64_t value) {
  std::string text;
  for (int i = 0; i < bytes; ++i, value >>= 8) text += static_cast<char>(value);
  return text;
}

struct BmpKind {
  int width, height, bits, packing;
};

// Returns a BMP file with a header of Windows 3. `before_pixels` holds masks or a palette.
std::string Bmp(BmpKind kind, const std::vector<int>& before_pixels,
                const std::vector<int>& pixels) {
  const auto at = static_cast<int64_t>(54 + before_pixels.size());
  const int64_t colors = kind.bits <= 8 ? static_cast<int64_t>(before_pixels.size() / 4) : 0;
  return "BM" + Little(8, 0) + Little(4, at) + Little(4, 40) + Little(4, kind.width) +
         Little(4, kind.height) + Little(2, 1) + Little(2, kind.bits) + Little(4, kind.packing) +
         Little(12, 0) + Little(4, colors) + Little(4, 0) + Bytes(before_pixels) + Bytes(pixels);
}

const std::vector<int> kPalette = {1, 2, 3, 0, 10, 20, 30, 0};  // blue, green, red, unused

TEST(DecodeBmp, ReadsColourFromTheLastRowOrTheFirst) {
  const std::vector<int> rows = {1, 2, 3, 0, 4, 5, 6, 0};  // padded to four bytes
  EXPECT_THAT(Decoded(Bmp({1, 2, 24, 0}, {}, rows)).bytes, ElementsAre(4, 5, 6, 1, 2, 3));
  const Image image = Decoded(Bmp({1, -2, 24, 0}, {}, rows));
  EXPECT_EQ(image.shape, (ImageShape{3, 2, 1}));
  EXPECT_THAT(image.bytes, ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(DecodeBmp, DropsAlphaAndTakesChannelsByTheirMasks) {
  EXPECT_THAT(Decoded(Bmp({1, 1, 32, 0}, {}, {1, 2, 3, 99})).bytes, ElementsAre(1, 2, 3));
  const std::vector<int> red_last = {255, 0, 0, 0, 0, 255, 0, 0, 0, 0, 255, 0};
  EXPECT_THAT(Decoded(Bmp({1, 1, 32, 3}, red_last, {1, 2, 3, 99})).bytes, ElementsAre(3, 2, 1));
}

TEST(DecodeBmp, PutsFewBitsIntoTheUpperOnes) {
  // Blue 1, green 2, red 31 with 5 bits each; then 1, 33, 2 with 5, 6 and 5 bits.
  EXPECT_THAT(Decoded(Bmp({1, 1, 16, 0}, {}, {0x41, 0x7c, 0, 0})).bytes, ElementsAre(8, 16, 248));
  const std::vector<int> masks = {0, 0xf8, 0, 0, 0xe0, 7, 0, 0, 0x1f, 0, 0, 0};
  EXPECT_THAT(Decoded(Bmp({1, 1, 16, 3}, masks, {0x21, 0x14, 0, 0})).bytes,
              ElementsAre(8, 132, 16));
}

TEST(DecodeBmp, LooksUpPalettes) {
  EXPECT_THAT(Decoded(Bmp({3, 1, 1, 0}, kPalette, {0x40, 0, 0, 0})).bytes,
              ElementsAre(1, 2, 3, 10, 20, 30, 1, 2, 3));
  EXPECT_THAT(Decoded(Bmp({3, 1, 4, 0}, kPalette, {0x10, 0x10, 0, 0})).bytes,
              ElementsAre(10, 20, 30, 1, 2, 3, 10, 20, 30));
  const std::string bytes = Bmp({2, 1, 8, 0}, kPalette, {1, 0, 0, 0});
  EXPECT_THAT(Decoded(bytes).bytes, ElementsAre(10, 20, 30, 1, 2, 3));
  // 0.114 * 10 + 0.587 * 20 + 0.299 * 30 = 21.85; 2.19
  EXPECT_THAT(Decoded(bytes, Color::kGray).bytes, ElementsAre(22, 2));
}

TEST(DecodeBmp, IsGrayAsStoredWhereItsPaletteIs) {
  const std::string file = Bmp({2, 1, 8, 0}, {5, 5, 5, 0, 77, 77, 77, 0}, {1, 0, 0, 0});
  EXPECT_EQ(Decoded(file).shape, (ImageShape{1, 1, 2}));
  EXPECT_THAT(Decoded(file).bytes, ElementsAre(77, 5));
  EXPECT_THAT(Decoded(file, Color::kColor).bytes, ElementsAre(77, 77, 77, 5, 5, 5));
}

TEST(DecodeBmp, UnpacksRuns) {
  const std::vector<int> gray = {5, 5, 5, 0, 77, 77, 77, 0, 99, 99, 99, 0};
  // A run of two pixels of colour 1, a run of one of colour 2, end of row; three literal pixels,
  // padded; end of image.
  const std::string bytes = Bmp({3, 2, 8, 1}, gray, {2, 1, 1, 2, 0, 0, 0, 3, 2, 1, 0, 0, 0, 1});
  EXPECT_THAT(Decoded(bytes).bytes, ElementsAre(99, 77, 5, 77, 77, 99));
  // A run with alternating half bytes; a step of 1 to the right and 1 up. Skipped pixels get colour
  // 0.
  const std::string halves = Bmp({3, 2, 4, 2}, gray, {2, 0x12, 0, 2, 0, 1, 1, 0x10, 0, 1});
  EXPECT_THAT(Decoded(halves).bytes, ElementsAre(5, 5, 77, 77, 99, 5));
}

TEST(DecodeBmp, DropsRunsThatLeaveTheImage) {
  const std::vector<int> gray = {5, 5, 5, 0, 77, 77, 77, 0, 99, 99, 99, 0};
  // A run of 200 pixels of colour 1; five literal pixels, padded; a run of one in a third row,
  // which the image does not have.
  const std::string bytes =
      Bmp({3, 2, 8, 1}, gray, {200, 1, 0, 0, 0, 5, 2, 2, 2, 1, 1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 0, 1});
  EXPECT_THAT(Decoded(bytes).bytes, ElementsAre(99, 99, 99, 77, 77, 77));
  // Runs of more than 2^31 pixels in one row.
  std::string long_row = Bmp({1, 1, 8, 1}, gray, {});
  for (int64_t pixels = 0; pixels <= int64_t{1} << 31; pixels += 255) long_row += "\xff\x01";
  long_row += Bytes({0, 1});
  EXPECT_THAT(Decoded(long_row).bytes, ElementsAre(77));
}

TEST(DecodeBmp, ReadsOs2Headers) {
  const std::string file = "BM" + Little(8, 0) + Little(4, 32) + Little(4, 12) + Little(2, 2) +
                           Little(2, 1) + Little(2, 1) + Little(2, 1) +
                           Bytes({1, 2, 3, 10, 20, 30, 0x40, 0, 0, 0});
  EXPECT_THAT(Decoded(file).bytes, ElementsAre(1, 2, 3, 10, 20, 30));
}

TEST(DecodeBmp, SaysWhatIsWrong) {
  const std::string whole = Bmp({2, 2, 24, 0}, {}, {1, 2, 3, 4, 5, 6, 0, 0, 1, 2, 3, 4, 5, 6});
  EXPECT_EQ(Decoded(whole).shape, (ImageShape{3, 2, 2}));  // the last row is not padded
  const char* short_file = "4: corrupt BMP image: it ends too early";
  EXPECT_EQ(MessageOf([&] { Decoded(whole.substr(0, whole.size() - 1)); }), short_file);
  EXPECT_EQ(MessageOf([&] { Decoded(whole.substr(0, 20)); }), short_file);
  EXPECT_EQ(MessageOf([] { Decoded(Bmp({2, 1, 8, 1}, kPalette, {2, 1})); }), short_file);
  // The check must come before memory is allocated.
  EXPECT_EQ(MessageOf([] { Decoded(Bmp({15000, 15000, 24, 0}, {}, {1, 2})); }), short_file);
  EXPECT_EQ(MessageOf([] {
              Decoded(Bmp({30000, 30000, 8, 1}, kPalette, {0, 1}));
            }),
            "4: it is 30000x30000, more than the limit of 268435456 pixels; --max_pixels=N raises "
            "it");
  EXPECT_EQ(MessageOf([] {
              Decoded(Bmp({0, 1, 24, 0}, {}, {}));
            }),
            "4: corrupt BMP image: its size is 0x1");
  EXPECT_EQ(MessageOf([] {
              Decoded(Bmp({1, 1, 24, 5}, {}, {1, 2, 3, 0}));
            }),
            "4: a BMP image of 24 bits and compression 5 cannot be read; convert it to PNG");
}

TEST(DecodePnm, ReadsBytesOfColourAndGray) {
  const std::string color = "P6\n# a note\n2 1\n255\n" + Bytes({1, 2, 3, 100, 50, 200});
  EXPECT_THAT(Decoded(color).bytes, ElementsAre(3, 2, 1, 200, 50, 100));
  EXPECT_THAT(Decoded(color, Color::kGray).bytes, ElementsAre(2, 82));
  const std::string gray = "P5 2 1 100 " + Bytes({7, 200});
  EXPECT_THAT(Decoded(gray).bytes, ElementsAre(7, 200));
  EXPECT_THAT(Decoded(gray, Color::kColor).bytes, ElementsAre(7, 7, 7, 200, 200, 200));
}

TEST(DecodePnm, CutsSixteenBitsToTheUpperEight) {
  EXPECT_THAT(Decoded("P5 2 1 65535\n" + Bytes({0x12, 0xff, 0x80, 0})).bytes,
              ElementsAre(0x12, 0x80));
  EXPECT_THAT(Decoded("P2 2 1 65535\n4863 32768\n").bytes, ElementsAre(0x12, 0x80));
}

TEST(DecodePnm, StretchesNumbersThatAreText) {
  EXPECT_THAT(Decoded("P2 3 1 100\n0 50 100").bytes, ElementsAre(0, 127, 255));
  EXPECT_THAT(Decoded("P3 1 1 255\n1 #red\n2 3\n").bytes, ElementsAre(3, 2, 1));
}

TEST(DecodePnm, ShowsBitsOfInkAsBlack) {
  EXPECT_THAT(Decoded("P1 4 1\n01 10\n").bytes, ElementsAre(255, 0, 0, 255));
  // Rows of bits are padded to whole bytes.
  EXPECT_THAT(Decoded("P4 4 2\n" + Bytes({0x60, 0xf0})).bytes,
              ElementsAre(255, 0, 0, 255, 0, 0, 0, 0));
}

TEST(DecodePnm, SaysWhatIsWrong) {
  const char* short_file = "4: corrupt PNM image: it ends too early";
  EXPECT_EQ(MessageOf([] { Decoded("P5 2 2 255\nabc"); }), short_file);
  EXPECT_EQ(MessageOf([] { Decoded("P2 2 2 255\n1 2 3 "); }), short_file);
  EXPECT_EQ(MessageOf([] { Decoded("P6 15000 15000 255\nabc"); }), short_file);
  EXPECT_EQ(MessageOf([] { Decoded("P5 2 x 255\nabc"); }),
            "4: corrupt PNM image: a number is damaged");
  EXPECT_EQ(MessageOf([] { Decoded("P5 2 1 70000\nabcd"); }),
            "4: corrupt PNM image: its header is damaged");
  EXPECT_THAT(MessageOf([] { Decoded("P5 99999999999999999999 2 255\nabcd"); }),
              HasSubstr("more than the limit of 268435456 pixels"));
}

}  // namespace
}  // namespace doppio
