#include "tools/detect/fitted_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/file.h"
#include "data/decode/encode.h"

namespace doppio {
namespace {

using testing::Each;
using testing::HasSubstr;

// Writes a gray image of one value and returns its path.
std::string GrayFile(int height, int width, uint8_t value) {
  Image image;
  image.shape = {1, height, width};
  image.bytes.assign(image.shape.count(), value);
  const std::string path = testing::TempDir() + "fitted_image_test.png";
  WriteFileAtomically(path, Encode(image, ImageFormat::kPng));
  return path;
}

ImageFitter Fitter(int height, int width, const ImageFit& fit) {
  Preprocessing record;
  record.add_mean(10);
  record.set_scale(0.5);
  return ImageFitter(record, {1, height, width}, fit);
}

TEST(FittedImage, DistortsToTheInput) {
  const FittedImage fitted = Fitter(4, 6, {}).Read(GrayFile(8, 8, 50));
  EXPECT_EQ("", fitted.mistake);
  EXPECT_EQ(std::make_pair(8, 8), std::make_pair(fitted.height, fitted.width));
  EXPECT_EQ(std::make_pair(4, 6), std::make_pair(fitted.rows, fitted.columns));
  EXPECT_EQ(24u, fitted.values.size());
  EXPECT_THAT(fitted.values, Each(20));
}

TEST(FittedImage, PadsWithZerosOnTheRightAndAtTheBottom) {
  const ImageFit pad = {ImageFit::kPad, 0, 0};
  const FittedImage wide = Fitter(4, 4, pad).Read(GrayFile(4, 8, 50));
  EXPECT_EQ(0.5, wide.scale);
  EXPECT_EQ(std::make_pair(2, 4), std::make_pair(wide.rows, wide.columns));
  EXPECT_EQ((std::vector<float>{20, 20, 20, 20, 20, 20, 20, 20, 0, 0, 0, 0, 0, 0, 0, 0}),
            wide.values);
  const FittedImage high = Fitter(2, 3, pad).Read(GrayFile(6, 3, 50));
  EXPECT_EQ((std::vector<float>{20, 0, 0, 20, 0, 0}), high.values);
}

TEST(FittedImage, ScalesTheShortSide) {
  const ImageFit fit = {ImageFit::kScale, 30, 40};
  FittedImage fitted = Fitter(4, 4, fit).Read(GrayFile(10, 12, 50));
  EXPECT_EQ(3, fitted.scale);
  EXPECT_EQ("1x30x36", fitted.input.ToString());
  EXPECT_EQ(30 * 36u, fitted.values.size());
  // Three times as large, the long side would have 60 pixels.
  fitted = Fitter(4, 4, fit).Read(GrayFile(10, 20, 50));
  EXPECT_EQ(2, fitted.scale);
  EXPECT_EQ("1x20x40", fitted.input.ToString());
}

TEST(FittedImage, SaysWhyAnImageCannotBeRead) {
  const FittedImage fitted = Fitter(4, 4, {}).Read("nowhere.png");
  EXPECT_THAT(fitted.mistake, HasSubstr("cannot read"));
}

}  // namespace
}  // namespace doppio
