// Tests the source that draws the random changes of transform_param.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "data/augment/augmented_source.h"
#include "data/augment/transforms.h"
#include "proto/data.pb.h"
#include "tests/data/tiny_data.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

// A source of one gray 4x4 image with the values 0, 10, ..., 150.
class TinySource : public Source {
 public:
  TinySource() {
    for (int i = 0; i < 16; ++i) bytes_.push_back(static_cast<uint8_t>(10 * i));
  }
  int64_t size() const override { return 1; }
  void Read(int64_t, Record* record) const override {
    record->pixels = {{1, 4, 4}, bytes_.data(), nullptr, false};
    record->encoded = nullptr;
    record->labels = {3};
  }
  std::string Name(int64_t) const override { return "tiny"; }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

std::unique_ptr<Source> Augmented(const std::string& text, Phase phase = TRAIN) {
  return OpenAugmented(std::make_unique<TinySource>(), Parse<TransformationParameter>(text), phase,
                       Random(7, 8));
}

std::vector<uint8_t> Sample(const Source& source, uint64_t sample, ImageShape* shape = nullptr) {
  Record record;
  source.ReadSample(0, sample, &record);
  EXPECT_EQ(record.labels, std::vector<float>{3});
  if (shape != nullptr) *shape = record.pixels.shape;
  return {record.pixels.bytes, record.pixels.bytes + record.pixels.shape.count()};
}

TEST(Transforms, HaveFieldsAndRandomNumbersOfTheirOwn) {
  std::set<std::string> fields;
  std::set<uint64_t> streams;
  for (const Transform& transform : Transforms()) {
    ASSERT_FALSE(transform.fields.empty());
    for (const auto* names : {&transform.fields, &transform.options}) {
      for (const std::string& name : *names) {
        EXPECT_NE(TransformationParameter::descriptor()->FindFieldByName(name), nullptr) << name;
        EXPECT_TRUE(fields.insert(name).second) << name;
        EXPECT_TRUE(HasTransformField(name)) << name;
      }
    }
    EXPECT_LT(transform.stream, Transform::kStreams);
    EXPECT_TRUE(streams.insert(transform.stream).second) << transform.fields[0];
  }
  EXPECT_FALSE(HasTransformField("use_gpu_transform"));
}

TEST(Augmented, PadsWithZerosInBothPhases) {
  for (const Phase phase : {TRAIN, TEST}) {
    ImageShape shape;
    const auto source = Augmented("pad: 1", phase);
    EXPECT_THAT(Sample(*source, 0, &shape), ElementsAre(0, 0, 0, 0, 0, 0,          //
                                                        0, 0, 10, 20, 30, 0,       //
                                                        0, 40, 50, 60, 70, 0,      //
                                                        0, 80, 90, 100, 110, 0,    //
                                                        0, 120, 130, 140, 150, 0,  //
                                                        0, 0, 0, 0, 0, 0));
    EXPECT_EQ(shape, (ImageShape{1, 6, 6}));
  }
}

TEST(Augmented, IsTheSourceItselfWhereNothingIsAsked) {
  EXPECT_NE(dynamic_cast<TinySource*>(Augmented("mirror: true crop_size: 2").get()), nullptr);
  for (const char* text :
       {"rotation_param { max_degrees: 10 }", "cutout_param { size: 2 }", "rand_augment_param { }",
        "trivial_augment_param { }", "random_erasing_param { prob: 1 }",
        "distort_param { hue_prob: 1 }", "shift_param { width: 0.1 }"}) {
    EXPECT_NE(dynamic_cast<TinySource*>(Augmented(text, TEST).get()), nullptr) << text;
    EXPECT_EQ(dynamic_cast<TinySource*>(Augmented(text, TRAIN).get()), nullptr) << text;
  }
}

TEST(Augmented, ChangesNothingByNothing) {
  const auto source = Augmented(
      "rotation_param { max_degrees: 0 } cutout_param { size: 2 prob: 0 } "
      "shift_param { height: 0.5 prob: 0 } "
      "random_resize_param { min_size: 4 max_size: 4 }");
  for (uint64_t sample = 0; sample < 20; ++sample) {
    EXPECT_THAT(Sample(*source, sample), ElementsAreArray(TinySource().bytes()));
  }
}

TEST(Augmented, DependsOnTheSampleAlone) {
  const char* kText =
      "rotation_param { max_degrees: 30 } cutout_param { size: 2 } shift_param { width: 0.4 } "
      "rand_augment_param { } random_erasing_param { fill: NOISE } "
      "random_aspect_ratio_param { aspect_ratio_change: 1.3 resize_param { height: 5 width: 6 } }";
  const auto a = Augmented(kText), b = Augmented(kText);
  std::set<std::vector<uint8_t>> all;
  for (int i = 0; i < 50; ++i) {
    const auto sample = static_cast<uint64_t>(i);
    all.insert(Sample(*a, sample));
    EXPECT_EQ(Sample(*a, 49 - sample), Sample(*b, 49 - sample));
  }
  EXPECT_GT(all.size(), 45u);
}

TEST(Augmented, CutsOutSquaresOfTheMean) {
  const auto source = Augmented("cutout_param { size: 2 count: 1 } mean_value: 77.9");
  std::set<int> areas;
  for (uint64_t sample = 0; sample < 200; ++sample) {
    const std::vector<uint8_t> bytes = Sample(*source, sample);
    areas.insert(static_cast<int>(std::count(bytes.begin(), bytes.end(), 77)));
  }
  EXPECT_THAT(areas, ElementsAre(1, 2, 4));  // in a corner, at an edge, inside
}

TEST(Augmented, ErasesRectangles) {
  const std::string square =
      "min_area_ratio: 0.25 max_area_ratio: 0.25 aspect_ratio_change: 1 prob: 1 ";
  const auto source = Augmented("random_erasing_param { " + square + "} mean_value: 77.9");
  std::set<std::vector<uint8_t>> results;
  for (uint64_t sample = 0; sample < 200; ++sample) {
    const std::vector<uint8_t> bytes = Sample(*source, sample);
    EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 77), 4);
    results.insert(bytes);
  }
  EXPECT_EQ(results.size(), 9u);  // all places of a square of 2 x 2 in 4 x 4 pixels
  const TinySource plain;
  const auto changed = [&](const std::string& text, uint64_t sample) {
    const std::vector<uint8_t> bytes = Sample(*Augmented(text), sample);
    int count = 0;
    for (size_t i = 0; i < bytes.size(); ++i) count += bytes[i] != plain.bytes()[i];
    return count;
  };
  const std::string noise = "random_erasing_param { " + square + "fill: NOISE }";
  std::set<std::vector<uint8_t>> noises;
  for (uint64_t sample = 0; sample < 20; ++sample) {
    EXPECT_LE(changed(noise, sample), 4);
    EXPECT_GE(changed(noise, sample), 3);  // a random value may be the image's own
    noises.insert(Sample(*Augmented(noise), sample));
    // Nothing is covered where no size is drawn.
    EXPECT_EQ(changed("random_erasing_param { max_attempt: 0 prob: 1 }", sample), 0);
    EXPECT_EQ(changed("random_erasing_param { count: 0 prob: 1 }", sample), 0);
  }
  EXPECT_EQ(noises.size(), 20u);
  int covered = 0;
  for (uint64_t sample = 0; sample < 400; ++sample)
    covered += changed("random_erasing_param { min_area_ratio: 0.2 } mean_value: 255", sample) > 0;
  EXPECT_NEAR(covered, 200, 50);  // five standard deviations
}

// Columns move by up to a quarter of the width of 4; rows stay.
TEST(Augmented, MovesImagesWithinItsShare) {
  const auto source = Augmented("shift_param { width: 0.25 }");
  int left = 0, right = 0;
  for (uint64_t sample = 0; sample < 400; ++sample) {
    const std::vector<uint8_t> bytes = Sample(*source, sample);
    for (int y = 0; y < 4; ++y) {
      // Neighbouring columns differ by 10, so a pixel's value reveals the shift.
      const size_t second = 4 * static_cast<size_t>(y) + 1;
      const int moved = 40 * y + 10 - bytes[second];
      EXPECT_LE(std::abs(moved), 10);
      EXPECT_EQ(moved, 10 - bytes[1]);
    }
    left += bytes[1] > 12;
    right += bytes[1] < 8;
  }
  EXPECT_NEAR(left, 150,
              5 * 10);  // shifts are uniform in [-1, 1] pixels, and 3/8 of them exceed 0.25
  EXPECT_NEAR(right, 150, 5 * 10);
  const auto half =
      Augmented("shift_param { height: 1 prob: 0.5 pad_mode: CONSTANT } mean_value: 99");
  int moved = 0, filled = 0;
  for (uint64_t sample = 0; sample < 400; ++sample) {
    const std::vector<uint8_t> bytes = Sample(*half, sample);
    moved += bytes != TinySource().bytes();
    filled += std::count(bytes.begin(), bytes.begin() + 4, 99) == 4;
  }
  EXPECT_NEAR(moved, 200, 5 * 10);
  EXPECT_NEAR(filled, 75, 5 * 8);  // the first row is empty if the image moves down by at least one
                                   // of four rows: 3/8 of the moved half
}

// Returns the set of the samples' heights, and adds their widths to `widths`.
std::set<int> Heights(const std::string& text, std::set<int>* widths = nullptr) {
  const auto source = Augmented(text);
  std::set<int> heights;
  ImageShape shape;
  for (uint64_t sample = 0; sample < 200; ++sample) {
    Sample(*source, sample, &shape);
    heights.insert(shape.height);
    if (widths != nullptr) widths->insert(shape.width);
  }
  return heights;
}

TEST(Augmented, ResizesTheShortSide) {
  ImageShape shape;
  const std::string drawn = "img_rand_resize_lower: 3 img_rand_resize_upper: 5 ";
  std::set<int> widths;
  EXPECT_THAT(Heights(drawn + "allow_upscale: true", &widths), ElementsAre(3, 4, 5));
  EXPECT_THAT(widths, ElementsAre(3, 4, 5));
  // As in NVCaffe, samples are not larger than the image without allow_upscale, and not smaller
  // than the crop.
  EXPECT_THAT(Heights(drawn), ElementsAre(3, 4));
  EXPECT_THAT(Heights(drawn + "crop_size: 4"), ElementsAre(4));
  EXPECT_THAT(Heights(drawn + "crop_h: 4 crop_w: 3", &widths), ElementsAre(4));
  const auto test = Augmented("random_resize_param { min_size: 6 max_size: 8 }", TEST);
  for (uint64_t sample = 0; sample < 10; ++sample) {
    Sample(*test, sample, &shape);
    EXPECT_EQ(shape, (ImageShape{1, 7, 7}));
  }
}

TEST(Augmented, StretchesAsNvcaffeDoes) {
  std::set<int> widths;
  EXPECT_THAT(Heights("vertical_stretch_lower: 0.25 vertical_stretch_upper: 0.5", &widths),
              ElementsAre(1, 2));
  EXPECT_THAT(widths, ElementsAre(4));
  widths.clear();
  EXPECT_THAT(Heights("horizontal_stretch_upper: 2 allow_upscale: true", &widths), ElementsAre(4));
  EXPECT_THAT(widths, ElementsAre(4, 5, 6, 7, 8));
  // Either side of a square may become the longer one.
  widths.clear();
  EXPECT_THAT(
      Heights("rand_resize_ratio_lower: 2 rand_resize_ratio_upper: 2 allow_upscale: true", &widths),
      ElementsAre(4, 8));
  EXPECT_THAT(widths, ElementsAre(4, 8));
  ImageShape shape;
  const auto test = Augmented(
      "vertical_stretch_lower: 0.25 vertical_stretch_upper: 0.5 rand_resize_ratio_lower: 2 "
      "rand_resize_ratio_upper: 2 img_rand_resize_lower: 1 img_rand_resize_upper: 3",
      TEST);
  Sample(*test, 0, &shape);
  EXPECT_EQ(shape, (ImageShape{1, 2, 2}));
}

TEST(Augmented, ResizesAndAddsNoiseInBothPhases) {
  for (Phase phase : {TRAIN, TEST}) {
    const auto source = Augmented(
        "resize_param { height: 2 width: 2 interp_mode: AREA } noise_param { inverse: true } "
        "mean_value: 77",
        phase);
    // Means of 2x2: (0 + 10 + 40 + 50) / 4, ...
    EXPECT_THAT(Sample(*source, 5), ElementsAre(230, 210, 150, 130)) << phase;
  }
  ImageShape shape;
  Sample(*Augmented("resize_param { height: 8 width: 6 resize_mode: FIT_SMALL_SIZE }", TEST), 0,
         &shape);
  EXPECT_EQ(shape, (ImageShape{1, 8, 8}));
}

TEST(Augmented, ExpandsThenResizesThenAddsNoiseThenCutsOut) {
  const auto source = Augmented(
      "expand_param { max_expand_ratio: 4 } mean_value: 200 "
      "resize_param { height: 4 width: 4 interp_mode: NEAREST } "
      "noise_param { inverse: true } cutout_param { size: 1 }");
  int canvas = 0;
  for (uint64_t sample = 0; sample < 50; ++sample) {
    const std::vector<uint8_t> bytes = Sample(*source, sample);
    ASSERT_EQ(bytes.size(), 16u);
    EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 200),
              1);  // the cut-out keeps the mean: it comes after the inversion
    canvas += static_cast<int>(std::count(bytes.begin(), bytes.end(), 55));  // the inverted canvas
  }
  EXPECT_GT(canvas, 200);
  EXPECT_NE(dynamic_cast<TinySource*>(Augmented("expand_param { }", TEST).get()), nullptr);
}

TEST(Augmented, ResizesTheWholeImageInTests) {
  const auto source = Augmented(
      "random_aspect_ratio_param { resize_param { height: 2 width: 2 interp_mode: AREA } }", TEST);
  // Means of 2x2: (0 + 10 + 40 + 50) / 4, ...
  EXPECT_THAT(Sample(*source, 5), ElementsAre(25, 45, 105, 125));
  // As in Intel Caffe's files, the image is resized to the crop's size.
  const auto cropped = Augmented(
      "crop_size: 2 random_aspect_ratio_param { resize_param { interp_mode: AREA } }", TEST);
  EXPECT_THAT(Sample(*cropped, 5), ElementsAre(25, 45, 105, 125));
}

TEST(Augmented, ExplainsMistakes) {
  const auto mistake = [](const std::string& text) { return MessageOf([&] { Augmented(text); }); };
  EXPECT_THAT(mistake("rotation_param { max_degrees: 200 }"), HasSubstr("from 0 to 180"));
  EXPECT_THAT(mistake("rotation_param { max_degrees: 20 prob: 2 }"),
              HasSubstr("rotation_param: prob must be from 0 to 1"));
  EXPECT_THAT(
      mistake("shift_param { width: 3 }"),
      HasSubstr("shift_param: width must be a fraction of the image's, from 0 to 1, got 3"));
  EXPECT_THAT(mistake("shift_param { height: -0.1 }"),
              HasSubstr("shift_param: height must be a fraction"));
  EXPECT_THAT(mistake("shift_param { prob: -1 }"),
              HasSubstr("shift_param: prob must be from 0 to 1"));
  EXPECT_THAT(mistake("cutout_param { }"), HasSubstr("cutout_param needs a size"));
  EXPECT_THAT(mistake("random_erasing_param { prob: 2 }"),
              HasSubstr("random_erasing_param: prob must be from 0 to 1"));
  EXPECT_THAT(mistake("random_erasing_param { min_area_ratio: 0 }"),
              HasSubstr("random_erasing_param: min_area_ratio and max_area_ratio must be above 0"));
  EXPECT_THAT(mistake("random_erasing_param { aspect_ratio_change: 0.5 }"),
              HasSubstr("random_erasing_param: aspect_ratio_change must be from 1 to 100"));
  EXPECT_THAT(mistake("rand_augment_param { count: 101 }"),
              HasSubstr("rand_augment_param: count must be at most 100, got 101"));
  EXPECT_THAT(mistake("rand_augment_param { magnitude: 31 }"),
              HasSubstr("rand_augment_param: magnitude must be from 0 to 30, got 31"));
  EXPECT_THAT(mistake("rand_augment_param { magnitude_std: -1 }"),
              HasSubstr("rand_augment_param: magnitude_std must be from 0 to 30"));
  EXPECT_THAT(mistake("rand_augment_param { prob: nan }"),
              HasSubstr("rand_augment_param: prob must be from 0 to 1"));
  EXPECT_THAT(mistake("trivial_augment_param { prob: -1 }"),
              HasSubstr("trivial_augment_param: prob must be from 0 to 1, got -1"));
  EXPECT_THAT(mistake("rand_augment_param { } trivial_augment_param { }"),
              HasSubstr("set only one of rand_augment_param and trivial_augment_param"));
  EXPECT_THAT(mistake("random_aspect_ratio_param { }"),
              HasSubstr("set height and width in resize_param"));
  EXPECT_THAT(mistake("random_aspect_ratio_param { min_area_ratio: 0.9 max_area_ratio: 0.1 }"),
              HasSubstr("in this order"));
  EXPECT_THAT(mistake("random_aspect_ratio_param { aspect_ratio_change: 0 } crop_size: 3"),
              HasSubstr("aspect_ratio_change must be from 0.01 to 100"));
  EXPECT_THAT(mistake("random_aspect_ratio_param { resize_param { height: 3 width: 3 } } "
                      "vertical_stretch_upper: 2"),
              HasSubstr("set only one of random_aspect_ratio_param and fields of random sizes"));
  EXPECT_THAT(mistake("img_rand_resize_upper: 3"), HasSubstr("img_rand_resize_lower and"));
  EXPECT_THAT(mistake("rand_resize_ratio_upper: 3"),
              HasSubstr("rand_resize_ratio_lower and rand_resize_ratio_upper must be at least 1"));
  EXPECT_THAT(mistake("vertical_stretch_lower: 1.5"),
              HasSubstr("vertical_stretch_upper must be above 0, at most 100, and in this order"));
  EXPECT_THAT(mistake("horizontal_stretch_lower: 0"), HasSubstr("horizontal_stretch_lower and"));
  EXPECT_THAT(mistake("resize_param { height: 5 }"), HasSubstr("needs height and width"));
  EXPECT_THAT(mistake("noise_param { jpeg: 200 }"), HasSubstr("jpeg is a quality"));
  EXPECT_THAT(mistake("expand_param { max_expand_ratio: 0 }"), HasSubstr("at least 1"));
  EXPECT_THAT(mistake("random_resize_param { min_size: 5 max_size: 3 }"),
              HasSubstr("min_size and max_size must be positive"));
  EXPECT_THAT(mistake("random_resize_param { min_size: 3 max_size: 3 } img_rand_resize_lower: 3"),
              HasSubstr("set only one of"));
  EXPECT_THAT(MessageOf([] { Sample(*Augmented("distort_param { hue_prob: 1 }"), 0); }),
              HasSubstr("distort_param needs images with 3 channels, but this one has 1"));
}

}  // namespace
}  // namespace doppio
