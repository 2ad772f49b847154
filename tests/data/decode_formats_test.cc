// WebP, TIFF and GIF.
#include <gmock/gmock.h>

#include "data/decode/decode.h"
#include "data/decode/label_image.h"
#include "tests/data/tiny_data.h"
#include "tests/data/tiny_images.h"

namespace doppio {
namespace {

using Color = DecodeOptions::Color;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

const uint8_t* Start(const std::string& file) {
  return reinterpret_cast<const uint8_t*>(file.data());
}

Image DecodeAny(const std::string& file, DecodeOptions options = {}) {
  Image image;
  Decode(Start(file), file.size(), options, &image);
  return image;
}

std::string Mistake(const std::string& file, DecodeOptions options = {}) {
  return MessageOf([&] { DecodeAny(file, options); });
}

// Colours of a pattern that no rotation or exchange of channels leaves as it is.
std::vector<int> Pattern(int height, int width, int channels) {
  std::vector<int> values;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) values.push_back((7 * x + 31 * y + 90 * c) % 256);
    }
  }
  return values;
}

// Returns blue, green, red of red, green, blue, or of these and alpha.
std::vector<int> BgrOf(const std::vector<int>& pixels, int channels) {
  std::vector<int> bgr;
  for (size_t i = 0; i < pixels.size(); i += static_cast<size_t>(channels)) {
    bgr.insert(bgr.end(), {pixels[i + 2], pixels[i + 1], pixels[i]});
  }
  return bgr;
}

TEST(DecodeWebp, ReadsLosslessPixelsAndDropsAlpha) {
  for (const int channels : {3, 4}) {
    const std::vector<int> pixels = Pattern(5, 7, channels);
    const Image image = DecodeAny(Webp({5, 7, channels}, pixels));
    EXPECT_EQ(image.shape, (ImageShape{3, 5, 7}));
    EXPECT_THAT(image.bytes, ElementsAreArray(BgrOf(pixels, channels)));
  }
}

TEST(DecodeWebp, ReadsLossyPixelsInColourAndGray) {
  std::vector<int> pixels;
  for (int i = 0; i < 17 * 16; ++i) pixels.insert(pixels.end(), {200, 100, 50});
  const std::string file = Webp({17, 16, 3, false}, pixels);
  const Image color = DecodeAny(file);
  EXPECT_EQ(color.shape, (ImageShape{3, 17, 16}));
  for (const auto& [channel, light] : {std::pair{0, 50}, {1, 100}, {2, 200}})
    EXPECT_NEAR(color.bytes[static_cast<size_t>(channel)], light, 4);
  const Image gray = DecodeAny(file, {Color::kGray});
  EXPECT_EQ(gray.shape, (ImageShape{1, 17, 16}));
  EXPECT_NEAR(gray.bytes[0], 124, 4);
}

TEST(DecodeWebp, ReadsTheFirstFrameOfAnAnimation) {
  const std::vector<int> pixels = Pattern(6, 4, 3);
  EXPECT_THAT(DecodeAny(Webp({6, 4, 3, true, 3}, pixels)).bytes,
              ElementsAreArray(BgrOf(pixels, 3)));
}

TEST(DecodeWebp, RefusesCutAndForgedFiles) {
  const std::string file = Webp({9, 8, 3, false}, Pattern(9, 8, 3));
  for (const size_t bytes : {size_t{16}, size_t{24}, file.size() / 2, file.size() - 2}) {
    EXPECT_EQ(Mistake(file.substr(0, bytes)), "4: corrupt WebP image: it ends too early");
  }
  // Bytes 26 to 29 are the sides of a lossy image.
  std::string forged = file;
  forged[27] = forged[29] = '\x3f';
  EXPECT_EQ(Mistake(forged), "4: corrupt WebP image: it ends too early");
  SetMostImagePixels(1000);
  EXPECT_THAT(Mistake(forged), HasSubstr("more than the limit of 1000 pixels; --max_pixels=N"));
  SetMostImagePixels(int64_t{1} << 28);
  std::string damaged = Webp({9, 8}, Pattern(9, 8, 3));
  for (size_t i = 30; i < damaged.size(); ++i) damaged[i] = '\xff';
  EXPECT_THAT(Mistake(damaged), HasSubstr("corrupt WebP image: its pixels are damaged"));
}

TEST(DecodeTiff, ReadsEveryCompressionInStripsTilesAndPlanes) {
  const std::vector<int> pixels = Pattern(19, 21, 3);
  for (const int compression : {1, 5, 8, 32773}) {
    for (const int tile : {0, 16}) {
      for (const bool planes : {false, true}) {
        if (tile > 0 && planes) continue;
        TiffKind kind{19, 21, 3, 8, compression};
        kind.tile = tile;
        kind.planes = planes;
        kind.big = planes;
        const Image image = DecodeAny(Tiff(kind, pixels));
        EXPECT_EQ(image.shape, (ImageShape{3, 19, 21}));
        EXPECT_THAT(image.bytes, ElementsAreArray(BgrOf(pixels, 3))) << compression << ' ' << tile;
        EXPECT_FALSE(image.narrowed);
      }
    }
  }
}

TEST(DecodeTiff, ReadsJpegsInside) {
  std::vector<int> pixels;
  for (int i = 0; i < 16 * 16; ++i) pixels.insert(pixels.end(), {200, 100, 50});
  for (const int photometric : {2, 6}) {
    TiffKind kind{16, 16, 3, 8, 7, photometric, 16};
    const Image image = DecodeAny(Tiff(kind, pixels));
    EXPECT_EQ(image.shape, (ImageShape{3, 16, 16}));
    for (const auto& [channel, light] : {std::pair{0, 50}, {1, 100}, {2, 200}})
      EXPECT_NEAR(image.bytes[static_cast<size_t>(channel)], light, 3) << photometric;
  }
}

TEST(DecodeTiff, ReadsGrayOfAnyDepthWithAndWithoutAlpha) {
  EXPECT_THAT(DecodeAny(Tiff({1, 3, 1, 1}, {0, 1, 0})).bytes, ElementsAre(0, 255, 0));
  EXPECT_THAT(DecodeAny(Tiff({1, 3, 1, 4}, {0, 2, 15})).bytes, ElementsAre(0, 34, 255));
  EXPECT_THAT(DecodeAny(Tiff({1, 2, 2, 8}, {7, 0, 200, 255})).bytes, ElementsAre(7, 200));
  // White is 0.
  EXPECT_THAT(DecodeAny(Tiff({1, 2, 1, 8, 1, 0}, {0, 250})).bytes, ElementsAre(255, 5));
  const Image color = DecodeAny(Tiff({1, 2, 1, 8}, {7, 200}), {Color::kColor});
  EXPECT_THAT(color.bytes, ElementsAre(7, 7, 7, 200, 200, 200));
  const Image alpha = DecodeAny(Tiff({1, 1, 4, 8}, {10, 20, 30, 0}));
  EXPECT_THAT(alpha.bytes, ElementsAre(30, 20, 10));
  EXPECT_NEAR(DecodeAny(Tiff({1, 1}, {100, 50, 200}), {Color::kGray}).bytes[0], 82, 1);
}

TEST(DecodeTiff, ReadsPalettes) {
  const std::string file = Tiff({1, 3, 1, 4, 1, 3}, {0, 1, 0});
  const Image image = DecodeAny(file);
  EXPECT_THAT(image.bytes, ElementsAre(30, 20, 10, 60, 50, 40, 30, 20, 10));
  EXPECT_FALSE(image.palette_as_gray);
  EXPECT_TRUE(DecodeAny(file, {Color::kGray}).palette_as_gray);
  EXPECT_THAT(DecodeLabels(Start(file), file.size()).bytes, ElementsAre(0, 1, 0));
}

TEST(DecodeTiff, CutsSixteenBitsToTheUpperEightOrScalesThem) {
  const std::string file = Tiff({1, 4, 1, 16}, {0, 255, 4095, 65535});
  Image image = DecodeAny(file);
  EXPECT_THAT(image.bytes, ElementsAre(0, 0, 15, 255));
  EXPECT_TRUE(image.narrowed);
  EXPECT_EQ(image.brightest, 65535);
  DecodeOptions options;
  options.sixteen_bit_range = 4096;
  image = DecodeAny(file, options);
  EXPECT_THAT(image.bytes, ElementsAre(0, 15, 255, 255));  // 255 * 256 / 4096 = 15.9
  EXPECT_FALSE(image.narrowed);
  TiffKind big{1, 1, 3, 16};
  big.big = true;
  EXPECT_THAT(DecodeAny(Tiff(big, {0x1234, 0x5678, 0x9abc})).bytes, ElementsAre(0x9a, 0x56, 0x12));
  // Values of 12 bits fill their range.
  image = DecodeAny(Tiff({1, 3, 1, 12}, {0, 0x800, 0xfff}));
  EXPECT_THAT(image.bytes, ElementsAre(0, 0x80, 0xff));
  EXPECT_EQ(image.brightest, 0xfff0);
}

// The same rule holds for PNG and PNM.
TEST(Decode, ScalesSixteenBitsOfPngAndPnm) {
  DecodeOptions options;
  options.sixteen_bit_range = 4096;
  const std::string png = AnyPng(2, {16, 0}, {std::string("\x0f\xff\x01\x10", 4)}),
                    pnm = "P2 2 1 4095\n4095 272\n";
  const std::string colour = AnyPng(1, {16, 2}, {std::string("\x0f\xff\x0f\xff\x0f\xff", 6)});
  for (const std::string& file : {png, pnm}) {
    EXPECT_THAT(DecodeAny(file, options).bytes, ElementsAre(255, 17));
    EXPECT_EQ(DecodeAny(file, options).brightest, 4095);
    EXPECT_THAT(DecodeAny(file).bytes, ElementsAre(15, 1));
    EXPECT_EQ(DecodeAny(file).brightest, 4095);
  }
  EXPECT_THAT(DecodeAny(colour, options).bytes, ElementsAre(255, 255, 255));
  options.color = Color::kGray;
  EXPECT_THAT(DecodeAny(colour, options).bytes, ElementsAre(255));
  EXPECT_THAT(DecodeAny(colour, {Color::kGray}).bytes, ElementsAre(15));
  EXPECT_EQ(DecodeAny(Png(1, 1, 1, {255}), options).brightest, 0);
}

TEST(Decode, ChoosesTheLeastRangeForTheBrightestValue) {
  for (const auto& [brightest, range] :
       {std::pair{1, 256}, {255, 256}, {256, 512}, {4095, 4096}, {4096, 8192}, {65535, 65536}}) {
    EXPECT_EQ(SixteenBitRangeFor(brightest), range) << brightest;
  }
}

TEST(DecodeTiff, NamesWhatItDoesNotRead) {
  TiffKind kind{1, 1, 1, 16};
  kind.format = 2;
  EXPECT_EQ(
      Mistake(Tiff(kind, {7})),
      "4: a TIFF image of 1 signed or floating-point values of 16 bits per pixel and photometric "
      "interpretation 1 cannot be read; convert it: convert IN OUT.png (ImageMagick)");
  kind.format = 1;
  kind.subfile = 1;
  EXPECT_EQ(Mistake(Tiff(kind, {7})),
            "4: its first page is a preview, as in a camera's raw image; convert it: convert IN "
            "OUT.png (ImageMagick)");
  EXPECT_THAT(Mistake(Tiff({1, 1, 1, 8, 1, 32803}, {7})),
              HasSubstr("photometric interpretation 32803 cannot be read"));
  EXPECT_THAT(Mistake(Tiff({1, 1, 1, 8, 34925}, {7})),
              HasSubstr("a TIFF image of compression 34925 cannot be read"));
}

TEST(DecodeTiff, RefusesCutAndForgedFiles) {
  const std::string file = Tiff({16, 16, 1}, Pattern(16, 16, 1));
  // The directory is at the end.
  EXPECT_THAT(Mistake(file.substr(0, file.size() / 2)), HasSubstr("4: corrupt TIFF image: "));
  EXPECT_THAT(Mistake(file.substr(0, 6)), HasSubstr("4: corrupt TIFF image: "));
  const auto forged = [](const std::string& whole, const std::string& tag, const std::string& to) {
    std::string changed = whole;
    changed.replace(changed.find(tag, 8) + 8, to.size(), to);
    return changed;
  };
  const std::string width("\0\1\3\0\1\0\0\0", 8), height("\1\1\3\0\1\0\0\0", 8);
  const std::string wide = forged(file, width, "\xff\x3f"), both = forged(wide, height, "\xff\x3f");
  EXPECT_THAT(Mistake(both), HasSubstr("4: corrupt TIFF image: "));
  SetMostImagePixels(1000);
  EXPECT_THAT(Mistake(both), HasSubstr("more than the limit of 1000 pixels; --max_pixels=N"));
  SetMostImagePixels(int64_t{1} << 28);
  EXPECT_THAT(Mistake(forged(file, width, std::string("\0\0", 2))),
              HasSubstr("4: corrupt TIFF image: "));
}

TEST(DecodeGif, ReadsTheFirstImageOfAnAnimation) {
  for (const bool interlaced : {false, true}) {
    GifKind kind{19, 3};
    kind.interlaced = interlaced;
    kind.frames = 2;
    std::vector<int> indices, expected;
    for (int i = 0; i < 57; ++i) {
      const int index = (i / 3 + i) % 8;
      indices.push_back(index);
      for (const int first : {30, 20, 10}) expected.push_back(first + 30 * index);
    }
    const std::string file = Gif(kind, indices);
    const Image image = DecodeAny(file);
    EXPECT_EQ(image.shape, (ImageShape{3, 19, 3}));
    EXPECT_THAT(image.bytes, ElementsAreArray(expected));
    EXPECT_THAT(DecodeLabels(Start(file), file.size()).bytes, ElementsAreArray(indices));
  }
}

TEST(DecodeGif, ReadsGrayPalettesAndImagesOnLargerCanvases) {
  GifKind kind{1, 2};
  kind.gray = true;
  EXPECT_EQ(DecodeAny(Gif(kind, {1, 2})).shape, (ImageShape{1, 1, 2}));
  EXPECT_EQ(DecodeAny(Gif(kind, {1, 2}), {Color::kColor}).shape, (ImageShape{3, 1, 2}));
  kind.top = kind.left = 1;
  kind.canvas_height = 2;
  kind.canvas_width = 4;
  EXPECT_THAT(DecodeAny(Gif(kind, {3, 2})).bytes, ElementsAre(90, 60));
}

TEST(DecodeGif, RefusesCutAndForgedFiles) {
  const std::string file = Gif({9, 9}, std::vector<int>(81, 5));
  for (size_t bytes = 5; bytes < file.size() - 3; ++bytes) {
    EXPECT_THAT(Mistake(file.substr(0, bytes)), HasSubstr("4: corrupt GIF image: ")) << bytes;
  }
  EXPECT_EQ(Mistake(file.substr(0, 20)), "4: corrupt GIF image: it ends too early");
  std::string forged = file;
  const size_t sides = file.find(std::string("\t\0\t\0\0", 5), 13);  // those of the image
  forged[sides + 1] = forged[sides + 3] = '\x3f';
  EXPECT_EQ(Mistake(forged), "4: corrupt GIF image: it ends too early");
  forged[sides + 1] = forged[sides + 3] = '\xff';
  EXPECT_THAT(Mistake(forged), HasSubstr("more than the limit of"));
}

// No file that is cut somewhere may crash, and none may count as complete but one without its
// last byte of padding.
TEST(Decode, SurvivesCutsAndFlippedBits) {
  const std::vector<std::string> files = {Webp({5, 7}, Pattern(5, 7, 3)),
                                          Webp({16, 17, 3, false}, Pattern(16, 17, 3)),
                                          Webp({6, 4, 3, true, 2}, Pattern(6, 4, 3)),
                                          Tiff({7, 5, 3, 8, 5}, Pattern(7, 5, 3)),
                                          Tiff({7, 5, 3, 16, 8}, Pattern(7, 5, 3)),
                                          Tiff({16, 16, 3, 8, 7, 6, 16}, Pattern(16, 16, 3)),
                                          Gif({9, 9}, std::vector<int>(81, 5))};
  SetMostImagePixels(1 << 16);
  for (const std::string& file : files) {
    for (size_t at = 0; at < file.size(); ++at) {
      for (const bool cut : {true, false}) {
        std::string changed = cut ? file.substr(0, at) : file;
        if (!cut) changed[at] = static_cast<char>(changed[at] ^ 0x41);
        for (const Color color : {Color::kColor, Color::kGray, Color::kValues}) {
          DecodeOptions options{color};
          options.upright = true;
          try {
            const Image image = DecodeAny(changed, options);
            EXPECT_EQ(image.shape.count(), static_cast<int64_t>(image.bytes.size()));
          } catch (const FileError&) {
          }
        }
      }
    }
  }
  SetMostImagePixels(int64_t{1} << 28);
}

TEST(ImageFormatName, NamesFormatsThatAreReadAndOthersWithACommand) {
  const auto name = [](const std::string& file) {
    return ImageFormatName(Start(file), file.size());
  };
  EXPECT_EQ(name(Webp({1, 1}, {1, 2, 3})), "a WebP image");
  EXPECT_EQ(name(Png(1, 1, 1, {7})), "a PNG image");
  EXPECT_EQ(name("no image"), "");
  EXPECT_EQ(name(""), "");
  const std::string size("\0\0\0\x18", 4);
  for (const auto& [file, is, command] :
       {std::tuple{size + "ftypheic", "a HEIC image", "heif-convert"},
        {size + "ftypmif1", "a HEIC image", "heif-convert"},
        {size + "ftypavif", "an AVIF image", "avifdec"},
        {std::string("\xff\x0a"), "a JPEG XL image", "djxl"},
        {std::string("\0\0\0\x0cJXL ", 8), "a JPEG XL image", "djxl"},
        {std::string("\0\0\0\x0cjP  ", 8), "a JPEG 2000 image", "ImageMagick"},
        {std::string("II*\0\x10\0\0\0CR\2\0", 12), "a camera's raw image", "ImageMagick"},
        {std::string("<svg xmlns="), "an SVG drawing", "ImageMagick"},
        {std::string("%PDF-1.4"), "a PDF document", "ImageMagick"}}) {
    EXPECT_EQ(name(file), is);
    EXPECT_THAT(Mistake(file), HasSubstr(std::string("it is ") + is + "; convert it: "));
    EXPECT_THAT(Mistake(file), HasSubstr(command));
    EXPECT_EQ(FormatName(Start(file), file.size()), "");
  }
}

TEST(DecodeLabels, RefusesLossyWebp) {
  const std::string lossy = Webp({1, 1, 3, false}, {9, 9, 9}), lossless = Webp({1, 1}, {9, 9, 9});
  EXPECT_THAT(MessageOf([&] { DecodeLabels(Start(lossy), lossy.size()); }),
              HasSubstr("whose compression changes labels"));
  EXPECT_THAT(DecodeLabels(Start(lossless), lossless.size()).bytes, ElementsAre(9));
}

}  // namespace
}  // namespace doppio
