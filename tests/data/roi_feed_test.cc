#include "data/annotation/roi_feed.h"

#include <map>
#include <set>

#include "data/annotation/annotated_files.h"
#include "data/source/open_source.h"
#include "proto/detection.pb.h"
#include "tests/data/tiny_data.h"
#include "tests/data/tiny_images.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

std::string VocObject(const std::string& name, const std::vector<int>& sides, bool difficult) {
  const auto tag = [](const std::string& tag, int value) {
    return "<" + tag + ">" + std::to_string(value) + "</" + tag + ">";
  };
  return "<object><name>" + name + "</name>" + tag("difficult", difficult) + "<bndbox>" +
         tag("xmin", sides[0]) + tag("ymin", sides[1]) + tag("xmax", sides[2]) +
         tag("ymax", sides[3]) + "</bndbox></object>";
}

// Writes an image of width x height pixels whose columns have the values 0, 10, 20 ... in red, and
// its annotation.
void WriteAnnotated(const std::string& name, int width, int height, const std::string& objects) {
  std::vector<int> pixels;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) pixels.insert(pixels.end(), {10 * x, 1, 2});
  }
  WriteFile(ScratchPath(name + ".png"), Png(height, width, 3, pixels));
  WriteFile(ScratchPath(name + ".xml"), "<annotation>" + objects + "</annotation>");
}

// Image a has 4 x 2 pixels, a cat at 2..3, 1..2 (from 1) and a difficult dog; image b has none.
RoiDataParameter TwoImages(const std::string& fields = "class_name: 'dog' class_name: 'cat'") {
  WriteAnnotated("a", 4, 2,
                 VocObject("cat", {2, 1, 3, 2}, false) + VocObject("dog", {0, 1, 9, 1}, true) +
                     VocObject("plant", {1, 1, 1, 1}, false));
  WriteAnnotated("b", 2, 2, "");
  WriteFile(ScratchPath("list.txt"), "a.png a.xml\nb.png b.xml\n");
  auto parameter = Parse<RoiDataParameter>(fields);
  parameter.set_source(ScratchPath("list.txt"));
  parameter.set_root_folder(ScratchPath(""));
  return parameter;
}

RoiFeedOptions Unscaled() {
  RoiFeedOptions options;
  options.short_side = 2;
  return options;
}

TEST(AnnotatedFiles, LeavesOutEmptyImagesAndOtherClasses) {
  EXPECT_EQ(2, OpenAnnotatedFiles(TwoImages(), true)->size());
  const auto source = OpenAnnotatedFiles(TwoImages(), false);
  EXPECT_EQ(1, source->size());
  EXPECT_THAT(source->facts().class_names, ElementsAre("background", "dog", "cat"));
  Record record;
  source->Read(0, &record);
  ASSERT_EQ(2u, record.objects.size());
  EXPECT_EQ(2, record.objects[0].label);
  EXPECT_EQ(0.25, record.objects[0].box.xmin);
  EXPECT_EQ(0.75, record.objects[0].box.xmax);
  EXPECT_TRUE(record.objects[1].difficult);
  EXPECT_EQ(0, record.objects[1].box.xmin);  // clipped
  EXPECT_EQ(1, record.objects[1].box.xmax);
}

// The photo lies on its side (4 x 2); upright it is 2 x 4, and its columns are rows.
TEST(AnnotatedFiles, TakesBoxesOfUprightImagesUnlessTheAnnotationStatesTheStoredSize) {
  const auto parameter = TwoImages("class_name: 'cat'");
  const std::string photo = WithExif(Png(2, 4, 3, std::vector<int>(24, 9)), Exif(6));
  DecodeOptions upright;
  upright.upright = true;
  const auto read = [&](const std::string& size, const std::vector<int>& sides,
                        const DecodeOptions& options) {
    WriteFile(ScratchPath("a.png"), photo);
    WriteFile(ScratchPath("a.xml"),
              "<annotation>" + size + VocObject("cat", sides, false) + "</annotation>");
    Record record;
    OpenAnnotatedFiles(parameter, true, options)->Read(0, &record);
    const Box box = record.objects.at(0).box;
    return std::vector<float>{box.xmin, box.ymin, box.xmax, box.ymax};
  };
  const std::string stored = "<size><width>4</width><height>2</height></size>";
  const std::string shown = "<size><width>2</width><height>4</height></size>";
  // The left half of the stored image is the upper half of the upright one.
  EXPECT_THAT(read(stored, {1, 1, 2, 2}, {}), ElementsAre(0, 0, 0.5, 1));
  EXPECT_THAT(read(stored, {1, 1, 2, 2}, upright), ElementsAre(0, 0, 1, 0.5));
  EXPECT_THAT(read(shown, {1, 1, 2, 2}, upright), ElementsAre(0, 0, 1, 0.5));
  EXPECT_THAT(read("", {1, 3, 2, 4}, upright), ElementsAre(0, 0.5, 1, 1));
  // The upper left pixel of the stored image is the upper right one of the upright image.
  EXPECT_THAT(read(stored, {1, 1, 1, 1}, upright), ElementsAre(0.5, 0, 1, 0.25));
  EXPECT_THAT(MessageOf([&] {
                read(shown, {1, 1, 2, 2}, {});
              }),
              HasSubstr("it has 2x4 pixels, but its annotation is for 4x2"));
}

TEST(AnnotatedFiles, ExplainsMistakes) {
  EXPECT_THAT(MessageOf([] { OpenAnnotatedFiles(RoiDataParameter(), true); }),
              HasSubstr("3: needs source: a list"));
  EXPECT_THAT(MessageOf([] { OpenAnnotatedFiles(TwoImages("class_name: 'ox'"), false); }),
              HasSubstr("has an object of the classes"));
  EXPECT_THAT(
      MessageOf([] { OpenAnnotatedFiles(TwoImages("class_name: 'a' class_name: 'a'"), true); }),
      HasSubstr("class_name has 'a' twice"));
  TwoImages();
  WriteFile(ScratchPath("a.xml"),
            "<annotation><size><width>5</width><height>2</height></size></annotation>");
  auto parameter = Parse<RoiDataParameter>("");
  parameter.set_source(ScratchPath("list.txt"));
  parameter.set_root_folder(ScratchPath(""));
  Record record;
  EXPECT_THAT(MessageOf([&] { OpenAnnotatedFiles(parameter, true)->Read(0, &record); }),
              HasSubstr("it has 2x4 pixels, but its annotation is for 2x5"));
}

TEST(RoiFeed, DeliversAnImageInItsSizeAndItsBoxes) {
  RoiFeedOptions options = Unscaled();
  options.means = {0, 1, 2};
  options.scale = ChannelScale(Parse<TransformationParameter>("scale: 0.5"));
  RoiFeed feed(OpenAnnotatedFiles(TwoImages(), true), options);
  EXPECT_EQ(2, feed.size());
  const RoiSample a = feed.Next(0, 1);
  EXPECT_EQ(std::make_pair(2, 4), std::make_pair(a.size.height, a.size.width));
  EXPECT_EQ(1, a.size.scale);
  EXPECT_THAT(a.data, ElementsAre(1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0,  //
                                  -1, 4, 9, 14, -1, 4, 9, 14));
  ASSERT_EQ(1u, a.boxes.size());
  EXPECT_THAT(a.boxes[0], ElementsAre(1, 0, 2, 1, 2));
  EXPECT_EQ(2u, a.objects.size());
  EXPECT_TRUE(feed.Next(0, 1).boxes.empty());
  EXPECT_EQ(24u, feed.Next(0, 1).data.size());  // the next epoch
}

TEST(RoiFeed, ScalesTheBoxesWithTheImage) {
  RoiFeedOptions options;
  options.short_side = 10;
  options.max_side = 12;
  options.use_difficult = true;
  RoiFeed feed(OpenAnnotatedFiles(TwoImages(), false), options);
  const RoiSample sample = feed.Next(0, 1);  // three times as large; five times is too large
  EXPECT_EQ(std::make_pair(6, 12), std::make_pair(sample.size.height, sample.size.width));
  ASSERT_EQ(2u, sample.boxes.size());
  EXPECT_THAT(sample.boxes[0], ElementsAre(3, 0, 6, 3, 2));
  EXPECT_THAT(sample.boxes[1], ElementsAre(0, 0, 9, 0, 1));
}

TEST(RoiFeed, MirrorsEachImageOnceInAnEpoch) {
  RoiFeedOptions options = Unscaled();
  options.use_flipped = options.shuffle = true;
  options.seed = 3;
  RoiFeed feed(OpenAnnotatedFiles(TwoImages(), false), options);
  EXPECT_EQ(2, feed.size());
  std::set<float> lefts;
  for (int i = 0; i < 2; ++i) {
    const RoiSample& sample = feed.Next(0, 1);
    lefts.insert(sample.data[16]);  // red of the first pixel
    // The cat is in the middle, so its box stays where it is.
    EXPECT_THAT(sample.boxes.at(0), ElementsAre(1, 0, 2, 1, 2));
  }
  EXPECT_EQ((std::set<float>{0, 30}), lefts);
}

TEST(RoiFeed, IsTheSameForAnyNumberOfRanksAndAfterSeek) {
  const auto parameter = Parse<DataParameter>("backend: SHAPES size: 7 shapes_size: 32");
  RoiFeedOptions options;
  options.short_side = 32;
  options.shuffle = options.use_flipped = true;
  std::vector<std::vector<float>> all;
  RoiFeed one(OpenSource(parameter, TRAIN), options);
  EXPECT_EQ(14, one.size());
  for (int i = 0; i < 8; ++i) all.push_back(one.Next(0, 1).data);
  RoiFeed second(OpenSource(parameter, TRAIN), options);
  EXPECT_EQ(all[0], second.current().data);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(2 * i, second.position());
    EXPECT_EQ(all[2 * i + 1], second.Next(1, 2).data);
  }
  second.Seek(2);
  EXPECT_EQ(all[7], second.current().data);  // the current sample stays
  EXPECT_EQ(all[2], second.Next(0, 1).data);
  EXPECT_EQ(all[3], second.Next(0, 1).data);
}

TEST(RoiFeed, ReportsBadRecordsOrLeavesThemOut) {
  const RoiDataParameter parameter = TwoImages();
  WriteFile(ScratchPath("a.png"), "no image");
  RoiFeed feed(OpenAnnotatedFiles(parameter, true), Unscaled());
  EXPECT_THAT(MessageOf([&] { feed.Next(0, 1); }), HasSubstr("a.png' ("));
  RoiFeedOptions lenient = Unscaled();
  lenient.bad_records = 1;
  RoiFeed other(OpenAnnotatedFiles(parameter, true), lenient);
  EXPECT_EQ(12u, other.Next(0, 1).data.size());  // image b instead
  EXPECT_EQ(1, other.bad_records());
}

TEST(RoiFeed, RefusesMoreObjectsThanRows) {
  RoiFeedOptions options = Unscaled();
  options.max_boxes = 1;
  RoiFeed feed(OpenAnnotatedFiles(TwoImages(), false), options);
  EXPECT_THAT(MessageOf([&] { feed.Next(0, 1); }),
              HasSubstr("it has 2 objects, but max_boxes is 1"));
}

}  // namespace
}  // namespace doppio
