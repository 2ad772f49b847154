// Tests resize_param: sizes, borders, and random choices.
#include "data/augment/resize_image.h"

#include <set>

#include "data/augment/random_changes.h"
#include "tests/data/gray_image.h"
#include "tests/data/tiny_data.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Returns an image with the pixels 1, 2, 3, ...
Image Counting(int height, int width) {
  Image image = GrayImage(height, width, {});
  for (int i = 1; i <= height * width; ++i) image.bytes.push_back(static_cast<uint8_t>(i));
  return image;
}

Box Resized(const std::string& text, Image* image, uint64_t sample = 0) {
  Draws draws(Random(1, 2), sample);
  return ResizeAs(Parse<ResizeParameter>(text), &draws, image);
}

std::string SizeOf(int height, int width, const std::string& text) {
  Image image = Counting(height, width);
  Resized(text, &image);
  return image.shape.ToString();
}

// A narrow strip of a few pixels could be resized to an image of gigabytes.
TEST(Sizes, AreLimitedAsThoseOfFilesAre) {
  const std::string limit = ", more than the limit of 268435456 pixels; --max_pixels=N raises it";
  Image image = Counting(1, 200);
  EXPECT_EQ(MessageOf([&] { Resize(20000, 30000, &image); }),
            "4: it would be resized to 30000x20000" + limit);
  EXPECT_EQ(MessageOf([&] { Resized("height: 30000 width: 30000", &image); }),
            "4: it would be resized to 30000x30000" + limit);
  EXPECT_EQ(MessageOf([&] { ResizeShortSide(3000, 1, &image); }),
            "4: it would be resized to 600000x3000" + limit);
  Draws draws(Random(1, 2), 0);
  const auto much = Parse<ExpansionParameter>("prob: 1 max_expand_ratio: 1e9");
  EXPECT_THAT(MessageOf([&] { Expand(much, {}, &draws, &image); }),
              HasSubstr("it would be expanded to"));
  EXPECT_EQ(image.shape.ToString(), "1x1x200");
}

TEST(ResizeAs, WarpsToTheSizeAsked) {
  Image image = GrayImage(2, 4, {0, 20, 40, 60, 20, 40, 60, 80});
  const Box frame = Resized("height: 1 width: 2 interp_mode: AREA", &image);
  EXPECT_EQ(image.shape.ToString(), "1x1x2");
  EXPECT_THAT(image.bytes, ElementsAre(20, 60));  // means of 2x2
  EXPECT_EQ(frame.xmin, 0);
  EXPECT_EQ(frame.ymax, 1);
}

TEST(ResizeAs, CoversTheSizeInProportion) {
  const std::string small = "resize_mode: FIT_SMALL_SIZE ";
  EXPECT_EQ(SizeOf(2, 5, small + "height: 4 width: 4"), "1x4x10");
  EXPECT_EQ(SizeOf(5, 2, small + "height: 4 width: 4"), "1x10x4");
  EXPECT_EQ(SizeOf(2, 5, small + "height: 1 width: 4"), "1x1x4");  // 1.6 rows, rounded down
  EXPECT_EQ(SizeOf(3, 3, small + "height: 7 width: 5"), "1x7x7");
  EXPECT_EQ(SizeOf(300, 500, small + "height: 150 width: 250"), "1x150x250");
  EXPECT_EQ(SizeOf(3, 7, small + "height: 21 width: 49"), "1x21x49");
}

TEST(ResizeAs, PutsABorderAroundWhatFits) {
  const auto padded = [](int height, int width, const std::string& text, Box* frame) {
    Image image = Counting(height, width);
    *frame = Resized("resize_mode: FIT_LARGE_SIZE_AND_PAD interp_mode: NEAREST " + text, &image);
    return image;
  };
  Box frame;
  EXPECT_THAT(padded(2, 2, "height: 5 width: 2 pad_value: 9", &frame).bytes, ElementsAre(9, 9,  //
                                                                                         1, 2,  //
                                                                                         3, 4,  //
                                                                                         9, 9,  //
                                                                                         9, 9));
  EXPECT_THAT(padded(2, 2, "height: 4 width: 2 pad_mode: REPEAT_NEAREST", &frame).bytes,
              ElementsAre(1, 2,  //
                          1, 2,  //
                          3, 4,  //
                          3, 4));
  EXPECT_THAT(padded(2, 2, "height: 4 width: 2 pad_mode: MIRRORED", &frame).bytes,
              ElementsAre(3, 4,  //
                          1, 2,  //
                          3, 4,  //
                          1, 2));
  EXPECT_FLOAT_EQ(frame.ymin, -0.5f);
  EXPECT_FLOAT_EQ(frame.ymax, 1.5f);
  EXPECT_EQ(frame.xmin, 0);
  // The image is doubled and gets as much padding on each side as its width: it is the middle
  // third.
  EXPECT_EQ(padded(4, 2, "height: 8 width: 12", &frame).shape.ToString(), "1x8x12");
  EXPECT_FLOAT_EQ(frame.xmin, -1);
  EXPECT_FLOAT_EQ(frame.xmax, 2);
  EXPECT_EQ(frame.ymin, 0);
}

TEST(ResizeAs, GivesChannelsTheirOwnBorder) {
  Image image;
  image.shape = {3, 1, 1};
  image.bytes = {1, 2, 3};
  Resized("resize_mode: FIT_LARGE_SIZE_AND_PAD height: 1 width: 2 pad_value: [7, 8, 9]", &image);
  EXPECT_THAT(image.bytes, ElementsAre(1, 2, 3, 7, 8, 9));
}

TEST(ResizeAs, DrawsWhetherAndHow) {
  int resized = 0;
  std::set<std::vector<uint8_t>> kinds;
  for (uint64_t sample = 0; sample < 400; ++sample) {
    Image image = GrayImage(1, 3, {0, 30, 240});
    Resized("height: 1 width: 2 prob: 0.25 interp_mode: [NEAREST, AREA]", &image, sample);
    if (image.shape.width == 3) continue;
    ++resized;
    kinds.insert(image.bytes);
  }
  EXPECT_NEAR(resized, 100, 5 * 9);
  // With AREA: (0 + 30 / 2) / 1.5 and (30 / 2 + 240) / 1.5.
  EXPECT_THAT(kinds, ElementsAre(ElementsAre(0, 30), ElementsAre(10, 170)));
}

TEST(ResizeAs, KnowsWhereAllImagesGetOneSize) {
  const auto one = [](const std::string& text) {
    return GivesOneSize(Parse<ResizeParameter>("height: 3 width: 4 " + text));
  };
  EXPECT_TRUE(one(""));
  EXPECT_TRUE(one("resize_mode: FIT_LARGE_SIZE_AND_PAD"));
  EXPECT_FALSE(one("resize_mode: FIT_SMALL_SIZE"));
  EXPECT_FALSE(one("prob: 0.5"));
}

TEST(ResizeAs, ExplainsMistakes) {
  const auto mistake = [](const std::string& text) {
    return MessageOf([&] { CheckResize(Parse<ResizeParameter>(text)); });
  };
  EXPECT_NO_THROW(CheckResize(Parse<ResizeParameter>("height: 3 width: 4 pad_value: [1, 2, 3]")));
  EXPECT_EQ(mistake("height: 3"), "3: resize_param needs height and width");
  EXPECT_THAT(mistake("height: 3 width: 70000"), HasSubstr("3: resize_param: images of this size"));
  EXPECT_THAT(mistake("height: 3 width: 4 prob: 2"), HasSubstr("prob must be from 0 to 1"));
  EXPECT_THAT(mistake("height: 3 width: 4 pad_value: [1, 2]"), HasSubstr("give one pad_value"));
  EXPECT_THAT(
      MessageOf([] { SizeOf(1, 1000, "height: 100 width: 1 resize_mode: FIT_SMALL_SIZE"); }),
      HasSubstr("4: resize_param would make its 1x1000 pixels too long and narrow"));
}

}  // namespace
}  // namespace doppio
