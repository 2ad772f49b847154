// Tests what layers say about records that are legal but surely not meant.
#include <cmath>
#include <sstream>

#include "data/record/boxes.h"
#include "proto/detection.pb.h"
#include "tests/data/data_net.h"
#include "tests/testing/log_lines.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string DataOf(const KeysAndValues& records, const std::string& more,
                   const std::string& type = "Data") {
  WriteLmdb(ScratchPath("db"), records);
  return "type: '" + type + "' top: 'd' top: 'l' data_param { backend: LMDB source: '" +
         ScratchPath("db") + "' batch_size: 2 threads: 1 } " + more;
}

// Returns the error of the second record, after the first one was read.
std::string SecondMistake(const std::string& layer) {
  return MessageOf([&] { DataNet(layer)->Forward(); });
}

TEST(MixedChannels, AreToldWhatMakesThemAlike) {
  const std::string colour = EncodedDatum(Png(1, 1, 3, {1, 2, 3}), 0),
                    gray = EncodedDatum(Png(1, 1, 1, {9}), 1);
  const std::string advice =
      ": images of one batch must have as many; force_color: true in transform_param decodes all "
      "image files in colour, force_gray: true in gray";
  for (const char* more : {"", "transform_param { mean_value: [1, 2, 3] }",
                           "transform_param { resize_param { height: 1 width: 1 } }"}) {
    EXPECT_THAT(SecondMistake(DataOf({{"a", colour}, {"b", gray}}, more)),
                HasSubstr("record 'b' of '" + ScratchPath("db") +
                          "': it has 1 channel, but the first one has 3" + advice))
        << more;
  }
  EXPECT_THAT(SecondMistake(DataOf({{"a", gray}, {"b", colour}}, "")),
              HasSubstr("it has 3 channels, but the first one has 1" + advice));
  EXPECT_THAT(LayerMistake(DataOf({{"a", gray}}, "transform_param { mean_value: [1, 2, 3] }")),
              HasSubstr("has 3 mean_value, but the image has 1 channel"));
  DataNet forced(DataOf({{"a", colour}, {"b", gray}}, "transform_param { force_color: true }"));
  forced->Forward();
  EXPECT_THAT(forced.Values("d"), ElementsAre(3, 2, 1, 9, 9, 9));
  EXPECT_THAT(SecondMistake(DataOf(
                  {{"a", RawDatum(3, 1, 1, {1, 2, 3}, 0)}, {"b", RawDatum(1, 1, 1, {9}, 0)}}, "")),
              HasSubstr("make the database anew, from images of 3 channels"));
}

TEST(ImagesOf16Bits, AreNamedOnce) {
  const std::string wide = EncodedDatum(AnyPng(1, {16, 0}, {std::string("\x12\xff", 2)}), 0);
  for (const char* more : {"", "transform_param { cutout_param { size: 1 prob: 0 } }"}) {
    const LogLines log;
    DataNet net(
        DataOf({{"a", EncodedDatum(Png(1, 1, 1, {9}), 0)}, {"b", wide}, {"c", wide}}, more));
    for (int i = 0; i < 4; ++i) net->Forward();
    EXPECT_EQ(log.Count("record 'b' of '" + ScratchPath("db") +
                        "' has values of more than 8 bits, of which the upper 8 are used"),
              1)
        << more;
    EXPECT_EQ(log.Count("more than 8 bits"), 1) << more;
  }
}

TEST(PalettesReadAsGray, AreNamedOnce) {
  const std::string palette = EncodedDatum(AnyPng(2, {8, 3}, {std::string("\0\1", 2)}), 0);
  for (const bool gray : {false, true}) {
    const LogLines log;
    DataNet net(DataOf({{"a", palette}, {"b", palette}},
                       gray ? "transform_param { force_gray: true }" : ""));
    for (int i = 0; i < 3; ++i) net->Forward();
    EXPECT_EQ(log.Count("record 'a' of '" + ScratchPath("db") +
                        "' has a palette, and its pixels are the brightness of their colours"),
              gray);
    EXPECT_EQ(log.Count("has a palette"), gray);
  }
}

// Returns a record of 2 x 2 pixels with boxes of class 1.
std::string Boxes(const std::vector<Box>& boxes) {
  AnnotatedDatum annotated;
  annotated.mutable_datum()->ParseFromString(RawDatum(3, 2, 2, std::vector<int>(12, 5), 0));
  AnnotationGroup* group = annotated.add_annotation_group();
  group->set_group_label(1);
  for (const Box& box : boxes) {
    NormalizedBBox* to = group->add_annotation()->mutable_bbox();
    to->set_xmin(box.xmin);
    to->set_ymin(box.ymin);
    to->set_xmax(box.xmax);
    to->set_ymax(box.ymax);
  }
  return annotated.SerializeAsString();
}

const Box kGood = {0.5f, 0, 1.5f, 0.5f};

std::vector<Box> UnusableBoxes() {
  return {{0.5f, 0, 0.25f, 1}, {0, 0.5f, 1, 0.5f}, {0, 0, NAN, 1},
          {0, 0, INFINITY, 1}, {1, 0, 2, 1},       {0, -2, 1, 0}};
}

TEST(UnusableBoxes, AreLeftOutAndNamedOnce) {
  std::vector<Box> boxes = UnusableBoxes();
  boxes.insert(boxes.begin() + 1, kGood);
  const KeysAndValues records = {{"a", Boxes({kGood})}, {"b", Boxes(boxes)}, {"c", Boxes(boxes)}};
  const std::string fields = "annotated_data_param { max_boxes: 1 } ";
  const std::string warning =
      "record 'b' of '" + ScratchPath("db") +
      "': 6 boxes without area, inverted, outside of the image or not finite are "
      "left out";
  for (const std::string type : {"AnnotatedData", "BoxData"}) {
    const LogLines log;
    {
      DataNet net(DataOf(records, fields, type));
      for (int i = 0; i < 3; ++i) {
        net->Forward();
        const std::vector<double> labels = net.Values("l");
        if (type == "BoxData") {
          EXPECT_THAT(labels, ElementsAre(0, 0.75, 0.25, 0.5, 0.5, 0, 0.75, 0.25, 0.5, 0.5));
        } else {
          EXPECT_EQ(std::vector<double>(labels.begin() + 3, labels.begin() + 7),
                    (std::vector<double>{0.5, 0, 1, 0.5}));
        }
      }
      EXPECT_EQ(log.Count(warning), 1) << type;
    }
    EXPECT_EQ(log.Count("2 records had boxes without area"), 1) << type;
  }
  const LogLines log;
  DataNet roi("type: 'RoiData' top: 'd' top: 'i' top: 'b' data_param { backend: LMDB source: '" +
              ScratchPath("db") +
              "' } roi_data_param { short_side: 2 use_flipped: false shuffle: false }");
  for (int i = 0; i < 3; ++i) {
    roi->Forward();
    EXPECT_THAT(roi.Values("b"), ElementsAre(1, 0, 1, 0, 1));
  }
  EXPECT_EQ(log.Count(warning), 1);
}

TEST(UnusableBoxes, OfAnnotationFilesAreCountedAtTheStart) {
  const auto object = [](const std::string& sides) {
    std::string xml = "<object><name>cat</name><bndbox>";
    const char* const tags[] = {"xmin", "ymin", "xmax", "ymax"};
    std::istringstream numbers(sides);
    for (const char* tag : tags) {
      std::string number;
      numbers >> number;
      xml += "<" + std::string(tag) + ">" + number + "</" + tag + ">";
    }
    return xml + "</bndbox></object>";
  };
  const std::string size = "<size><width>4</width><height>2</height></size>";
  WriteFile(ScratchPath("a.png"), Png(2, 4, 3, std::vector<int>(24, 7)));
  WriteFile(ScratchPath("a.xml"), "<annotation>" + size + object("1 1 2 2") + object("3 1 2 2") +
                                      object("5 1 9 2") + object("nan 1 2 2") + "</annotation>");
  WriteFile(ScratchPath("b.xml"), "<annotation>" + size + object("5 1 9 2") + "</annotation>");
  WriteFile(ScratchPath("c.xml"),
            "<annotation>" + object("1 1 1 1") + object("5 1 9 2") + "</annotation>");
  WriteFile(ScratchPath("list.txt"), "a.png a.xml\na.png b.xml\na.png c.xml\n");
  const LogLines log;
  DataNet net("type: 'RoiData' top: 'd' top: 'i' top: 'b' roi_data_param { source: '" +
              ScratchPath("list.txt") + "' root_folder: '" + ScratchPath("") +
              "' class_name: 'cat' short_side: 2 use_flipped: false shuffle: false }");
  EXPECT_EQ(log.Count("4 boxes without area, inverted, outside of the image or not finite are "
                      "left out; the first is that of 'cat' in '" +
                      ScratchPath("a.png") + "' (" + ScratchPath("list.txt") + ":1)"),
            1);
  EXPECT_EQ(net.source()->source_size(), 2);  // b.xml has no object
  for (int i = 0; i < 2; ++i) {
    net->Forward();
    EXPECT_THAT(net.Values("b"), ElementsAre(0, 0, i == 0 ? 1 : 0, i == 0 ? 1 : 0, 1));
  }
  // The size of the image is known only now.
  EXPECT_EQ(
      log.Count("1 box without area, inverted, outside of the image or not finite is left out"), 1);
}

TEST(NamesOfSamples, AreThoseOfTheirRecords) {
  DataNet data(ThreeRecords());
  EXPECT_EQ(data.source()->NameOfSample(3 + 1), "record '1' of '" + ScratchPath("db") + "'");
  DataNet shapes(
      "type: 'RoiData' top: 'd' top: 'i' top: 'b' data_param { backend: SHAPES size: 3 "
      "} roi_data_param { short_side: 128 use_flipped: true shuffle: false }");
  EXPECT_EQ(shapes.source()->NameOfSample(4), shapes.source()->NameOfSample(1));
  EXPECT_NE(shapes.source()->NameOfSample(4), shapes.source()->NameOfSample(2));
}

}  // namespace
}  // namespace doppio
