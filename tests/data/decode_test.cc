#include "data/decode/decode.h"

#include <png.h>
#include <zlib.h>

#include <fstream>

#include "core/base/file_limits.h"
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
  const std::string file = Jpeg({16, 16, 3}, pixels);
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
  const std::string gray = Jpeg({8, 8, 1}, std::vector<int>(64, 90));
  EXPECT_EQ(DecodeFile(gray).shape, (ImageShape{1, 8, 8}));
  EXPECT_EQ(DecodeFile(gray, {Color::kColor}).shape, (ImageShape{3, 8, 8}));
}

// The expected values are those of OpenCV's imread: k - ((255 - ink) * k >> 8), and its gray of
// these.
TEST(Decode, TakesFourInksAsInvertedWithAdobesMarkerOrWithout) {
  std::vector<int> inks;
  for (int i = 0; i < 64; ++i) inks.insert(inks.end(), {255, 128, 0, 204});
  const std::string with = Jpeg({8, 8, 4}, inks);
  std::string without = with;
  const size_t marker = with.find("\xff\xee");
  ASSERT_NE(marker, std::string::npos);
  without.erase(marker, 16);
  for (const std::string& file : {with, without}) {
    const Image image = DecodeFile(file);
    ASSERT_EQ(image.shape, (ImageShape{3, 8, 8}));
    for (size_t i = 0; i < image.bytes.size(); i += 3) {
      EXPECT_EQ(image.bytes[i], 1);
      EXPECT_EQ(image.bytes[i + 1], 103);
      EXPECT_EQ(image.bytes[i + 2], 204);
    }
    // 0.114 * 1 + 0.587 * 103 + 0.299 * 204 = 121.6
    const Image gray = DecodeFile(file, {Color::kGray});
    EXPECT_EQ(gray.shape, (ImageShape{1, 8, 8}));
    EXPECT_THAT(gray.bytes, testing::Each(122));
  }
}

// The first three inks are stored as YCbCr, which the value 2 in Adobe's marker means.
TEST(Decode, ReadsYcckJpegs) {
  std::vector<int> inks;
  for (int i = 0; i < 64; ++i) inks.insert(inks.end(), {100, 128, 128, 255});
  std::string file = Jpeg({8, 8, 4}, inks);
  file[file.find("\xff\xee") + 15] = 2;
  // Luma 100 without chroma is 255 - 100 for each ink; with K = 255, OpenCV's result is one higher.
  EXPECT_THAT(DecodeFile(file).bytes, testing::Each(156));
}

// OpenCV 2.4, with which Caffe's models were trained, ignores the tag; later versions rotate the
// image.
TEST(Decode, DoesNotApplyOrientationTags) {
  const std::string exif(
      "\xff\xe1\0\x22"
      "Exif\0\0"
      "MM\0*\0\0\0\x08\0\x01"
      "\x01\x12\0\3\0\0\0\1\0\6\0\0\0\0\0\0",
      36);
  std::string file = Jpeg({8, 16, 1}, std::vector<int>(128, 90));
  file.insert(2, exif);
  EXPECT_EQ(DecodeFile(file).shape, (ImageShape{1, 8, 16}));
}

TEST(Decode, CutsSixteenBitsOfPngsToTheUpperEight) {
  const std::string gray =
      AnyPng(2, {16, PNG_COLOR_TYPE_GRAY}, {std::string("\x12\xff\x80\x00", 4)});
  EXPECT_THAT(DecodeFile(gray).bytes, ElementsAre(0x12, 0x80));
  const std::string color =
      AnyPng(1, {16, PNG_COLOR_TYPE_RGB_ALPHA}, {std::string("\x01\xff\x02\xff\x03\xff\0\0", 8)});
  EXPECT_THAT(DecodeFile(color).bytes, ElementsAre(3, 2, 1));
  Image reused = DecodeFile(color);
  EXPECT_TRUE(reused.narrowed);
  const std::string eight = Png(1, 1, 1, {7});
  Decode(reinterpret_cast<const uint8_t*>(eight.data()), eight.size(), {}, &reused);
  EXPECT_FALSE(reused.narrowed);
}

TEST(Decode, ReadsPngsOfPalettesFewBitsAndGrayWithAlpha) {
  // The bits 0, 1, 0. The palette's transparency is dropped.
  EXPECT_THAT(DecodeFile(AnyPng(3, {1, PNG_COLOR_TYPE_PALETTE}, {"\x40"})).bytes,
              ElementsAre(30, 20, 10, 60, 50, 40, 30, 20, 10));
  EXPECT_THAT(DecodeFile(AnyPng(3, {1, PNG_COLOR_TYPE_GRAY}, {"\x40"})).bytes,
              ElementsAre(0, 255, 0));
  EXPECT_THAT(DecodeFile(AnyPng(2, {4, PNG_COLOR_TYPE_GRAY}, {"\x2f"})).bytes,
              ElementsAre(34, 255));
  const std::string alpha =
      AnyPng(2, {8, PNG_COLOR_TYPE_GRAY_ALPHA}, {std::string("\x07\x80\x09\0", 4)});
  EXPECT_THAT(DecodeFile(alpha).bytes, ElementsAre(7, 9));
}

TEST(Decode, ReadsInterlacedPngs) {
  std::vector<std::string> rows;
  std::vector<uint8_t> pixels;
  for (int y = 0; y < 9; ++y) {
    rows.emplace_back();
    for (int x = 0; x < 11; ++x) rows.back() += static_cast<char>(20 * y + x);
    pixels.insert(pixels.end(), rows.back().begin(), rows.back().end());
  }
  EXPECT_EQ(DecodeFile(AnyPng(11, {8, PNG_COLOR_TYPE_GRAY, true}, rows)).bytes, pixels);
}

TEST(Decode, PassesOverWhatComesBehindTheImage) {
  const std::string png = Png(1, 2, 1, {7, 200}) + "garbage";
  EXPECT_THAT(DecodeFile(png).bytes, ElementsAre(7, 200));
  const std::string jpeg = Jpeg({8, 8, 1}, std::vector<int>(64, 90)) + std::string(500, '\0');
  EXPECT_THAT(DecodeFile(jpeg).bytes, testing::Each(90));
}

// cv::resize samples at (i + 0.5) * scale - 0.5, so halving averages the middle two of each four
// pixels.
TEST(Decode, ResizesBilinearly) {
  const Image half = DecodeFile(Png(1, 4, 1, {0, 100, 200, 40}), {Color::kAsStored, 1, 2});
  EXPECT_EQ(half.shape, (ImageShape{1, 1, 2}));
  EXPECT_THAT(half.bytes, ElementsAre(50, 120));
  // A third of the size takes the middle pixel; it does not average over the area.
  EXPECT_THAT(DecodeFile(Png(1, 3, 1, {0, 90, 255}), {Color::kAsStored, 1, 1}).bytes,
              ElementsAre(90));
  const Image twice = DecodeFile(Png(1, 2, 1, {0, 100}), {Color::kAsStored, 1, 4});
  EXPECT_THAT(twice.bytes, ElementsAre(0, 25, 75, 100));
}

TEST(Decode, SaysThatAFileIsNoImageOrOneOfAnotherFormat) {
  EXPECT_EQ(MessageOf([] { DecodeFile("<html>"); }),
            "4: it is not a JPEG, PNG, WebP, TIFF, GIF, BMP or PNM image");
  EXPECT_EQ(MessageOf([] { DecodeFile(""); }), "4: the image is empty");
  EXPECT_EQ(MessageOf([] { DecodeFile("GIF89a..."); }), "4: corrupt GIF image: it ends too early");
  EXPECT_EQ(MessageOf([] { DecodeFile(std::string("RIFF\1\0\0\0WEBPVP8 ", 16)); }),
            "4: corrupt WebP image: its header is damaged");
  EXPECT_EQ(MessageOf([] { DecodeFile(std::string("II*\0....", 8)); }),
            "4: corrupt TIFF image: Can not read TIFF directory count");
  EXPECT_THAT(MessageOf([] {
                DecodeFile(
                    std::string("\0\0\0\x1c"
                                "ftypheic",
                                12));
              }),
              HasSubstr("it is a HEIC image; convert it: heif-convert IN.heic OUT.jpg"));
}

TEST(Decode, SaysThatAnImageIsCutShort) {
  const std::string png = Png(20, 20, 1, std::vector<int>(400, 3));
  EXPECT_EQ(MessageOf([&] { DecodeFile(png.substr(0, png.size() - 20)); }),
            "4: corrupt PNG image: it ends too early");
  const std::string jpeg = Jpeg({64, 64, 1}, std::vector<int>(64 * 64, 3));
  EXPECT_EQ(MessageOf([&] { DecodeFile(jpeg.substr(0, jpeg.size() - 20)); }),
            "4: corrupt JPEG image: it ends too early");
}

// Returns this process's peak memory in kB.
int64_t PeakKilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmPeak:", 0) == 0) return std::stoll(line.substr(7));
  }
  return 0;
}

TEST(Decode, TakesNoMemoryForAPngChunkThatIsNotThere) {
  constexpr size_t kHeader = 33;  // the signature and the first chunk
  const std::string begun = Png(1, 1, 1, {3}).substr(0, kHeader);
  const std::string chunk("\x74\x00\x00\x0dzTXt", 8);  // a chunk of 2 GB
  const int64_t before = PeakKilobytes();
  for (const char* text : {"", "text"}) {
    EXPECT_EQ(MessageOf([&] { DecodeFile(begun + chunk + text); }),
              "4: corrupt PNG image: it ends too early");
  }
  EXPECT_LT(PeakKilobytes() - before, 1 << 20);
}

// Such files are common, and OpenCV reads them, too.
TEST(Decode, ReadsAJpegThatLacksOnlyItsEndMarker) {
  std::vector<int> pixels;
  for (int i = 0; i < 64 * 64; ++i) pixels.push_back(i * i % 251);
  const std::string file = Jpeg({64, 64, 1}, pixels);
  EXPECT_EQ(DecodeFile(file.substr(0, file.size() - 2)).bytes, DecodeFile(file).bytes);
  EXPECT_EQ(MessageOf([&] { DecodeFile(file.substr(0, file.size() - 4)); }),
            "4: corrupt JPEG image: it ends too early");
}

TEST(Decode, SaysWhatTheLibraryFoundWrong) {
  std::string png = Png(20, 20, 1, std::vector<int>(400, 3));
  png[20] ^= 1;  // a bit of the header, which has a checksum
  EXPECT_EQ(MessageOf([&] { DecodeFile(png); }), "4: corrupt PNG image: IHDR: CRC error");
  EXPECT_THAT(MessageOf([] { DecodeFile(std::string("\xff\xd8\xff\xda\x01\x02\x03\x04", 8)); }),
              HasSubstr("4: corrupt JPEG image: "));
}

std::string BigEndian(uint64_t n) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(n >> shift);
  return bytes;
}

// Returns a chunk of a PNG file.
std::string Chunk(const std::string& kind, const std::string& content) {
  const std::string checked = kind + content;
  const uLong checksum =
      crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size()));
  return BigEndian(content.size()) + checked + BigEndian(checksum);
}

// Returns `png` with another size in its header.
std::string Resized(std::string png, uint32_t height, uint32_t width) {
  constexpr size_t kLength = 8, kKind = 12, kSize = 16, kChecksum = 29;
  png.replace(kSize, 8, BigEndian(width) + BigEndian(height));
  const std::string content = png.substr(kSize, kChecksum - kSize);
  return png.replace(kLength, kChecksum + 4 - kLength,
                     Chunk(png.substr(kKind, kSize - kKind), content));
}

// 100 texts of 8 MB in a file of 800 KB.
TEST(Decode, SkipsTheTextsOfPngs) {
  const std::string text(8'000'000, 'a'), png = Png(1, 2, 1, {7, 200});
  uLongf bytes = compressBound(text.size());
  std::string packed(bytes, 0);
  ASSERT_EQ(compress(reinterpret_cast<Bytef*>(packed.data()), &bytes,
                     reinterpret_cast<const Bytef*>(text.data()), text.size()),
            Z_OK);
  packed.resize(bytes);
  constexpr size_t kHeader = 33;  // the signature and the first chunk
  std::string texts;
  for (int i = 0; i < 50; ++i) {
    texts += Chunk("zTXt", std::string("k\0\0", 3) + packed);
    texts += Chunk("iTXt", std::string("k\0\1\0\0\0", 6) + packed);
  }
  const int64_t before = PeakKilobytes();
  EXPECT_THAT(DecodeFile(png.substr(0, kHeader) + texts + png.substr(kHeader)).bytes,
              ElementsAre(7, 200));
  EXPECT_LT(PeakKilobytes() - before, 100 << 10);
}

// As in OpenCV, the gamma of a file determines its gray values.
TEST(Decode, KeepsTheGammaOfPngs) {
  const std::string png = Png(1, 1, 3, {200, 50, 100});
  constexpr size_t kHeader = 33;
  const std::string with = png.substr(0, kHeader) + Chunk("gAMA", BigEndian(45455));
  EXPECT_GT(DecodeFile(with + png.substr(kHeader), {Color::kGray}).bytes.at(0),
            DecodeFile(png, {Color::kGray}).bytes.at(0));
}

TEST(Decode, RefusesMorePixelsThanTheLimit) {
  const std::string png = Png(1, 1, 3, {1, 2, 3});
  EXPECT_EQ(MessageOf([&] { DecodeFile(Resized(png, 900000, 900000)); }),
            "4: it is 900000x900000, more than the limit of 268435456 pixels; --max_pixels=N "
            "raises it");
  std::string jpeg = Jpeg({8, 8, 1}, std::vector<int>(64, 90));
  const size_t frame = jpeg.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  jpeg.replace(frame + 5, 4, "\xff\xdc\xff\xdc");
  EXPECT_EQ(MessageOf([&] { DecodeFile(jpeg); }),
            "4: it is 65500x65500, more than the limit of 268435456 pixels; --max_pixels=N raises "
            "it");
}

TEST(Decode, TakesAnotherLimitOfPixels) {
  const std::string six = Png(2, 3, 1, {1, 2, 3, 4, 5, 6});
  SetMostImagePixels(5);
  const std::string message = MessageOf([&] { DecodeFile(six); });
  SetMostImagePixels(6);
  EXPECT_EQ(DecodeFile(six).bytes.size(), 6u);
  SetMostImagePixels(kMaxImagePixels);
  EXPECT_EQ(message, "4: it is 3x2, more than the limit of 5 pixels; --max_pixels=N raises it");
}

TEST(Decode, SaysThatAPngIsTooShortForItsSizeBeforeItTakesMemory) {
  const std::string png = Resized(Png(1, 1, 3, {1, 2, 3}), 16000, 16000);
  Image image;
  EXPECT_EQ(MessageOf([&] {
              Decode(reinterpret_cast<const uint8_t*>(png.data()), png.size(), {}, &image);
            }),
            "4: corrupt PNG image: it ends too early");
  EXPECT_EQ(image.bytes.capacity(), 0u);
}

TEST(Decode, RefusesAJpegOfManyScans) {
  JpegKind kind{8, 8, 1};
  kind.progressive = true;
  const std::string jpeg = Jpeg(kind, std::vector<int>(64, 90));
  const size_t last_scan = jpeg.rfind("\xff\xda"), end = jpeg.rfind("\xff\xd9");
  ASSERT_NE(last_scan, std::string::npos);
  std::string many = jpeg.substr(0, end);
  for (int i = 0; i < 600; ++i) many += jpeg.substr(last_scan, end - last_scan);
  EXPECT_EQ(MessageOf([&] { DecodeFile(many + jpeg.substr(end)); }),
            "4: corrupt JPEG image: it has more than 500 scans");
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
