// Tests each change of noise_param by hand.
#include "data/augment/noise.h"

#include <algorithm>
#include <cstdlib>

#include "tests/data/tiny_data.h"

namespace doppio {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<uint8_t> Noisy(const ImageShape& shape, const std::vector<uint8_t>& bytes,
                           const std::string& text, uint64_t sample = 0) {
  Image image;
  image.shape = shape;
  image.bytes = bytes;
  Draws draws(Random(1, 2), sample);
  AddNoise(Parse<NoiseParameter>(text), &draws, &image);
  EXPECT_EQ(image.shape, shape);
  return image.bytes;
}

std::vector<uint8_t> Gray(const std::vector<uint8_t>& row, const std::string& text) {
  return Noisy({1, 1, static_cast<int>(row.size())}, row, text);
}

std::vector<uint8_t> Pixel(const std::vector<uint8_t>& bgr, const std::string& text) {
  return Noisy({3, 1, 1}, bgr, text);
}

TEST(AddNoise, ChangesEachValue) {
  EXPECT_THAT(Gray({0, 1, 255}, ""), ElementsAre(0, 1, 255));
  EXPECT_THAT(Gray({0, 1, 255}, "inverse: true"), ElementsAre(255, 254, 0));
  EXPECT_THAT(Gray({0, 63, 64, 255}, "posterize: true"), ElementsAre(32, 32, 96, 224));
  EXPECT_THAT(Gray({0, 63, 64, 255}, "inverse: true posterize: true"),
              ElementsAre(223, 223, 159, 31));  // posterize comes first
}

TEST(AddNoise, TakesColourAway) {
  // 0.587 * 100 + 0.299 * 50 = 73.65
  EXPECT_THAT(Pixel({0, 100, 50}, "decolorize: true"), ElementsAre(74, 74, 74));
  EXPECT_THAT(Gray({5}, "decolorize: true"), ElementsAre(5));
}

TEST(AddNoise, ChangesColourSpaces) {
  EXPECT_THAT(Pixel({0, 0, 255}, "convert_to_hsv: true"), ElementsAre(0, 255, 255));
  EXPECT_THAT(Pixel({0, 128, 0}, "convert_to_hsv: true"), ElementsAre(60, 255, 128));
  EXPECT_THAT(Pixel({255, 0, 0}, "convert_to_hsv: true"), ElementsAre(120, 255, 255));
  EXPECT_THAT(Pixel({255, 255, 255}, "convert_to_lab: true"), ElementsAre(255, 128, 128));
  EXPECT_THAT(Pixel({0, 0, 0}, "convert_to_lab: true"), ElementsAre(0, 128, 128));
  EXPECT_THAT(
      MessageOf([] { Gray({5}, "convert_to_hsv: true"); }),
      HasSubstr("4: noise_param: conversion to another colour space needs images with 3 channels"));
}

TEST(AddNoise, SpreadsHistograms) {
  EXPECT_THAT(Gray({10, 20, 30, 40}, "hist_eq: true"), ElementsAre(0, 85, 170, 255));
  // In coloured pixels, only the luma is equalised.
  EXPECT_THAT(Noisy({3, 1, 2}, {10, 10, 10, 40, 40, 40}, "hist_eq: true"),
              ElementsAre(0, 0, 0, 255, 255, 255));
  std::vector<uint8_t> ramp;
  for (int i = 0; i < 32 * 32; ++i) ramp.push_back(static_cast<uint8_t>(100 + i % 16));
  const std::vector<uint8_t> spread = Noisy({1, 32, 32}, ramp, "clahe: true");
  const auto ends = std::minmax_element(spread.begin(), spread.end());
  EXPECT_GT(*ends.second - *ends.first, 2 * 15);
}

TEST(AddNoise, BlursAndErodes) {
  std::vector<uint8_t> dot(9 * 9, 0);
  dot[4 * 9 + 4] = 255;
  const std::vector<uint8_t> blurred = Noisy({1, 9, 9}, dot, "gauss_blur: true");
  // The middle one of the 7 weights is 1 / (1 + 2 (e^(-1/4.5) + e^(-4/4.5) + e^(-9/4.5))) = 0.2707.
  EXPECT_NEAR(blurred[4 * 9 + 4], 255 * 0.2707 * 0.2707, 1);
  EXPECT_NEAR(blurred[4 * 9 + 5], 255 * 0.2707 * 0.2707 * 0.8007, 1);
  EXPECT_EQ(blurred[4 * 9 + 8], 0);
  EXPECT_THAT(Noisy({1, 3, 3},
                    {9, 9, 9,  //
                     9, 1, 9,  //
                     9, 9, 9},
                    "erode: true"),
              ElementsAre(9, 1, 9,  //
                          1, 1, 1,  //
                          9, 1, 9));
}

TEST(AddNoise, CompressesAsAskedFor) {
  std::vector<uint8_t> pixels;
  for (int i = 0; i < 16 * 16; ++i) pixels.push_back(static_cast<uint8_t>(37 * i % 251));
  const auto worst = [&](const std::string& text) {
    const std::vector<uint8_t> now = Noisy({1, 16, 16}, pixels, text);
    int most = 0;
    for (size_t i = 0; i < pixels.size(); ++i) most = std::max(most, std::abs(now[i] - pixels[i]));
    return most;
  };
  EXPECT_EQ(worst("jpeg: -1"), 0);
  EXPECT_LE(worst("jpeg: 100"), 3);
  EXPECT_GT(worst("jpeg: 2"), 50);
}

TEST(AddNoise, ThrowsDots) {
  const std::vector<uint8_t> plain(20 * 20, 100);
  const auto dots = [&](const std::string& text) {
    return Noisy({1, 20, 20}, plain, "saltpepper: true saltpepper_param { " + text + " }");
  };
  const auto count = [](const std::vector<uint8_t>& bytes, uint8_t value) {
    return std::count(bytes.begin(), bytes.end(), value);
  };
  EXPECT_THAT(dots(""), Each(100));
  const std::vector<uint8_t> nines = dots("fraction: 0.1 value: 9.9");
  EXPECT_LE(count(nines, 9), 40);  // some dots coincide
  EXPECT_GT(count(nines, 9), 30);
  EXPECT_EQ(count(nines, 9) + count(nines, 100), 400);
  const std::vector<uint8_t> both = dots("fraction: 0.1");
  EXPECT_GT(count(both, 0), 10);
  EXPECT_GT(count(both, 255), 10);
  EXPECT_THAT(
      Pixel({1, 2, 3}, "saltpepper: true saltpepper_param { fraction: 1 value: [7, 8, 9] }"),
      ElementsAre(7, 8, 9));
  EXPECT_THAT(Gray({1}, "saltpepper_param { fraction: 1 value: 7 }"), ElementsAre(1));
}

TEST(AddNoise, HappensAlwaysOrWithItsProbability) {
  int changed = 0;
  for (uint64_t sample = 0; sample < 400; ++sample) {
    changed += Noisy({1, 1, 1}, {5}, "inverse: true prob: 0.25", sample)[0] == 250;
    EXPECT_THAT(Noisy({1, 1, 1}, {5}, "inverse: true", sample), ElementsAre(250));
    EXPECT_THAT(Noisy({1, 1, 1}, {5}, "inverse: true prob: 0", sample), ElementsAre(5));
  }
  EXPECT_NEAR(changed, 100, 5 * 9);
}

TEST(AddNoise, ExplainsMistakes) {
  const auto mistake = [](const std::string& text) {
    return MessageOf([&] { CheckNoise(Parse<NoiseParameter>(text)); });
  };
  EXPECT_NO_THROW(CheckNoise(
      Parse<NoiseParameter>("prob: 1 jpeg: 30 saltpepper_param { fraction: 0.1 value: 3 }")));
  EXPECT_THAT(mistake("prob: 2"), HasSubstr("3: noise_param: prob must be from 0 to 1"));
  EXPECT_THAT(mistake("jpeg: 101"), HasSubstr("jpeg is a quality up to 100"));
  EXPECT_THAT(mistake("convert_to_hsv: true convert_to_lab: true"), HasSubstr("set only one of"));
  EXPECT_THAT(mistake("saltpepper_param { fraction: 2 }"), HasSubstr("fraction must be from 0"));
  EXPECT_THAT(mistake("saltpepper_param { value: [1, 2] }"), HasSubstr("give one value"));
  EXPECT_THAT(mistake("saltpepper_param { value: 256 }"), HasSubstr("value must be from 0 to 255"));
}

}  // namespace
}  // namespace doppio
