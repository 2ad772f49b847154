// Tests each change of RandAugment and TrivialAugment with numbers computed by hand, and that they
// are drawn as their fields say.
#include "data/augment/auto_augment.h"

#include <gmock/gmock.h>

#include <set>

#include "data/augment/random_changes.h"
#include "proto/data.pb.h"
#include "tests/data/gray_image.h"
#include "tests/data/tiny_data.h"

namespace doppio {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;

// Returns the bytes of `image` after a change.
std::vector<uint8_t> Changed(Image image, const std::string& name, double strength,
                             bool wide = false, double fill = 7) {
  const ImageShape shape = image.shape;
  ApplyAutoChange(name, strength, wide, cv::Scalar::all(fill), &image);
  EXPECT_EQ(image.shape, shape) << name;
  return image.bytes;
}

Image Colours(const std::vector<uint8_t>& bytes) {
  Image image;
  image.shape = {3, 1, static_cast<int>(bytes.size() / 3)};
  image.bytes = bytes;
  return image;
}

TEST(Shear, MovesRowsAndColumnsAroundTheCentre) {
  const std::vector<uint8_t> pixels = {1, 2, 3,  //
                                       4, 5, 6,  //
                                       7, 8, 9};
  Image image = GrayImage(3, 3, pixels);
  Shear(1, 0, 50, &image);
  EXPECT_THAT(image.bytes, ElementsAre(2, 3, 50,  //
                                       4, 5, 6,   //
                                       50, 7, 8));
  image = GrayImage(3, 3, pixels);
  Shear(0, -1, 50, &image);
  EXPECT_THAT(image.bytes, ElementsAre(50, 2, 6,  //
                                       1, 5, 9,   //
                                       4, 8, 50));
}

TEST(AutoChange, ShearsMovesAndTurns) {
  const Image image = GrayImage(1, 3, {10, 20, 30});
  EXPECT_THAT(Changed(image, "Identity", 1), ElementsAre(10, 20, 30));
  // One row is in the centre.
  EXPECT_THAT(Changed(image, "ShearX", 1), ElementsAre(10, 20, 30));
  // A column beside the centre moves by 0.3 of a pixel: 0.7 * 10 + 0.3 * 7 = 9.1.
  EXPECT_THAT(Changed(image, "ShearY", 1), ElementsAre(9, 20, 23));
  EXPECT_THAT(Changed(image, "ShearY", -1, true, 0), ElementsAre(0, 20, 0));
  // 30 degrees of 30 columns, 90 of 135 degrees.
  EXPECT_THAT(Changed(image, "Rotate", 90.0 / 135, true), ElementsAre(7, 20, 7));
  std::vector<uint8_t> row(331, 1);
  row[0] = 200;
  std::vector<uint8_t> moved(331, 1);
  std::fill_n(moved.begin(), 150, 7);
  moved[150] = 200;
  EXPECT_THAT(Changed(GrayImage(1, 331, row), "TranslateX", 1), ElementsAreArray(moved));
  EXPECT_THAT(Changed(GrayImage(331, 1, row), "TranslateY", 1), ElementsAreArray(moved));
  moved.assign(331, 1);
  std::fill_n(moved.begin(), 32, 7);
  moved[32] = 200;
  EXPECT_THAT(Changed(GrayImage(331, 1, row), "TranslateY", 1, true), ElementsAreArray(moved));
  EXPECT_EQ(Changed(GrayImage(1, 331, row), "TranslateX", -1, true)[330], 7);
}

TEST(AutoChange, ChangesValues) {
  const Image image = GrayImage(1, 3, {10, 100, 200});
  EXPECT_THAT(Changed(image, "Brightness", 1), ElementsAre(19, 190, 255));
  EXPECT_THAT(Changed(image, "Brightness", -1), ElementsAre(1, 10, 20));
  EXPECT_THAT(Changed(image, "Brightness", -1, true), ElementsAre(0, 1, 2));
  // The mean is 100: 100 + 0.1 * (value - 100), and 100 + 1.9 * (value - 100).
  const Image around = GrayImage(1, 3, {0, 100, 200});
  EXPECT_THAT(Changed(around, "Contrast", -1), ElementsAre(90, 100, 110));
  EXPECT_THAT(Changed(around, "Contrast", 1), ElementsAre(0, 100, 255));
  // Half of the 4 bits, and of the 6 bits, become 0.
  const Image bits = GrayImage(1, 3, {255, 7, 12});
  EXPECT_THAT(Changed(bits, "Posterize", 0.5), ElementsAre(252, 4, 12));
  EXPECT_THAT(Changed(bits, "Posterize", -0.5, true), ElementsAre(248, 0, 8));
  EXPECT_THAT(Changed(bits, "Posterize", 0), ElementsAre(255, 7, 12));
  // The threshold is 127.5.
  EXPECT_THAT(Changed(GrayImage(1, 4, {127, 128, 255, 0}), "Solarize", 0.5),
              ElementsAre(127, 127, 0, 0));
  EXPECT_THAT(Changed(image, "Solarize", 1), ElementsAre(245, 155, 55));
  EXPECT_THAT(Changed(GrayImage(1, 3, {50, 110, 150}), "AutoContrast", 0),
              ElementsAre(0, 153, 255));
  EXPECT_THAT(Changed(GrayImage(1, 2, {9, 9}), "AutoContrast", 1), ElementsAre(9, 9));
  EXPECT_THAT(Changed(GrayImage(1, 4, {10, 20, 30, 40}), "Equalize", 0),
              ElementsAre(0, 85, 170, 255));
  // The smoothed centre is 130 * 5 / 13, its neighbours 130 / 13. A tenth of the image remains.
  EXPECT_THAT(Changed(GrayImage(3, 3, {0, 0, 0, 0, 130, 0, 0, 0, 0}), "Sharpness", -1),
              ElementsAre(9, 9, 9, 9, 58, 9, 9, 9, 9));
  EXPECT_THAT(Changed(GrayImage(2, 2, {5, 5, 5, 5}), "Sharpness", 1), Each(5));
}

TEST(AutoChange, ChangesColours) {
  // The gray of red is 0.299 * 255 = 76.2: 0.1 * value + 0.9 * 76.
  EXPECT_THAT(Changed(Colours({0, 0, 255, 90, 90, 90}), "Color", -1),
              ElementsAre(68, 68, 94, 90, 90, 90));
  EXPECT_THAT(Changed(GrayImage(1, 2, {3, 4}), "Color", 1), ElementsAre(3, 4));
  // Each channel has a range of its own.
  EXPECT_THAT(Changed(Colours({10, 0, 5, 20, 255, 5}), "AutoContrast", 0),
              ElementsAre(0, 0, 5, 255, 255, 5));
  EXPECT_THAT(Changed(Colours({10, 3, 5, 20, 9, 5}), "Equalize", 0),
              ElementsAre(0, 0, 5, 255, 255, 5));
}

// Returns the results of 300 samples.
std::set<std::vector<uint8_t>> Results(const std::string& text) {
  const auto transform = Parse<TransformationParameter>(text);
  std::set<std::vector<uint8_t>> results;
  for (uint64_t sample = 0; sample < 300; ++sample) {
    const auto changed = [&] {
      Draws draws(Random(3, 4), sample);
      Image image = GrayImage(4, 4,
                              {10, 20, 30, 40, 50, 60, 70, 80,  //
                               90, 100, 110, 120, 130, 140, 150, 200});
      if (transform.has_rand_augment_param()) {
        CheckRandAugment(transform);
        RandAugment(transform, 7, &draws, &image);
      } else {
        CheckTrivialAugment(transform);
        TrivialAugment(transform, 7, &draws, &image);
      }
      return image.bytes;
    };
    results.insert(changed());
    EXPECT_EQ(results.count(changed()), 1u);
  }
  return results;
}

TEST(RandAugment, DrawsAsItsFieldsSay) {
  for (const char* nothing : {"count: 0", "prob: 0", "count: 3 prob: 0"}) {
    EXPECT_EQ(Results("rand_augment_param { " + std::string(nothing) + " }").size(), 1u);
  }
  // At magnitude 0 only AutoContrast and Equalize act.
  EXPECT_EQ(Results("rand_augment_param { magnitude: 0 count: 1 }").size(), 3u);
  // The image itself (also by Identity and Color, for gray), two without an amount, eight with a
  // direction, Posterize and Solarize, at one magnitude.
  EXPECT_EQ(Results("rand_augment_param { count: 1 magnitude: 20 }").size(), 1u + 2 + 16 + 2);
  EXPECT_GT(Results("rand_augment_param { count: 2 }").size(), 50u);
  EXPECT_GT(Results("rand_augment_param { count: 1 magnitude_std: 3 }").size(), 50u);
}

TEST(TrivialAugment, DrawsTheStrength) {
  EXPECT_EQ(Results("trivial_augment_param { prob: 0 }").size(), 1u);
  EXPECT_GT(Results("trivial_augment_param { }").size(), 80u);
}

TEST(AutoChanges, AreThoseOfThePaper) {
  EXPECT_THAT(AutoChanges(), ElementsAre("Identity", "ShearX", "ShearY", "TranslateX", "TranslateY",
                                         "Rotate", "Brightness", "Color", "Contrast", "Sharpness",
                                         "Posterize", "Solarize", "AutoContrast", "Equalize"));
}

}  // namespace
}  // namespace doppio
