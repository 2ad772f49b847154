#include <algorithm>
#include <cmath>
#include <map>

#include "data/decode/source_facts.h"
#include "data/source/open_source.h"
#include "tests/data/tiny_data.h"

namespace doppio {
namespace {

std::unique_ptr<Source> OpenShapes(const std::string& text, Phase phase = TRAIN) {
  return OpenSource(Parse<DataParameter>("backend: SHAPES " + text), phase);
}

Record ShapesAt(const Source& source, int64_t index) {
  Record record;
  source.Read(index, &record);
  return record;
}

TEST(Shapes, ComeInAFixedNumberUnlessAskedOtherwise) {
  EXPECT_EQ(OpenShapes("")->size(), 10000);
  EXPECT_EQ(OpenShapes("", TEST)->size(), 1000);
  EXPECT_EQ(OpenShapes("part: TEST")->size(), 1000);
  EXPECT_EQ(OpenShapes("size: 77")->size(), 77);
  EXPECT_EQ(OpenShapes("", TEST)->Name(7), "generated shapes 7 (test)");
}

TEST(Shapes, HaveTheRequestedSide) {
  EXPECT_EQ(ShapesAt(*OpenShapes(""), 0).pixels.shape, (ImageShape{3, 128, 128}));
  EXPECT_EQ(ShapesAt(*OpenShapes("shapes_size: 75"), 0).pixels.shape, (ImageShape{3, 75, 75}));
  for (const char* side : {"31", "1025"}) {
    EXPECT_THAT(MessageOf([side] { OpenShapes(std::string("shapes_size: ") + side); }),
                testing::HasSubstr(std::string("data_param: shapes_size is ") + side +
                                   "; images have from 32 to 1024 pixels along a side"));
  }
}

TEST(Shapes, DependOnSeedPartAndIndexOnly) {
  const auto source = OpenShapes("size: 100"), larger = OpenShapes("size: 200");
  const auto bytes = [](const Source& from, int64_t index) {
    return ShapesAt(from, index).byte_storage;
  };
  Record reused = ShapesAt(*source, 41);
  source->Read(42, &reused);
  EXPECT_EQ(reused.byte_storage, bytes(*larger, 42));
  EXPECT_EQ(reused.objects.size(), ShapesAt(*larger, 42).objects.size());
  EXPECT_NE(bytes(*source, 42), bytes(*source, 43));
  EXPECT_NE(bytes(*source, 42), bytes(*OpenShapes("seed: 1"), 42));
  EXPECT_NE(bytes(*source, 42), bytes(*OpenShapes("part: TEST"), 42));
}

TEST(Shapes, HaveNamedClassesAndBlueFirst) {
  const SourceFacts facts = FactsOf(*OpenShapes(""));
  EXPECT_THAT(facts.class_names,
              testing::ElementsAre("background", "circle", "square", "triangle", "cross", "star"));
  EXPECT_EQ(facts.channels, Preprocessing::BGR);
  EXPECT_EQ(facts.image, (ImageShape{3, 128, 128}));
}

TEST(Shapes, AreOneToFourOfAllClassesInsideTheImage) {
  const auto source = OpenShapes("");
  std::map<float, int> classes;
  std::map<size_t, int> counts;
  for (int64_t i = 0; i < 2000; ++i) {
    const Record record = ShapesAt(*source, i);
    ASSERT_TRUE(record.annotated);
    ++counts[record.objects.size()];
    ++classes[record.objects.at(0).label];
    for (const ObjectBox& object : record.objects) {
      EXPECT_GE(std::min(object.box.xmin, object.box.ymin), 0);
      EXPECT_LE(std::max(object.box.xmax, object.box.ymax), 1);
      const float longer = std::max(object.box.width(), object.box.height());
      EXPECT_GT(longer, 0.149f);
      EXPECT_LT(longer, 0.421f);
      EXPECT_FALSE(object.difficult);
    }
  }
  ASSERT_EQ(classes.size(), 5u);
  EXPECT_EQ(classes.begin()->first, 1);
  // Five standard deviations.
  for (const auto& entry : classes) EXPECT_NEAR(entry.second, 400, 90) << entry.first;
  ASSERT_EQ(counts.size(), 4u);
  for (const auto& entry : counts) EXPECT_NEAR(entry.second, 500, 97) << entry.first;
}

TEST(Shapes, HideLittleOfEachOther) {
  const auto source = OpenShapes("");
  for (int64_t i = 0; i < 500; ++i) {
    const std::vector<ObjectBox> objects = ShapesAt(*source, i).objects;
    for (size_t a = 0; a < objects.size(); ++a) {
      EXPECT_EQ(objects[a].instance, static_cast<float>(a));
      for (size_t b = 0; b < objects.size(); ++b) {
        if (a == b) continue;
        EXPECT_LE(CoverageOf(objects[a].box, objects[b].box), 0.1f);
      }
    }
  }
}

TEST(Shapes, AreLabeledByTheLargestOne) {
  const auto source = OpenShapes("");
  for (int64_t i = 0; i < 100; ++i) {
    const Record record = ShapesAt(*source, i);
    float largest = 0, label = 0;
    for (const ObjectBox& object : record.objects) {
      if (object.box.area() <= largest) continue;
      largest = object.box.area();
      label = object.label;
    }
    EXPECT_THAT(record.labels, testing::ElementsAre(label));
  }
}

// The pixels near a box that have the colour of its middle. Returns the box around them.
Box BoxOfColor(const Record& record, const Box& box) {
  constexpr int kMargin = 8, kTolerance = 30;
  const int side = record.pixels.shape.width;
  const auto pixel = [side](float v) { return static_cast<int>(v * static_cast<float>(side)); };
  const auto value = [&](int c, int y, int x) {
    return int{record.pixels.bytes[(c * side + y) * side + x]};
  };
  const int y0 = pixel(0.5f * (box.ymin + box.ymax)), x0 = pixel(0.5f * (box.xmin + box.xmax));
  Box found{1, 1, 0, 0};
  const auto unit = static_cast<float>(side);
  for (int y = std::max(0, pixel(box.ymin) - kMargin);
       y < std::min(side, pixel(box.ymax) + kMargin); ++y) {
    for (int x = std::max(0, pixel(box.xmin) - kMargin);
         x < std::min(side, pixel(box.xmax) + kMargin); ++x) {
      bool same = true;
      for (int c = 0; c < 3; ++c) same &= std::abs(value(c, y, x) - value(c, y0, x0)) <= kTolerance;
      if (!same) continue;
      found.xmin = std::min(found.xmin, static_cast<float>(x) / unit);
      found.ymin = std::min(found.ymin, static_cast<float>(y) / unit);
      found.xmax = std::max(found.xmax, static_cast<float>(x + 1) / unit);
      found.ymax = std::max(found.ymax, static_cast<float>(y + 1) / unit);
    }
  }
  return found;
}

// A background of a similar colour can widen what is found, but not in most images.
TEST(Shapes, FillTheirBoxes) {
  const auto source = OpenShapes("");
  std::map<float, std::vector<float>> overlaps;
  for (int64_t i = 0; i < 1000; ++i) {
    const Record record = ShapesAt(*source, i);
    if (record.objects.size() > 1) continue;
    const ObjectBox& object = record.objects[0];
    overlaps[object.label].push_back(OverlapOf(object.box, BoxOfColor(record, object.box)));
  }
  ASSERT_EQ(overlaps.size(), 5u);
  for (auto& [label, of_class] : overlaps) {
    std::sort(of_class.begin(), of_class.end());
    EXPECT_GT(of_class[of_class.size() / 2], 0.85f) << label;  // the tips of a star are mixtures
    EXPECT_GT(of_class[of_class.size() / 4], 0.75f) << label;
  }
}

}  // namespace
}  // namespace doppio
