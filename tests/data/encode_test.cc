// Tests encoding by reading the image files back.
#include "data/decode/encode.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>

#include "tests/data/tiny_data.h"

namespace doppio {
namespace {

using testing::HasSubstr;

Image Gradient(int channels, int height, int width) {
  Image image;
  image.shape = {channels, height, width};
  for (int i = 0; i < height * width * channels; ++i) {
    image.bytes.push_back(static_cast<uint8_t>(40 + 100 * (i % channels) + i / channels));
  }
  return image;
}

Image DecodedAgain(const std::string& file) {
  Image image;
  Decode(reinterpret_cast<const uint8_t*>(file.data()), file.size(), {}, &image);
  return image;
}

ImageFormat Format(const std::string& file) {
  return FormatOf(reinterpret_cast<const uint8_t*>(file.data()), file.size());
}

TEST(Encode, PngKeepsEveryPixel) {
  for (const int channels : {1, 3}) {
    const Image image = Gradient(channels, 5, 7);
    const std::string file = Encode(image, ImageFormat::kPng);
    EXPECT_EQ(Format(file), ImageFormat::kPng);
    const Image back = DecodedAgain(file);
    EXPECT_EQ(back.shape, image.shape);
    EXPECT_EQ(back.bytes, image.bytes);
  }
}

TEST(Encode, JpegKeepsColoursAndTheirOrder) {
  for (const int channels : {1, 3}) {
    Image image = Gradient(channels, 16, 16);
    for (size_t i = 0; i < image.bytes.size(); ++i) {
      image.bytes[i] = static_cast<uint8_t>(40 + 90 * (i % static_cast<size_t>(channels)));
    }
    const std::string file = Encode(image, ImageFormat::kJpeg);
    EXPECT_EQ(Format(file), ImageFormat::kJpeg);
    const Image back = DecodedAgain(file);
    ASSERT_EQ(back.shape, image.shape);
    for (size_t i = 0; i < image.bytes.size(); ++i) {
      ASSERT_LE(std::abs(back.bytes[i] - image.bytes[i]), 2) << i;
    }
  }
}

TEST(Encode, SaysWhatJpegCannotHold) {
  EXPECT_THAT(MessageOf([] { Encode(Gradient(1, 1, 65501), ImageFormat::kJpeg); }),
              HasSubstr("4: cannot be written as JPEG: "));
}

TEST(FormatOf, RefusesWhatIsNone) {
  EXPECT_EQ(MessageOf([] { Format("%PDF-1.7"); }),
            "4: it is a PDF document; convert it: convert IN OUT.png (ImageMagick)");
  EXPECT_EQ(MessageOf([] { Format(""); }), "4: the image is empty");
}

}  // namespace
}  // namespace doppio
