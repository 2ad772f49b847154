// Tests the layer RoiData in a net.
#include "data/source/open_source.h"
#include "proto/detection.pb.h"
#include "tests/data/data_net.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

// Returns a layer that reads a gray-valued image of 4 x 2 pixels with one cat, then one of 2 x 3
// pixels with two.
std::string CatsLayer(const std::string& tops, const std::string& fields) {
  const auto write = [](const std::string& name, int width, int height, int cats) {
    const std::vector<int> pixels(3 * width * height, width);
    WriteFile(ScratchPath(name + ".png"), Png(height, width, 3, pixels));
    std::string xml = "<annotation>";
    for (int i = 0; i < cats; ++i) {
      xml +=
          "<object><name>cat</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax>"
          "</bndbox></object>";
    }
    WriteFile(ScratchPath(name + ".xml"), xml + "</annotation>");
  };
  write("a", 4, 2, 1);
  write("b", 2, 3, 2);
  WriteFile(ScratchPath("list.txt"), "a.png a.xml\nb.png b.xml\n");
  return "type: 'RoiData' " + tops + " roi_data_param { source: '" + ScratchPath("list.txt") +
         "' root_folder: '" + ScratchPath("") + "' class_name: 'cat' short_side: 2 " + fields +
         " } transform_param { mean_value: 1 } ";
}

constexpr char kRoiTops[] = "top: 'data' top: 'im_info' top: 'gt_boxes' top: 'labels'";

TEST_ON_DEVICES(RoiDataLayer, ChangesTheShapesOfItsTopsFromImageToImage) {
  DataNet net(CatsLayer(kRoiTops, ""), DataMode::kOpen, TEST, DType::kFloat32, TestDevice());
  EXPECT_EQ(net.source()->source_size(), 2);
  for (int epoch = 0; epoch < 2; ++epoch) {
    net->Forward();
    EXPECT_EQ(net.ShapeOf("data"), (Shape{1, 3, 2, 4}));
    EXPECT_THAT(net.Values("data"), ElementsAreArray(std::vector<double>(24, 3)));
    EXPECT_THAT(net.Values("im_info"), ElementsAre(2, 4, 1));
    EXPECT_EQ(net.ShapeOf("gt_boxes"), (Shape{1, 5}));
    EXPECT_THAT(net.Values("gt_boxes"), ElementsAre(0, 0, 1, 1, 1));
    EXPECT_THAT(net.Values("labels"), ElementsAre(0, 1, 0, 0, 0, 0.5, 1, 0));
    net->Forward();
    EXPECT_EQ(net.ShapeOf("data"), (Shape{1, 3, 3, 2}));
    EXPECT_EQ(net.ShapeOf("gt_boxes"), (Shape{2, 5}));
    EXPECT_EQ(net.ShapeOf("labels"), (Shape{1, 1, 2, 8}));
    EXPECT_THAT(net.Values("im_info"), ElementsAre(3, 2, 1));
    EXPECT_EQ(net.source()->position(), 2 * epoch + 2);
  }
}

TEST(RoiDataLayer, DeliversTheSameWithAnyNumberOfThreads) {
  ExpectSameWithAnyThreads(CatsLayer(kRoiTops, ""));
}

TEST(RoiDataLayer, ContinuesWhereASnapshotEnded) {
  DataNet net(CatsLayer(kRoiTops, ""), DataMode::kOpen, TEST);
  net.source()->Seek(1);
  net->Forward();
  EXPECT_EQ(net.ShapeOf("data"), (Shape{1, 3, 3, 2}));
}

TEST(RoiDataLayer, HasAFixedNumberOfRows) {
  DataNet net(CatsLayer(kRoiTops, "max_boxes: 3"), DataMode::kOpen, TEST);
  net->Forward();
  EXPECT_THAT(net.Values("gt_boxes"), ElementsAre(0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_EQ(net.ShapeOf("labels"), (Shape{1, 1, 3, 8}));
  EXPECT_EQ(net.Values("labels")[8], -1);
}

TEST(RoiDataLayer, ReadsRecordsOfDataParam) {
  const std::string param = "backend: SHAPES size: 3 shapes_size: 40 part: TEST";
  DataNet net("type: 'RoiData' top: 'data' top: 'im_info' top: 'gt_boxes' data_param { " + param +
                  " } roi_data_param { short_side: 80 }",
              DataMode::kOpen, TEST);
  net->Forward();
  EXPECT_EQ(net.ShapeOf("data"), (Shape{1, 3, 80, 80}));
  EXPECT_THAT(net.Values("im_info"), ElementsAre(80, 80, 2));
  Record record;
  OpenSource(Parse<DataParameter>(param), TEST)->Read(0, &record);
  ASSERT_EQ(net.ShapeOf("gt_boxes")[0], static_cast<int64_t>(record.objects.size()));
  const std::vector<double> rows = net.Values("gt_boxes");
  for (size_t i = 0; i < record.objects.size(); ++i) {
    EXPECT_NEAR(rows[5 * i], 80 * record.objects[i].box.xmin, 1e-3);
    EXPECT_NEAR(rows[5 * i + 3], 80 * record.objects[i].box.ymax - 2, 1e-3);
    EXPECT_EQ(rows[5 * i + 4], record.objects[i].label);
  }
}

TEST(RoiDataLayer, TellsThePreprocessing) {
  const Graph graph =
      MakeTestGraph("layer { name: 'input' " + CatsLayer(kRoiTops, "") + "}", DataMode::kOpen);
  const Preprocessing& record = graph.preprocessing.value();
  EXPECT_EQ(record.channels(), Preprocessing::BGR);
  EXPECT_EQ(record.short_side(), 2u);
  EXPECT_EQ(record.max_side(), 1000u);
  EXPECT_THAT(record.mean(), ElementsAre(1));
  EXPECT_THAT(record.class_name(), ElementsAre("background", "cat"));
}

TEST(RoiDataLayer, ReplacesTheLayerOfPyFasterRcnn) {
  const Graph graph = MakeTestGraph(
      "layer { name: 'input-data' type: 'Python' top: 'data' top: 'im_info' top: 'gt_boxes' "
      "python_param { module: 'roi_data_layer.layer' layer: 'RoIDataLayer' "
      "param_str: \"'num_classes': 2\" } data_param { backend: SHAPES } }",
      DataMode::kOpen);
  EXPECT_EQ(graph.spec.layers[0].type(), "RoiData");
  EXPECT_THAT(graph.spec.layers[0].replaced,
              HasSubstr("RoiData replaces roi_data_layer.layer.RoIDataLayer"));
  // The same class in a net of Fast R-CNN.
  EXPECT_THAT(MessageOf([] {
                MakeTestGraph(
                    "layer { name: 'd' type: 'Python' top: 'data' top: 'rois' top: 'labels' "
                    "python_param { module: 'roi_data_layer.layer' layer: 'RoIDataLayer' } }",
                    DataMode::kOpen);
              }),
              HasSubstr("type 'Python' of Caffe is not supported"));
}

TEST(RoiDataLayer, IsNotAssumedIfItsFileIsDamaged) {
  WriteFile(ScratchPath("damaged.json"), "{\"images\": [1e999]}");
  EXPECT_THAT(
      MessageOf([] {
        MakeTestGraph("layer { name: 'input' " + std::string("type: 'RoiData' ") + kRoiTops +
                          " roi_data_param { format: COCO source: '" + ScratchPath("damaged.json") +
                          "' } }",
                      DataMode::kAssume);
      }),
      HasSubstr("damaged.json:1:17: layer 'input': the number that ends here is too large"));
}

TEST(RoiDataLayer, HasAShapeWithoutItsFiles) {
  const std::string layer =
      "layer { name: 'input' type: 'RoiData' top: 'data' top: 'im_info' top: 'gt_boxes' "
      "roi_data_param { source: 'none' } }";
  for (DataMode mode : {DataMode::kSynthetic, DataMode::kAssume}) {
    const Graph graph = MakeTestGraph(layer, mode);
    EXPECT_EQ(graph.edges[graph.FindEdge("data")].shape, (Shape{1, 3, 600, 1000}));
    EXPECT_EQ(graph.nodes[0].shape.missing.has_value(), mode == DataMode::kAssume);
  }
  const Graph without = MakeTestGraph(
      "layer { name: 'input' type: 'RoiData' top: 'data' top: 'im_info' top: 'gt_boxes' }",
      DataMode::kAssume);
  EXPECT_THAT(without.nodes[0].shape.missing.value().message(),
              testing::AllOf(HasSubstr("RoiData needs roi_data_param { source: ... }"),
                             HasSubstr("; its images are assumed to be 1x3x608x1024")));
  EXPECT_TRUE(without.nodes[0].shape.guessed);
  DataNet net("type: 'RoiData' " + std::string(kRoiTops) +
                  " roi_data_param { short_side: 8 max_side: 16 max_boxes: 2 }",
              DataMode::kSynthetic);
  net->Forward();
  EXPECT_THAT(net.Values("im_info"), ElementsAre(8, 16, 1));
  EXPECT_THAT(net.Values("gt_boxes"), ElementsAre(4, 2, 11, 5, 1, 0, 0, 0, 0, 0));
}

TEST(RoiDataLayer, ExplainsMistakes) {
  const auto mistake = [](const std::string& fields) {
    return MessageOf([&] {
      MakeTestGraph(
          "layer { name: 'input' type: 'RoiData' top: 'a' top: 'b' top: 'c' " + fields + "}",
          DataMode::kOpen);
    });
  };
  EXPECT_THAT(mistake(""), HasSubstr("RoiData needs roi_data_param { source: ... }"));
  EXPECT_THAT(mistake("roi_data_param { source: 'x' } data_param { backend: SHAPES }"),
              HasSubstr("has a source, and so has data_param"));
  EXPECT_THAT(mistake("roi_data_param { source: 'none' }"), HasSubstr("4: net.prototxt:1:"));
  EXPECT_THAT(mistake("roi_data_param { source: 'x' short_side: 0 }"),
              HasSubstr("short_side must be from 1"));
  EXPECT_THAT(mistake("roi_data_param { source: 'x' max_side: 0 }"),
              HasSubstr("max_side must be from 1"));
  EXPECT_THAT(mistake("roi_data_param { source: 'x' } transform_param { crop_size: 3 }"),
              HasSubstr("RoiData reads only mean_value, scale,"));
  EXPECT_THAT(
      mistake("roi_data_param { source: 'x' } transform_param { mean_value: 1 mean_value: 2 }"),
      HasSubstr("mean_value is given 2 times"));
  EXPECT_THAT(
      mistake("roi_data_param { source: 'x' } transform_param { std_value: 1 std_value: 2 }"),
      HasSubstr("std_value is given 2 times"));
  EXPECT_THAT(mistake("roi_data_param { source: 'x' } transform_param { std_value: -3 }"),
              HasSubstr("it must be a finite number above 0"));
  EXPECT_THAT(mistake("data_param { backend: DIGITS }"), HasSubstr("it has no boxes"));
}

}  // namespace
}  // namespace doppio
