// Tests the layers AnnotatedData and BoxData in a net.
#include "data/source/open_source.h"
#include "proto/detection.pb.h"
#include "tests/data/data_net.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Returns a layer with two 2 x 2 images; the second one has one object more.
std::string TwoAnnotated(const std::string& more = "") {
  const std::string path = ScratchPath("annotated");
  KeysAndValues records;
  for (int i = 0; i < 2; ++i) {
    AnnotatedDatum annotated;
    annotated.mutable_datum()->ParseFromString(RawDatum(1, 2, 2, {i, i, i, i}, 0));
    for (int group = 0; group <= i; ++group) {
      annotated.add_annotation_group()->set_group_label(10 * i + group);
      NormalizedBBox* box =
          annotated.mutable_annotation_group(group)->add_annotation()->mutable_bbox();
      for (auto set : {&NormalizedBBox::set_xmin, &NormalizedBBox::set_ymin}) (box->*set)(0);
      for (auto set : {&NormalizedBBox::set_xmax, &NormalizedBBox::set_ymax}) (box->*set)(0.5f);
    }
    records.push_back({std::to_string(i), annotated.SerializeAsString()});
  }
  WriteLmdb(path, records);
  return "type: 'AnnotatedData' top: 'x' top: 'y' data_param { backend: LMDB source: '" + path +
         "' batch_size: 2 } annotated_data_param { " + more + " } ";
}

TEST_ON_DEVICES(AnnotatedDataLayer, DeliversBoxesInOrderAndThenRowsThatAreNone) {
  DataNet net(TwoAnnotated("max_boxes: 2"), DataMode::kOpen, TRAIN, DType::kFloat32, TestDevice());
  EXPECT_EQ(net.ShapeOf("x"), (Shape{2, 1, 2, 2}));
  EXPECT_EQ(net.ShapeOf("y"), (Shape{1, 1, 4, 8}));
  EXPECT_EQ(net.source()->source_size(), 2);
  net->Forward();
  EXPECT_THAT(net.Values("x"), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
  EXPECT_THAT(net.Values("y"), ElementsAre(0, 0, 0, 0, 0, 0.5, 0.5, 0,   //
                                           1, 10, 0, 0, 0, 0.5, 0.5, 0,  //
                                           1, 11, 0, 0, 0, 0.5, 0.5, 0,  //
                                           -1, -1, -1, -1, -1, -1, -1, -1));
}

TEST(AnnotatedDataLayer, DeliversTheSameWithAnyNumberOfThreads) {
  ExpectSameWithAnyThreads(
      "type: 'AnnotatedData' top: 'x' top: 'y' data_param { backend: SHAPES size: 6 seed: 3 part: "
      "TEST shapes_size: 48 batch_size: 5 } annotated_data_param { max_boxes: 4 } transform_param "
      "{ mirror: true }");
}

TEST(AnnotatedDataLayer, DeliversTheBoxesOfDrawnShapes) {
  const std::string param = "backend: SHAPES size: 6 seed: 3 part: TEST shapes_size: 48 ";
  DataNet net("type: 'AnnotatedData' top: 'x' top: 'y' data_param { " + param + "batch_size: 2 } " +
              "annotated_data_param { max_boxes: 4 }");
  EXPECT_EQ(net.ShapeOf("x"), (Shape{2, 3, 48, 48}));
  EXPECT_EQ(net.ShapeOf("y"), (Shape{1, 1, 8, 8}));
  EXPECT_EQ(net.source()->source_size(), 6);
  net->Forward();
  const auto source = OpenSource(Parse<DataParameter>(param), TRAIN);
  std::vector<double> pixels, rows;
  for (int image : {0, 1}) {
    Record record;
    source->Read(image, &record);
    pixels.insert(pixels.end(), record.pixels.bytes, record.pixels.bytes + 3 * 48 * 48);
    for (const ObjectBox& object : record.objects) {
      const Box& box = object.box;
      for (float value : {static_cast<float>(image), object.label, object.instance, box.xmin,
                          box.ymin, box.xmax, box.ymax, 0.0f})
        rows.push_back(value);
    }
  }
  EXPECT_EQ(net.Values("x"), pixels);
  rows.resize(64, -1);
  EXPECT_EQ(net.Values("y"), rows);
}

TEST(AnnotatedDataLayer, SaysWhatIsWrong) {
  EXPECT_THAT(LayerMistake(TwoAnnotated("max_boxes: 0")),
              HasSubstr("max_boxes must be at least 1"));
  EXPECT_THAT(LayerMistake(TwoAnnotated() + "transform_param { resize_param { height: 1 } }"),
              HasSubstr("layer 'input': resize_param needs height and width"));
  EXPECT_THAT(LayerMistake(TwoAnnotated() + "transform_param { cutout_param { size: 1 } }"),
              HasSubstr("cutout_param is for layers Data and ImageData"));
}

TEST(AnnotatedDataLayer, ScalesBoxesOfCoveredSizes) {
  DataNet net(TwoAnnotated("max_boxes: 2") +
              "transform_param { resize_param { height: 2 width: 2 resize_mode: FIT_SMALL_SIZE "
              "height_scale: 1 width_scale: 2 } }");
  net->Forward();
  // Samples have 2 x 2 pixels.
  const auto rows = net.Values("y");
  EXPECT_THAT(std::vector<double>(rows.begin(), rows.begin() + 8),
              ElementsAre(0, 0, 0, 0, 0, 0.5, 1, 0));
}

// A record of YOLO's databases: one image with the floats `objects` beside it.
std::string YoloDatum(const std::vector<float>& objects) {
  Datum datum;
  datum.ParseFromString(RawDatum(1, 2, 2, {1, 2, 3, 4}, 0));
  for (float value : objects) datum.add_float_data(value);
  return datum.SerializeAsString();
}

// Returns a layer whose two images have two objects and one. `fields` follow the batch size.
std::string YoloLayer(const std::string& type, const std::string& fields = "") {
  const std::string path = ScratchPath("yolo");
  WriteLmdb(path, {{"0", YoloDatum({4, 0, 0.5f, 0.25f, 0.5f, 0.25f, 0, 1, 0.25f, 0.5f, 0.5f, 1})},
                   {"1", YoloDatum({2, 0, 0.75f, 0.5f, 0.25f, 0.5f})}});
  return "type: '" + type + "' top: 'x' top: 'y' data_param { backend: LMDB source: '" + path +
         "' batch_size: 2 } " + fields;
}

TEST_ON_DEVICES(BoxDataLayer, DeliversRowsOfYolosObjects) {
  DataNet net(YoloLayer("BoxData", "annotated_data_param { max_boxes: 3 }"), DataMode::kOpen, TRAIN,
              DType::kFloat32, TestDevice());
  EXPECT_EQ(net.ShapeOf("x"), (Shape{2, 1, 2, 2}));
  EXPECT_EQ(net.ShapeOf("y"), (Shape{2, 15}));
  net->Forward();
  EXPECT_THAT(net.Values("x"), ElementsAre(1, 2, 3, 4, 1, 2, 3, 4));
  EXPECT_THAT(net.Values("y"), ElementsAre(4, 0.5, 0.25, 0.5, 0.25,  //
                                           0, 0.25, 0.5, 0.5, 1,     //
                                           0, 0, 0, 0, 0,            //
                                           2, 0.75, 0.5, 0.25, 0.5,  //
                                           0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
}

TEST(BoxDataLayer, HasRoomForThirtyObjects) {
  EXPECT_EQ(DataNet(YoloLayer("BoxData")).ShapeOf("y"), (Shape{2, 150}));
}

TEST(BoxDataLayer, MirrorsTheObjects) {
  DataNet net(YoloLayer("BoxData",
                        "transform_param { mirror: true } "
                        "annotated_data_param { max_boxes: 2 }"));
  bool plain = false, mirrored = false;
  for (int i = 0; i < 16; ++i) {
    net->Forward();
    const std::vector<double> pixels = net.Values("x"), rows = net.Values("y");
    EXPECT_EQ(rows[11], pixels[4] == 1 ? 0.75 : 0.25);
    (pixels[4] == 1 ? plain : mirrored) = true;
  }
  EXPECT_TRUE(plain && mirrored);
}

TEST(BoxDataLayer, ReadsTheDatabasesOfSsdToo) {
  std::string layer = TwoAnnotated("max_boxes: 2");
  layer.replace(layer.find("AnnotatedData"), 13, "BoxData");
  DataNet net(layer);
  net->Forward();
  EXPECT_THAT(net.Values("y"), ElementsAre(-1, 0.25, 0.25, 0.5, 0.5, 0, 0, 0, 0, 0,  //
                                           9, 0.25, 0.25, 0.5, 0.5, 10, 0.25, 0.25, 0.5, 0.5));
}

TEST(BoxDataLayer, SaysWhatIsWrong) {
  EXPECT_THAT(LayerMistake(YoloLayer("BoxData", "annotated_data_param { max_boxes: 1 }")),
              HasSubstr("max_boxes"));
  const std::string path = ScratchPath("plain");
  WriteLmdb(path, {{"0", YoloDatum({})}, {"1", YoloDatum({1, 2, 3, 4})}});
  EXPECT_THAT(
      LayerMistake("type: 'BoxData' top: 'x' top: 'y' data_param { backend: LMDB source: '" + path +
                   "' batch_size: 1 }"),
      HasSubstr("it is a Datum without boxes; layer Data reads such records"));
}

TEST(AnnotatedDataLayer, ReadsTheDatabasesOfYoloToo) {
  DataNet net(YoloLayer("AnnotatedData", "annotated_data_param { max_boxes: 2 }"));
  net->Forward();
  EXPECT_THAT(net.Values("y"), ElementsAre(0, 5, 0, 0.25, 0.125, 0.75, 0.375, 0,  //
                                           0, 1, 0, 0, 0, 0.5, 1, 1,              //
                                           1, 3, 0, 0.625, 0.25, 0.875, 0.75, 0,  //
                                           -1, -1, -1, -1, -1, -1, -1, -1));
}

}  // namespace
}  // namespace doppio
