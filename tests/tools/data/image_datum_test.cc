// Tests image files as database records.
#include "tools/data/image_datum.h"

#include "tests/data/tiny_data.h"

namespace doppio {
namespace {

// Returns an image of two pixels with red, green, blue = 10 20 30 and 40 50 60.
std::string ColourPng() { return Png(1, 2, 3, {10, 20, 30, 40, 50, 60}); }

ImageDatumOptions Colour() {
  ImageDatumOptions options;
  options.decode.color = DecodeOptions::Color::kColor;
  return options;
}

Datum Make(const std::string& file, const ImageDatumOptions& options,
           const std::vector<float>& labels = {3}) {
  ImageShape shape;
  return MakeImageDatum(file, labels, options, &shape);
}

TEST(MakeImageDatum, HoldsPlanesOfBlueGreenRed) {
  const Datum datum = Make(ColourPng(), Colour());
  EXPECT_EQ(datum.data(), std::string("\x1e\x3c\x14\x32\x0a\x28"));
  EXPECT_EQ(datum.channels(), 3);
  EXPECT_EQ(datum.height(), 1);
  EXPECT_EQ(datum.width(), 2);
  EXPECT_EQ(datum.label(), 3);
  EXPECT_FALSE(datum.encoded());
}

TEST(MakeImageDatum, MakesGrayAndResizes) {
  ImageDatumOptions options;
  options.decode.color = DecodeOptions::Color::kGray;
  options.decode.height = options.decode.width = 4;
  ImageShape shape;
  const Datum datum = MakeImageDatum(Png(1, 2, 1, {8, 8}), {0}, options, &shape);
  EXPECT_EQ(datum.data(), std::string(16, '\x08'));
  EXPECT_EQ(shape, (ImageShape{1, 4, 4}));
}

TEST(MakeImageDatum, NotesThatAPaletteBecomesGray) {
  const std::string palette = AnyPng(2, {8, 3}, {std::string("\0\1", 2)});
  for (const bool gray : {true, false}) {
    ImageDatumOptions options = Colour();
    if (gray) options.decode.color = DecodeOptions::Color::kGray;
    ImageShape shape;
    RecordRemarks remarks;
    MakeImageDatum(palette, {0}, options, &shape, &remarks);
    EXPECT_EQ(remarks.palette_as_gray, gray);
  }
}

TEST(MakeImageDatum, PutsOtherLabelsWhereTheyFit) {
  EXPECT_FALSE(Make(ColourPng(), Colour(), {0.5f}).has_label());
  EXPECT_EQ(Make(ColourPng(), Colour(), {0.5f}).labels(0), 0.5f);
  EXPECT_EQ(Make(ColourPng(), Colour(), {1, 2}).labels_size(), 2);
  EXPECT_EQ(Make(ColourPng(), Colour(), {-1}).label(), -1);
}

TEST(MakeImageDatum, KeepsTheBytesOfAFileThatIsRight) {
  ImageDatumOptions options = Colour();
  options.encoded = true;
  const Datum datum = Make(ColourPng(), options);
  EXPECT_TRUE(datum.encoded());
  EXPECT_EQ(datum.data(), ColourPng());
  EXPECT_FALSE(datum.has_channels());
  options.format = ImageFormat::kPng;
  EXPECT_EQ(Make(ColourPng(), options).data(), ColourPng());
}

TEST(MakeImageDatum, EncodesChangedImagesAgain) {
  const auto shape_of = [](const std::string& file, const ImageDatumOptions& options,
                           ImageFormat format) {
    const Datum datum = Make(file, options);
    const auto* bytes = reinterpret_cast<const uint8_t*>(datum.data().data());
    EXPECT_EQ(FormatOf(bytes, datum.data().size()), format);
    Image image;
    Decode(bytes, datum.data().size(), {}, &image);
    return image.shape;
  };
  ImageDatumOptions options = Colour();
  options.encoded = true;
  EXPECT_EQ(shape_of(Png(1, 2, 1, {1, 2}), options, ImageFormat::kPng), (ImageShape{3, 1, 2}));
  options.format = ImageFormat::kJpeg;
  EXPECT_EQ(shape_of(ColourPng(), options, ImageFormat::kJpeg), (ImageShape{3, 1, 2}));
  options.decode.height = options.decode.width = 5;
  options.format.reset();
  EXPECT_EQ(shape_of(ColourPng(), options, ImageFormat::kPng), (ImageShape{3, 5, 5}));
}

TEST(MakeImageDatum, RefusesADamagedFileThatItWouldKeep) {
  ImageDatumOptions options = Colour();
  options.encoded = true;
  const std::string file = ColourPng();
  EXPECT_EQ(MessageOf([&] { Make(file.substr(0, file.size() - 20), options); }),
            "4: corrupt PNG image: it ends too early");
}

}  // namespace
}  // namespace doppio
