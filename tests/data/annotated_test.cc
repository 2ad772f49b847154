// Tests layer AnnotatedData: boxes, how the changes of images affect them, and the labels.
#include <algorithm>
#include <cmath>

#include "data/augment/augmented_source.h"
#include "data/pipeline/pipeline.h"
#include "data/record/boxes.h"
#include "data/source/open_source.h"
#include "proto/detection.pb.h"
#include "tests/data/tiny_data.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<float> Corners(const Box& box) { return {box.xmin, box.ymin, box.xmax, box.ymax}; }

TEST(Boxes, OverlapAndCoverTheirSharedArea) {
  const Box a = {0, 0, 0.5f, 0.5f}, b = {0.25f, 0.25f, 0.75f, 0.5f};
  // The boxes share 1/16; their areas are 1/4 and 1/8.
  EXPECT_FLOAT_EQ(OverlapOf(a, b), 0.2f);
  EXPECT_FLOAT_EQ(CoverageOf(a, b), 0.25f);
  EXPECT_FLOAT_EQ(CoverageOf(b, a), 0.5f);
  const Box apart = {0.5f, 0, 1, 1};
  EXPECT_EQ(OverlapOf(a, apart), 0);
  EXPECT_EQ(CoverageOf(a, apart), 0);
  EXPECT_EQ((Box{0.5f, 0, 0.25f, 1}).area(), 0);
}

TEST(Boxes, AreProjectedIntoAFrameAndClipped) {
  Box box;
  EXPECT_TRUE(Project({0.5f, 0, 1, 0.5f}, {0.25f, 0.125f, 0.75f, 0.25f}, &box));
  EXPECT_THAT(Corners(box), ElementsAre(0, 0.25f, 0.5f, 0.5f));
  EXPECT_TRUE(Project({-1, -1, 1, 1}, {0, 0, 1, 0.5f}, &box));
  EXPECT_THAT(Corners(box), ElementsAre(0.5f, 0.5f, 1, 0.75f));
  EXPECT_FALSE(Project({0, 0, 0.5f, 1}, {0.5f, 0, 1, 1}, &box));
}

TEST(Boxes, AreLeftOutAsTheConstraintSays) {
  const Box frame = {0, 0, 0.5f, 1};
  // The centres are at 0.4 and 0.55; 3/4 and 1/4 of the boxes are inside.
  const std::vector<ObjectBox> objects = {{{0.2f, 0, 0.6f, 1}, 1, 0, false},
                                          {{0.4f, 0, 0.8f, 1}, 2, 0, true}};
  const auto labels = [&](const std::string& constraint) {
    std::vector<float> found;
    const auto parsed = Parse<EmitConstraint>(constraint);
    for (const ObjectBox& o : ObjectsIn(frame, objects, &parsed)) found.push_back(o.label);
    return found;
  };
  EXPECT_EQ(ObjectsIn(frame, objects, nullptr).size(), 2u);
  EXPECT_TRUE(ObjectsIn(frame, objects, nullptr)[1].difficult);
  EXPECT_THAT(labels("emit_type: CENTER"), ElementsAre(1));
  EXPECT_THAT(labels("emit_type: MIN_OVERLAP emit_overlap: 0.2"), ElementsAre(1, 2));
  EXPECT_THAT(labels("emit_type: MIN_OVERLAP emit_overlap: 0.5"), ElementsAre(1));
}

// Returns an image of `height` x `width` whose pixel n has blue n, green n + 100 and red n + 50.
std::string Annotated(int height, int width, const std::string& groups, bool encoded = false) {
  AnnotatedDatum annotated = Parse<AnnotatedDatum>("type: BBOX " + groups);
  std::vector<int> planes, pixels;
  for (int c : {0, 100, 50}) {
    for (int n = 0; n < height * width; ++n) planes.push_back(n + c);
  }
  for (int n = 0; n < height * width; ++n) pixels.insert(pixels.end(), {n + 50, n + 100, n});
  const std::string datum = encoded ? EncodedDatum(Png(height, width, 3, pixels), 0)
                                    : RawDatum(3, height, width, planes, 0);
  annotated.mutable_datum()->ParseFromString(datum);
  return annotated.SerializeAsString();
}

constexpr char kTwoObjects[] =
    "annotation_group { group_label: 3 annotation { instance_id: 7 "
    "bbox { xmin: 0 ymin: 0 xmax: 0.25 ymax: 0.5 } } } "
    "annotation_group { group_label: 4 annotation { "
    "bbox { xmin: 0.5 ymin: 0.5 xmax: 1 ymax: 1 difficult: true } } }";

class AnnotatedTest : public testing::Test {
 protected:
  std::unique_ptr<Source> Records(const KeysAndValues& records) {
    const std::string path = ScratchPath("db" + std::to_string(databases_++));
    WriteLmdb(path, records);
    return OpenSource(Parse<DataParameter>("backend: LMDB source: '" + path + "'"), TRAIN);
  }
  std::unique_ptr<Source> Open(const std::string& record, const std::string& transform,
                               const std::string& param = "") {
    return OpenAnnotated(Records({{"a", record}}), Parse<AnnotatedDataParameter>(param),
                         Parse<TransformationParameter>(transform), Random(5, 6));
  }
  // Returns the labels of the stream's first samples.
  std::vector<float> Labels(const std::string& record, const std::string& transform,
                            int samples = 1, const std::string& behind = "") {
    PipelineOptions options;
    options.batch = samples;
    options.max_boxes = 2;
    Pipeline pipeline(Open(record, transform), Parse<TransformationParameter>(behind), TRAIN,
                      options);
    return pipeline.Next().labels;
  }
  int databases_ = 0;
};

TEST_F(AnnotatedTest, ReadsImagesAndBoxes) {
  for (bool encoded : {false, true}) {
    const auto source = Open(Annotated(1, 2, kTwoObjects, encoded), "");
    Record record;
    source->Read(0, &record);
    EXPECT_EQ(record.pixels.shape.ToString(), "3x1x2");
    EXPECT_TRUE(record.pixels.interleaved);
    EXPECT_THAT(std::vector<int>(record.pixels.bytes, record.pixels.bytes + 6),
                ElementsAre(0, 100, 50, 1, 101, 51));
    ASSERT_EQ(record.objects.size(), 2u);
    EXPECT_EQ(record.objects[0].label, 3);
    EXPECT_EQ(record.objects[0].instance, 7);
    EXPECT_THAT(Corners(record.objects[1].box), ElementsAre(0.5f, 0.5f, 1, 1));
    EXPECT_TRUE(record.objects[1].difficult);
  }
}

// Layer Data can also read such a database, without the annotations.
TEST_F(AnnotatedTest, IsToldFromAPlainDatum) {
  const auto source =
      Records({{"a", RawDatum(1, 1, 1, {5}, 9)}, {"b", Annotated(1, 1, kTwoObjects)}});
  Record record;
  source->Read(1, &record);
  EXPECT_TRUE(record.annotated);
  EXPECT_EQ(record.objects.size(), 2u);
  source->Read(0, &record);
  EXPECT_FALSE(record.annotated);
  EXPECT_EQ(record.objects.size(), 0u);
  EXPECT_THAT(record.labels, ElementsAre(9));
}

TEST_F(AnnotatedTest, MakesARowOfEachBoxAndFillsUpWithOnes) {
  EXPECT_THAT(Labels(Annotated(2, 4, kTwoObjects), ""),
              ElementsAre(0, 3, 7, 0, 0, 0.25f, 0.5f, 0, 0, 4, 0, 0.5f, 0.5f, 1, 1, 1));
  const std::string one =
      "annotation_group { group_label: 1 annotation { bbox { xmin: 0 ymin: 0 "
      "xmax: 1 ymax: 1 } } }";
  EXPECT_THAT(Labels(Annotated(2, 4, one), ""),
              ElementsAre(0, 1, 0, 0, 0, 1, 1, 0, -1, -1, -1, -1, -1, -1, -1, -1));
}

TEST_F(AnnotatedTest, MirrorsBoxesWithTheirImage) {
  PipelineOptions options;
  options.batch = 20;
  options.max_boxes = 1;
  const std::string left =
      "annotation_group { annotation { bbox { xmin: 0 ymin: 0 xmax: 0.25 "
      "ymax: 1 } } }";
  Pipeline pipeline(Open(Annotated(1, 4, left), ""), Parse<TransformationParameter>("mirror: true"),
                    TRAIN, options);
  const Batch& batch = pipeline.Next();
  int mirrored = 0;
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_FLOAT_EQ(batch.labels[i * 8 + 3], batch.samples[i].mirrored ? 0.75f : 0);
    EXPECT_FLOAT_EQ(batch.labels[i * 8 + 5], batch.samples[i].mirrored ? 1 : 0.25f);
    mirrored += batch.samples[i].mirrored;
  }
  EXPECT_TRUE(mirrored > 0 && mirrored < 20);
}

TEST_F(AnnotatedTest, ResizesImagesAndKeepsFractions) {
  const auto source = Open(Annotated(1, 2, kTwoObjects),
                           "resize_param { height: 2 width: 4 interp_mode: NEAREST }");
  Record record;
  source->Read(0, &record);
  EXPECT_EQ(record.pixels.shape.ToString(), "3x2x4");
  EXPECT_EQ(record.pixels.bytes[3 * 4 + 3], 0);
  EXPECT_EQ(record.pixels.bytes[3 * 4 + 6], 1);
  EXPECT_THAT(Corners(record.objects[0].box), ElementsAre(0, 0, 0.25f, 0.5f));
}

// An image of 2 x 4 in 4 x 4 gets one row of padding above and one below.
TEST_F(AnnotatedTest, PadsWhatIsNotAsHigh) {
  const auto source = Open(Annotated(2, 4, kTwoObjects),
                           "resize_param { height: 4 width: 4 resize_mode: FIT_LARGE_SIZE_AND_PAD "
                           "pad_value: 9 }");
  Record record;
  source->Read(0, &record);
  ASSERT_EQ(record.pixels.shape.ToString(), "3x4x4");
  for (int p = 0; p < 16; ++p) {
    EXPECT_EQ(record.pixels.bytes[3 * p], p < 4 || p >= 12 ? 9 : p - 4) << p;
  }
  EXPECT_THAT(Corners(record.objects[0].box), ElementsAre(0, 0.25f, 0.25f, 0.5f));
  EXPECT_THAT(Corners(record.objects[1].box), ElementsAre(0.5f, 0.5f, 1, 0.75f));
}

TEST_F(AnnotatedTest, CoversASizeAndKeepsFractions) {
  const auto source = Open(Annotated(2, 4, kTwoObjects),
                           "resize_param { height: 4 width: 4 resize_mode: FIT_SMALL_SIZE }");
  Record record;
  source->Read(0, &record);
  EXPECT_EQ(record.pixels.shape.ToString(), "3x4x8");
  EXPECT_THAT(Corners(record.objects[1].box), ElementsAre(0.5f, 0.5f, 1, 1));
}

TEST_F(AnnotatedTest, AddsNoiseToWhatWasResized) {
  // Noise is added after the resize: it changes one of nine pixels, not the only original one.
  const auto source = Open(Annotated(1, 1, kTwoObjects),
                           "resize_param { height: 3 width: 3 } noise_param { saltpepper: true "
                           "saltpepper_param { fraction: 0.12 value: 200 } }");
  Record record;
  source->Read(0, &record);
  ASSERT_EQ(record.pixels.shape.ToString(), "3x3x3");
  EXPECT_EQ(std::count(record.pixels.bytes, record.pixels.bytes + 27, 200), 3);
}

TEST_F(AnnotatedTest, ScalesBoxesAsSsdDoes) {
  PipelineOptions options;
  options.max_boxes = 2;
  options.box_rows = 4;
  options.box_columns = 8;  // columns of one box; images have 2 x 4 pixels
  Pipeline pipeline(Open(Annotated(2, 4, kTwoObjects), ""), TransformationParameter(), TRAIN,
                    options);
  EXPECT_THAT(pipeline.Next().labels, ElementsAre(0, 3, 7, 0, 0, 0.125f, 0.25f, 0,  //
                                                  0, 4, 0, 0.25f, 0.25f, 0.5f, 0.5f, 1));
}

// Boxes move with their pixels: the pixel at a box's corner must keep its value.
TEST_F(AnnotatedTest, PutsImagesOnLargerCanvases) {
  const auto source =
      Open(Annotated(2, 4, kTwoObjects),
           "expand_param { prob: 1 max_expand_ratio: 4 } mean_value: [201, 202, 203]");
  Record record;
  int larger = 0;
  for (uint64_t sample = 0; sample < 20; ++sample) {
    source->ReadSample(0, sample, &record);
    const ImageShape& shape = record.pixels.shape;
    ASSERT_EQ(record.objects.size(), 2u);
    const Box& box = record.objects[1].box;
    const int x = static_cast<int>(std::lround(box.xmin * static_cast<float>(shape.width)));
    const int y = static_cast<int>(std::lround(box.ymin * static_cast<float>(shape.height)));
    EXPECT_EQ(record.pixels.bytes[3 * (y * shape.width + x)], 6);  // row 1, column 2
    int mean = 0;
    for (int p = 0; p < shape.height * shape.width; ++p) mean += record.pixels.bytes[3 * p] == 201;
    EXPECT_EQ(mean, shape.height * shape.width - 8);
    larger += shape.width > 4;
  }
  EXPECT_GT(larger, 10);
}

TEST_F(AnnotatedTest, TakesWindowsThatSatisfyTheirConstraint) {
  const std::string object =
      "annotation_group { annotation { bbox { xmin: 0.4 ymin: 0.4 xmax: 0.6 "
      "ymax: 0.6 } } }";
  const auto source =
      Open(Annotated(10, 10, object), "",
           "batch_sampler { sampler { min_scale: 0.4 max_scale: 0.6 min_aspect_ratio: 0.5 "
           "max_aspect_ratio: 2 } sample_constraint { min_object_coverage: 1 } max_sample: 1 "
           "max_trials: 1000 }");
  Record record;
  for (uint64_t sample = 0; sample < 20; ++sample) {
    source->ReadSample(0, sample, &record);
    const ImageShape& shape = record.pixels.shape;
    // A side is the scale times the square root of a ratio from 1/2 to 2: 0.28 to 0.85 of the
    // image, rounded down to pixels.
    EXPECT_TRUE(shape.width <= 8 && shape.height <= 8 && shape.width >= 2 && shape.height >= 2);
    // The object is complete: 2 x 2 pixels.
    ASSERT_EQ(record.objects.size(), 1u);
    const Box& box = record.objects[0].box;
    EXPECT_LE(box.width() * static_cast<float>(shape.width), 2.001f);
    EXPECT_GE(box.width() * static_cast<float>(shape.width + 1), 1.999f);
    EXPECT_LE(box.height() * static_cast<float>(shape.height), 2.001f);
    EXPECT_GE(box.height() * static_cast<float>(shape.height + 1), 1.999f);
  }
}

TEST_F(AnnotatedTest, KeepsTheImageWhereNoWindowIsFound) {
  const auto source = Open(Annotated(10, 10, kTwoObjects), "",
                           "batch_sampler { sampler { min_scale: 0.1 max_scale: 0.1 } "
                           "sample_constraint { min_jaccard_overlap: 0.9 } max_trials: 5 }");
  Record record;
  source->Read(0, &record);
  EXPECT_EQ(record.pixels.shape.ToString(), "3x10x10");
}

TEST_F(AnnotatedTest, ChangesLightAndColour) {
  Record record;
  const auto first_pixel = [&](const std::string& distort, uint64_t sample = 0) {
    Open(Annotated(1, 1, kTwoObjects), "distort_param { " + distort + " }")
        ->ReadSample(0, sample, &record);
    return std::vector<int>(record.pixels.bytes, record.pixels.bytes + 3);
  };
  EXPECT_THAT(first_pixel(""), ElementsAre(0, 100, 50));
  EXPECT_THAT(first_pixel("contrast_prob: 1 contrast_lower: 3 contrast_upper: 3"),
              ElementsAre(0, 255, 150));
  EXPECT_THAT(first_pixel("saturation_prob: 1"), ElementsAre(100, 100, 100));
  const std::vector<int> lighter = first_pixel("brightness_prob: 1 brightness_delta: 40");
  EXPECT_EQ(lighter[1] - lighter[2], 50);
  EXPECT_NE(lighter[1], 100);
  std::vector<int> shuffled = first_pixel("random_order_prob: 1");
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_THAT(shuffled, ElementsAre(0, 50, 100));
  EXPECT_NE(first_pixel("hue_prob: 1 hue_delta: 60", 1),
            first_pixel("hue_prob: 1 hue_delta: 60", 2));
}

TEST_F(AnnotatedTest, DrawsBySampleAlone) {
  const std::string transform =
      "expand_param { prob: 0.5 max_expand_ratio: 3 } "
      "resize_param { height: 3 width: 3 }";
  const std::vector<float> labels = Labels(Annotated(4, 4, kTwoObjects), transform, 8);
  EXPECT_EQ(Labels(Annotated(4, 4, kTwoObjects), transform, 8), labels);
  const std::vector<float> four = Labels(Annotated(4, 4, kTwoObjects), transform, 4);
  EXPECT_EQ(std::vector<float>(labels.begin(), labels.begin() + 64), four);
  EXPECT_NE(std::vector<float>(labels.begin() + 64, labels.end()), four);
}

TEST_F(AnnotatedTest, SaysWhatIsWrong) {
  const auto mistake = [&](const std::string& transform, const std::string& param = "") {
    return MessageOf([&] { Open(Annotated(1, 1, kTwoObjects), transform, param); });
  };
  EXPECT_THAT(mistake("resize_param { height: 3 }"), HasSubstr("needs height and width"));
  EXPECT_THAT(mistake("resize_param { height: 3 width: 3 pad_value: [1, 2] }"),
              HasSubstr("give one pad_value"));
  EXPECT_THAT(mistake("noise_param { prob: 7 }"), HasSubstr("prob must be from 0 to 1"));
  EXPECT_THAT(mistake("expand_param { max_expand_ratio: 0.5 }"), HasSubstr("at least 1"));
  EXPECT_THAT(mistake("expand_param { max_expand_ratio: 2 } mean_file: 'm'"),
              HasSubstr("give mean_value instead of mean_file"));
  EXPECT_THAT(mistake("distort_param { contrast_lower: 2 contrast_upper: 1 }"),
              HasSubstr("contrast_lower 2.000000 and contrast_upper 1.000000"));
  EXPECT_THAT(mistake("distort_param { hue_delta: -1 }"),
              HasSubstr("hue_delta must be at least 0"));
  EXPECT_THAT(mistake("", "batch_sampler { sampler { min_scale: 0.5 max_scale: 0.4 } }"),
              HasSubstr("min_scale 0.500000, max_scale 0.400000"));
  EXPECT_THAT(mistake("", "batch_sampler { sampler { min_aspect_ratio: 0 } }"),
              HasSubstr("min_aspect_ratio 0.000000"));
  Record record;
  EXPECT_EQ(MessageOf([&] { Open(RawDatum(1, 1, 1, {5}, 9), "")->Read(0, &record); }),
            "4: it is a Datum without boxes; layer Data reads such records");
  const std::string three = std::string(kTwoObjects) + kTwoObjects;
  EXPECT_THAT(
      MessageOf([&] { Labels(Annotated(1, 1, three), ""); }),
      HasSubstr(
          "it has 4 boxes, but there is room for 2; increase max_boxes in annotated_data_param"));
}

}  // namespace
}  // namespace doppio
