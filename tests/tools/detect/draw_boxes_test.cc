#include "tools/detect/draw_boxes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/file.h"
#include "data/augment/net_input.h"
#include "data/decode/decode.h"
#include "data/decode/encode.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string BlackFile(const std::string& name) {
  Image image;
  image.shape = {3, 60, 80};
  image.bytes.assign(image.shape.count(), 0);
  const std::string path = testing::TempDir() + name;
  WriteFileAtomically(path, Encode(image, ImageFormat::kPng));
  return path;
}

bool IsBlack(const Image& image, int x, int y) {
  const uint8_t* pixel = image.bytes.data() + 3 * (y * image.shape.width + x);
  return pixel[0] == 0 && pixel[1] == 0 && pixel[2] == 0;
}

TEST(DrawBoxes, DrawsTheSidesOfABoxAndItsLabel) {
  const std::string copy = testing::TempDir() + "drawn.png";
  WriteWithBoxes({}, BlackFile("black.png"), {{1, 0.9, {20, 30, 60, 50}}}, {{1, "cat"}}, copy);
  const Image drawn = DecodeFor({}, 3, ReadFile(copy));
  ASSERT_EQ("3x60x80", drawn.shape.ToString());
  for (const auto& [x, y] : {std::make_pair(20, 40), {60, 40}, {40, 30}, {40, 50}})
    EXPECT_FALSE(IsBlack(drawn, x, y)) << x << ", " << y;
  EXPECT_FALSE(IsBlack(drawn, 21, 28));  // the label's background, above the box
  for (const auto& [x, y] : {std::make_pair(40, 40), {19, 40}, {61, 40}, {40, 51}})
    EXPECT_TRUE(IsBlack(drawn, x, y)) << x << ", " << y;
}

TEST(DrawBoxes, WritesJpegForNamesOfJpegs) {
  const std::string copy = testing::TempDir() + "drawn.JPG";
  WriteWithBoxes({}, BlackFile("black.png"), {}, {}, copy);
  const std::string file = ReadFile(copy);
  EXPECT_EQ(ImageFormat::kJpeg,
            FormatOf(reinterpret_cast<const uint8_t*>(file.data()), file.size()));
}

TEST(CopyPaths, AreTheNamesOfTheImagesWithNumbersWhereTheyClash) {
  CopyPaths copies("out");
  for (const auto& [image, copy] : {std::make_pair("a/x.jpg", "out/x.jpg"),
                                    {"b/y.bmp", "out/y.png"},
                                    {"z.png", "out/z.png"},
                                    {"c/y.png", "out/y_2.png"},
                                    {"y_2.png", "out/y_2_2.png"},
                                    {"d/y.png", "out/y_3.png"}})
    EXPECT_EQ(copies.Of(image), copy) << image;
  const std::string image = BlackFile("here.png");
  EXPECT_THAT(Mistake<UsageError>([&] { CopyPaths(testing::TempDir()).Of(image); }),
              HasSubstr("would replace"));
}

}  // namespace
}  // namespace doppio
