#include "data/augment/augment.h"

#include <algorithm>
#include <set>

#include "tests/data/tiny_data.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Random kRandom(5, 6);

Augment Make(const std::string& text, Phase phase = TEST) {
  return Augment(Parse<TransformationParameter>(text), phase, kRandom);
}

std::vector<float> Apply(const Augment& augment, const Pixels& image, uint64_t sample = 0) {
  std::vector<float> to(static_cast<size_t>(augment.OutputShape(image.shape).count()));
  CutPixels cut;
  augment.Apply(image, sample, &cut);
  augment.Finish(cut, augment.OutputShape(image.shape), to.data());
  return to;
}

// An image of two 3x4 channels with the values 0 to 11 and 100 to 111.
class AugmentTest : public testing::Test {
 protected:
  AugmentTest() {
    for (int c = 0; c < 2; ++c) {
      for (int i = 0; i < 12; ++i) bytes_.push_back(static_cast<uint8_t>(100 * c + i));
    }
    image_ = {{2, 3, 4}, bytes_.data(), nullptr, false};
  }
  std::string MeanFile(const std::string& text) {
    const std::string path = ScratchPath("mean.binaryproto");
    WriteFile(path, Parse<BlobProto>(text).SerializeAsString());
    return "mean_file: '" + path + "'";
  }
  std::vector<uint8_t> bytes_;
  Pixels image_;
};

TEST_F(AugmentTest, ChangesNothingWhenNothingIsAsked) {
  EXPECT_EQ(Apply(Make(""), image_), std::vector<float>(bytes_.begin(), bytes_.end()));
}

TEST_F(AugmentTest, SubtractsTheMeanBeforeItScales) {
  const std::vector<float> one = Apply(Make("mean_value: 2 scale: 0.5"), image_);
  EXPECT_EQ(one[0], -1);     // (0 - 2) * 0.5
  EXPECT_EQ(one[23], 54.5);  // (111 - 2) * 0.5
  const std::vector<float> each = Apply(Make("mean_value: 2 mean_value: 100 scale: 0.5"), image_);
  EXPECT_EQ(each[0], -1);
  EXPECT_EQ(each[23], 5.5);  // (111 - 100) * 0.5
}

// The values are (pixel - mean) * (scale / deviation).
TEST_F(AugmentTest, DividesByTheDeviation) {
  const std::vector<float> one = Apply(Make("mean_value: 2 std_value: 4"), image_);
  EXPECT_EQ(one[0], -0.5);
  EXPECT_EQ(one[23], 27.25);
  const std::string each = "mean_value: [2, 100] scale: 0.5 std_value: [4, 0.25] ";
  EXPECT_EQ(Apply(Make(each), image_)[0], -0.25);
  EXPECT_EQ(Apply(Make(each), image_)[23], 22);
  EXPECT_EQ(Apply(Make("std_value: [4, 0.5] crop_size: 2"), image_)[7], 212);  // 106 / 0.5
  // Also where rows are mirrored, for a mean image, and for records of floats.
  const Augment mirrors = Make(each + "mirror: true", TRAIN);
  std::set<float> first, last;
  for (uint64_t sample = 0; sample < 20; ++sample) {
    first.insert(Apply(mirrors, image_, sample)[0]);
    last.insert(Apply(mirrors, image_, sample)[23]);
  }
  EXPECT_THAT(first, ElementsAre(-0.25, 0.125));  // pixels 0 and 3
  EXPECT_THAT(last, ElementsAre(16, 22));         // pixels 108 and 111
  std::string mean = "num: 1 channels: 2 height: 3 width: 4";
  for (int i = 0; i < 24; ++i) mean += " data: 1";
  EXPECT_EQ(Apply(Make(MeanFile(mean) + " std_value: [1, 2]"), image_)[23], 55);
  const std::vector<float> floats(bytes_.begin(), bytes_.end());
  const Pixels record = {{2, 3, 4}, nullptr, floats.data(), false};
  EXPECT_EQ(Apply(Make(each), record)[23], 22);
}

TEST_F(AugmentTest, ExplainsMistakesInDeviations) {
  for (const char* value : {"0", "-1", "nan", "inf"}) {
    EXPECT_THAT(MessageOf([&] { Make("std_value: " + std::string(value)); }),
                HasSubstr("it must be a finite number above 0"));
  }
  EXPECT_THAT(MessageOf([&] { Apply(Make("std_value: [1, 2, 3]"), image_); }),
              HasSubstr("transform_param has 3 std_value, but the image has 2 channels; give one"));
}

TEST_F(AugmentTest, CropsAtTheCentreWhenTesting) {
  // The crop begins at row (3 - 2) / 2 = 0 and column (4 - 2) / 2 = 1.
  EXPECT_THAT(Apply(Make("crop_size: 2"), image_), ElementsAre(1, 2, 5, 6, 101, 102, 105, 106));
  EXPECT_THAT(Apply(Make("crop_h: 1 crop_w: 2"), image_), ElementsAre(5, 6, 105, 106));
}

TEST_F(AugmentTest, CropsTheMeanFileWithTheImage) {
  std::string text = "num: 1 channels: 2 height: 3 width: 4";
  for (int i = 0; i < 24; ++i) text += " data: " + std::to_string(10 * i);
  const Augment augment = Make(MeanFile(text) + " crop_size: 2 scale: 2");
  // Pixel 1 minus mean 10, pixel 2 minus 20, pixel 5 minus 50, ...; in channel 1: 101 minus 130.
  EXPECT_THAT(Apply(augment, image_), ElementsAre(-18, -36, -90, -108, -58, -76, -130, -148));
}

TEST_F(AugmentTest, ReadsAMeanWithAShapeAndDoubles) {
  std::string text = "shape { dim: 2 dim: 3 dim: 4 }";
  for (int i = 0; i < 24; ++i) text += " double_data: 1";
  EXPECT_EQ(Apply(Make(MeanFile(text)), image_)[23], 110);
}

TEST_F(AugmentTest, CropsAtRandomWhenTraining) {
  const Augment augment = Make("crop_size: 2", TRAIN);
  std::set<float> corners;
  for (uint64_t sample = 0; sample < 200; ++sample) {
    const std::vector<float> out = Apply(augment, image_, sample);
    corners.insert(out[0]);
    EXPECT_EQ(out, Apply(augment, image_, sample)) << "sample " << sample;
    EXPECT_EQ(out[3], out[0] + 5);
    EXPECT_EQ(out[4], out[0] + 100);
  }
  EXPECT_THAT(corners, ElementsAre(0, 1, 2, 4, 5, 6));  // all six crop positions
}

TEST_F(AugmentTest, MirrorsHalfOfTheImagesInBothPhases) {
  for (Phase phase : {TRAIN, TEST}) {
    const Augment augment = Make("mirror: true mean_value: 1", phase);
    int mirrored = 0;
    for (uint64_t sample = 0; sample < 400; ++sample) {
      const std::vector<float> out = Apply(augment, image_, sample);
      if (out[0] == -1) continue;
      ++mirrored;
      EXPECT_EQ(out[0], 2);
      EXPECT_EQ(out[3], -1);
      EXPECT_EQ(out[23], 107);  // the last row of channel 1 starts with 108
    }
    EXPECT_NEAR(mirrored, 200, 50);  // five standard deviations
  }
}

TEST_F(AugmentTest, FlipsHalfOfTheImagesInTraining) {
  const Augment augment = Make("flip: true scale: 2", TRAIN);
  int flipped = 0;
  for (uint64_t sample = 0; sample < 400; ++sample) {
    const std::vector<float> out = Apply(augment, image_, sample);
    EXPECT_EQ(out, Apply(augment, image_, sample)) << "sample " << sample;
    if (out[0] == 0) continue;
    ++flipped;
    EXPECT_THAT(std::vector<float>(out.begin(), out.begin() + 8),
                ElementsAre(16, 18, 20, 22, 8, 10, 12, 14));
    EXPECT_EQ(out[23], 206);  // the last row of channel 1 was its first
  }
  EXPECT_NEAR(flipped, 200, 50);  // five standard deviations
  EXPECT_EQ(Apply(Make("flip: true"), image_), std::vector<float>(bytes_.begin(), bytes_.end()));
}

// The turns of the square 1 2 / 3 4, counter-clockwise.
TEST_F(AugmentTest, TurnsSquaresByQuarters) {
  const std::vector<uint8_t> square = {1, 2, 3, 4};
  const std::vector<float> floats(square.begin(), square.end());
  const std::string mean = MeanFile("num: 1 channels: 1 height: 2 width: 2 data: [1, 1, 1, 1]");
  const std::set<std::vector<float>> turns = {
      {1, 2, 3, 4}, {2, 4, 1, 3}, {4, 3, 2, 1}, {3, 1, 4, 2}};
  const auto seen = [&](const std::string& fields, bool of_floats, float add) {
    const Augment augment = Make("quarter_turns: true " + fields, TRAIN);
    const Pixels image{
        {1, 2, 2}, of_floats ? nullptr : square.data(), of_floats ? floats.data() : nullptr, false};
    std::set<std::vector<float>> all;
    for (uint64_t sample = 0; sample < 100; ++sample) {
      std::vector<float> out = Apply(augment, image, sample);
      for (float& value : out) value += add;
      all.insert(out);
    }
    return all;
  };
  EXPECT_EQ(seen("", false, 0), turns);
  EXPECT_EQ(seen("", true, 0), turns);
  EXPECT_EQ(seen(mean, false, 1), turns);
  for (const char* more : {"mirror: true", "flip: true", "mirror: true flip: true"}) {
    EXPECT_EQ(seen(more, false, 0).size(), 8u) << more;
    EXPECT_EQ(seen(more, true, 0), seen(more, false, 0)) << more;
    EXPECT_EQ(seen(more + (" " + mean), false, 1), seen(more, false, 0)) << more;
  }
}

TEST_F(AugmentTest, TurnsOnlySquares) {
  EXPECT_THAT(MessageOf([&] { Make("quarter_turns: true", TRAIN).OutputShape(image_.shape); }),
              HasSubstr("3: quarter_turns needs square samples, but they are 3x4; set crop_size"));
  Make("quarter_turns: true crop_size: 2", TRAIN).OutputShape(image_.shape);
  Make("quarter_turns: true").OutputShape(image_.shape);  // nothing turns in a test
}

// A pixel of an image of zeros, and a box around it, stay together.
TEST_F(AugmentTest, TurnsBoxesWithTheirImage) {
  const Augment augment = Make("crop_size: 3 mirror: true flip: true quarter_turns: true", TRAIN);
  std::vector<uint8_t> pixels(16);
  pixels[1 * 4 + 2] = 1;
  const Pixels image{{1, 4, 4}, pixels.data(), nullptr, false};
  ObjectBox object;
  object.box = {0.5F, 0.25F, 0.75F, 0.5F};  // column 2, row 1
  std::set<std::vector<float>> places;
  for (uint64_t sample = 0; sample < 200; ++sample) {
    const std::vector<float> out = Apply(augment, image, sample);
    const Cut cut = augment.CutOf(image.shape, sample);
    const Box box = augment.ObjectsIn(cut, image.shape, {object})[0].box;
    const auto at = std::find(out.begin(), out.end(), 1) - out.begin();
    EXPECT_NEAR(box.xmin * 3, static_cast<float>(at % 3), 1e-5) << "sample " << sample;
    EXPECT_NEAR(box.ymin * 3, static_cast<float>(at / 3), 1e-5) << "sample " << sample;
    EXPECT_NEAR(box.width() * 3, 1, 1e-5);
    EXPECT_NEAR(box.height() * 3, 1, 1e-5);
    places.insert(out);
  }
  EXPECT_EQ(places.size(), 9u);  // by the place of the crop and the turn, the pixel is anywhere
}

TEST_F(AugmentTest, SeparatesInterleavedColours) {
  const std::vector<uint8_t> bgr = {1, 2, 3, 4, 5, 6};
  const Pixels image{{3, 1, 2}, bgr.data(), nullptr, true};
  EXPECT_THAT(Apply(Make("mean_value: [1, 0, 0]"), image), ElementsAre(0, 3, 2, 5, 3, 6));
}

TEST_F(AugmentTest, TakesBytesAndFloatsInTurn) {
  const float value = -1.5f;
  const Pixels one{{1, 1, 1}, nullptr, &value, false};
  const Augment augment = Make("scale: 2 mean_value: 1");
  CutPixels cut;
  double out[24];
  for (int round = 0; round < 2; ++round) {
    augment.Apply(image_, 0, &cut);
    augment.Finish(cut, image_.shape, out);
    EXPECT_EQ(out[23], 220);  // (111 - 1) * 2
    augment.Apply(one, 0, &cut);
    augment.Finish(cut, one.shape, out);
    EXPECT_EQ(out[0], -5);
  }
}

TEST_F(AugmentTest, TakesFloats) {
  const std::vector<float> values = {0.5f, -1.5f};
  const Pixels image{{1, 1, 2}, nullptr, values.data(), false};
  EXPECT_THAT(Apply(Make("scale: 2"), image), ElementsAre(1, -3));
}

// NVCaffe crops the middle of the mean for images of random size.
TEST_F(AugmentTest, SubtractsTheMiddleOfTheMeanWhereSizesVary) {
  const auto parameter = Parse<TransformationParameter>(
      MeanFile("num: 1 channels: 2 height: 3 width: 3 data: [0, 1, 2, 3, 4, 5, 6, 7, 8, "
               "0, 10, 20, 30, 40, 50, 60, 70, 80]") +
      " crop_size: 1");
  EXPECT_THAT(Apply(Augment(parameter, TEST, Random(1, 2), true), image_), ElementsAre(1, 65));
  EXPECT_THAT(MessageOf([&] { Augment(parameter, TEST, Random(1, 2)).OutputShape(image_.shape); }),
              HasSubstr("must be made from images of the same size"));
  TransformationParameter larger = parameter;
  larger.set_crop_size(0);
  EXPECT_THAT(
      MessageOf([&] { Augment(larger, TEST, Random(1, 2), true).OutputShape(image_.shape); }),
      HasSubstr("is 2x3x3, too little for samples of 2x3x4"));
}

TEST_F(AugmentTest, SaysThatTheCropIsLargerThanTheImage) {
  EXPECT_EQ(MessageOf([&] { Make("crop_size: 5").OutputShape(image_.shape); }),
            "3: the crop 5x5 is larger than the image 3x4");
}

TEST_F(AugmentTest, SaysThatTheMeanDoesNotFit) {
  EXPECT_EQ(MessageOf([&] { Make("mean_value: [1, 2, 3]").OutputShape(image_.shape); }),
            "3: transform_param has 3 mean_value, but the image has 2 channels; give one, or one "
            "per channel");
  const Augment augment = Make(MeanFile("num: 1 channels: 1 height: 1 width: 2 data: [1, 2]"));
  EXPECT_THAT(MessageOf([&] { augment.OutputShape(image_.shape); }),
              HasSubstr("is 1x1x2, but the image is 2x3x4"));
}

TEST_F(AugmentTest, SaysWhatIsWrongWithTheMeanFile) {
  EXPECT_EQ(MessageOf([&] { Make("mean_file: 'none.binaryproto'"); }),
            "4: cannot read 'none.binaryproto': No such file or directory");
  const std::string path = ScratchPath("mean.binaryproto");
  WriteFile(path, "\xff\xff\xff\xff");
  EXPECT_EQ(MessageOf([&] { Make("mean_file: '" + path + "'"); }),
            "4: mean file '" + path + "' is not a Caffe mean (a binary BlobProto)");
  EXPECT_EQ(MessageOf([&] { Make(MeanFile("num: 1 channels: 1 height: 2 width: 2 data: 1")); }),
            "4: mean file '" + path + "' holds 1 values, but its shape is 1x2x2");
  EXPECT_EQ(
      MessageOf([&] { Make(MeanFile("num: 2 channels: 1 height: 1 width: 1 data: [1, 1]")); }),
      "4: mean file '" + path + "' does not hold one image");
}

TEST_F(AugmentTest, RefusesContradictions) {
  EXPECT_EQ(MessageOf([&] { Make("force_color: true force_gray: true"); }),
            "3: transform_param: set only one of force_color and force_gray");
  EXPECT_EQ(MessageOf([&] { Make("mean_file: 'x' mean_value: 1"); }),
            "3: transform_param: set only one of mean_file and mean_value");
  EXPECT_EQ(MessageOf([&] { Make("crop_size: 3 crop_h: 2"); }),
            "3: transform_param: set crop_size, or both crop_h and crop_w");
}

TEST_F(AugmentTest, RefusesWhatOtherCaffesWouldDoToTheImages) {
  EXPECT_THAT(MessageOf([&] { Make("resize_param { height: 3 }"); }),
              HasSubstr("3: transform_param: resize_param is for layers Data, ImageData and "
                        "AnnotatedData, not for this one; remove it"));
  EXPECT_THAT(MessageOf([&] { Make("cutout_param { size: 3 }"); }),
              HasSubstr("cutout_param is for layers Data and ImageData, not for this one"));
  EXPECT_THAT(MessageOf([&] { Make("flow: true mirror: true"); }),
              HasSubstr("flow is not implemented"));
  EXPECT_THAT(MessageOf([&] { Make("flow: true flip: true"); }), HasSubstr("remove flip or flow"));
  EXPECT_THAT(MessageOf([&] { Make("flow: true quarter_turns: true"); }),
              HasSubstr("remove quarter_turns or flow"));
  EXPECT_THAT(MessageOf([&] { Make("bgr2rgb: true"); }), HasSubstr("bgr2rgb is not implemented"));
  EXPECT_THAT(MessageOf([&] { Make("pad: 4"); }),
              HasSubstr("pad is for layers Data and ImageData"));
}

TEST_F(AugmentTest, TakesFieldsOfOtherCaffesThatAskForNothing) {
  Make("flow: true");
  Make("flow: false mirror: true bgr2rgb: false pad: 0");
}

}  // namespace
}  // namespace doppio
