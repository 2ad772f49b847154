// Tests the layers ImageSegData, DenseImageData and ImageLabelmapData in a net.
#include <map>
#include <set>

#include "tests/data/data_net.h"
#include "tests/testing/log_lines.h"

namespace doppio {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;

// Returns a layer that reads one gray image of 2x3 pixels, 10 to 60, with the labels 1 to 6.
std::string OnePair(const std::string& type, const std::string& tops, const std::string& transform,
                    const std::string& more = "") {
  WriteFile(ScratchPath("a.png"), Png(2, 3, 1, {10, 20, 30, 40, 50, 60}));
  WriteFile(ScratchPath("l.png"), Png(2, 3, 1, {1, 2, 3, 4, 5, 6}));
  WriteFile(ScratchPath("list.txt"), "a.png l.png\n");
  const std::string field =
      type == "DenseImageData" ? "dense_image_data_param" : "image_data_param";
  return "type: '" + type + "' " + tops + " " + field + " { source: '" + ScratchPath("list.txt") +
         "' root_folder: '" + ScratchPath("") + "' is_color: false batch_size: 1 " + more +
         " } transform_param { " + transform + " }";
}

TEST(ImagePairs, DeliverTheLabelOfEachPixel) {
  for (const char* type : {"ImageSegData", "DenseImageData"}) {
    DataNet net(OnePair(type, "top: 'd' top: 'l'", "mean_value: 10 scale: 0.5"));
    net->Forward();
    EXPECT_EQ(net.ShapeOf("d"), (Shape{1, 1, 2, 3}));
    EXPECT_THAT(net.Values("d"), ElementsAre(0, 5, 10, 15, 20, 25));
    EXPECT_EQ(net.ShapeOf("l"), (Shape{1, 1, 2, 3}));
    EXPECT_THAT(net.Values("l"), ElementsAre(1, 2, 3, 4, 5, 6));
  }
}

TEST(ImagePairs, DivideTheImageAlone) {
  DataNet net(OnePair("ImageSegData", "top: 'd' top: 'l'", "mean_value: 10 scale: 2 std_value: 4"));
  net->Forward();
  EXPECT_THAT(net.Values("d"), ElementsAre(0, 5, 10, 15, 20, 25));
  EXPECT_THAT(net.Values("l"), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(ImagePairs, MirrorAndCropBothImagesAlike) {
  DataNet net(OnePair("DenseImageData", "top: 'd' top: 'l'", "crop_size: 2 mirror: true"));
  std::set<std::vector<double>> seen;
  for (int i = 0; i < 40; ++i) {
    net->Forward();
    const std::vector<double> data = net.Values("d"), labels = net.Values("l");
    for (size_t pixel = 0; pixel < labels.size(); ++pixel)
      EXPECT_EQ(data[pixel], 10 * labels[pixel]);
    seen.insert(labels);
  }
  // Two places of the crop, mirrored or not.
  EXPECT_EQ(seen.size(), 4u);
}

TEST(ImagePairs, TurnBothImagesAlike) {
  DataNet net(OnePair("ImageSegData", "top: 'd' top: 'l'",
                      "crop_size: 2 mirror: true flip: true quarter_turns: true"));
  std::set<std::vector<double>> seen;
  for (int i = 0; i < 100; ++i) {
    net->Forward();
    const std::vector<double> data = net.Values("d"), labels = net.Values("l");
    for (size_t pixel = 0; pixel < labels.size(); ++pixel)
      EXPECT_EQ(data[pixel], 10 * labels[pixel]);
    seen.insert(labels);
  }
  EXPECT_EQ(seen.size(), 16u);  // two places of the crop in eight directions
}

TEST(ImagePairs, DeliverTheSameWithAnyNumberOfThreads) {
  for (const char* type : {"ImageSegData", "DenseImageData", "ImageLabelmapData"}) {
    std::string layer =
        OnePair(type, "top: 'd' top: 'l'",
                "crop_size: 2 mirror: true scale: 0.5 flip: true quarter_turns: true");
    const std::string one = "batch_size: 1", list = ScratchPath("pairs.txt");
    layer.replace(layer.find(one), one.size(), "batch_size: 5");
    layer.replace(layer.find(ScratchPath("list.txt")), ScratchPath("list.txt").size(), list);
    WriteFile(ScratchPath("b.png"), Png(2, 3, 1, {70, 80, 90, 100, 110, 120}));
    WriteFile(ScratchPath("m.png"), Png(2, 3, 1, {7, 8, 9, 10, 11, 12}));
    WriteFile(list, "a.png l.png\nb.png m.png\n");
    ExpectSameWithAnyThreads(layer);
  }
}

TEST(ImagePairs, ExtendSmallImagesUpToTheCrop) {
  DataNet net(
      OnePair("ImageSegData", "top: 'd' top: 'l' top: 'size'", "crop_h: 3 crop_w: 4 mean_value: 7"),
      DataMode::kOpen, TEST);
  net->Forward();
  EXPECT_THAT(net.Values("d"), ElementsAre(3, 13, 23, 0, 33, 43, 53, 0, 0, 0, 0, 0));
  EXPECT_THAT(net.Values("l"), ElementsAre(1, 2, 3, 255, 4, 5, 6, 255, 255, 255, 255, 255));
  EXPECT_EQ(net.ShapeOf("size"), (Shape{1, 1, 1, 2}));
  EXPECT_THAT(net.Values("size"), ElementsAre(2, 3));
}

TEST(ImagePairs, ResizeLabelsToTheNearest) {
  DataNet net(OnePair("DenseImageData", "top: 'd' top: 'l'", "", "new_height: 4 new_width: 6"));
  net->Forward();
  EXPECT_THAT(net.Values("l"), ElementsAre(1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3,  //
                                           4, 4, 5, 5, 6, 6, 4, 4, 5, 5, 6, 6));
}

// From ENet's training of its encoder, whose top is smaller than the image.
TEST(ImagePairs, DivideTheSizeOfTheLabels) {
  DataNet net(OnePair("DenseImageData", "top: 'd' top: 'l'", "",
                      "new_height: 4 new_width: 6 label_divide_factor: 2"));
  net->Forward();
  EXPECT_EQ(net.ShapeOf("d"), (Shape{1, 1, 4, 6}));
  EXPECT_EQ(net.ShapeOf("l"), (Shape{1, 1, 2, 3}));
  EXPECT_THAT(net.Values("l"), ElementsAre(1, 2, 3, 4, 5, 6));
}

// PSPNet's augmentation: the image of 2x3 pixels becomes 1x1 (rounded down) or 4x6, then 4x6 is
// cut.
TEST(ImagePairs, ResizeEachSampleByOneOfTheFactors) {
  for (const char* type : {"ImageSegData", "DenseImageData", "ImageLabelmapData"}) {
    const bool edges = std::string(type) == "ImageLabelmapData";
    const std::string tops = std::string("top: 'd' top: 'l'") +
                             (std::string(type) == "ImageSegData" ? " top: 'size'" : "");
    const std::string layer = OnePair(
        type, tops, "crop_h: 4 crop_w: 6 scale: 2 mean_value: 7 scale_factors: [0.5, 2, 1]");
    WriteFile(ScratchPath("l.png"), Png(2, 3, 1, {201, 2, 3, 204, 5, 206}));
    DataNet net(layer), again(layer), test(layer, DataMode::kOpen, TEST);
    std::map<std::vector<double>, int> seen;
    for (int i = 0; i < 90; ++i) {
      net->Forward();
      again->Forward();
      test->Forward();
      const std::vector<double> labels = net.Values("l");
      EXPECT_EQ(again.Values("l"), labels);
      EXPECT_EQ(test.Values("l"), labels);
      ++seen[labels];
      const bool small = labels[1] == (edges ? 0 : 255), large = labels[3 * 6 + 5] != labels[6 * 3];
      if (!edges && !small && large) {
        EXPECT_EQ(labels[0], 201);
        EXPECT_EQ(labels[3 * 6 + 5], 206);
        EXPECT_EQ(net.Values("d")[0], 2 * (10 - 7));
      }
      if (tops.find("size") == std::string::npos) continue;
      const std::vector<double> size = net.Values("size");
      EXPECT_THAT(size, AnyOf(ElementsAre(1, 1), ElementsAre(2, 3), ElementsAre(4, 6)));
      EXPECT_EQ(size[0] == 1, small);
    }
    EXPECT_EQ(seen.size(), 3u) << type;
    // Five standard deviations of 90 draws.
    for (const auto& [labels, times] : seen) EXPECT_NEAR(times, 30, 5 * 4.5) << type;
  }
}

TEST(ImagePairs, HaveOneLabelOrNone) {
  const std::string transform = "crop_h: 2 crop_w: 4 ignore_label: 7", tops = "top: 'd' top: 'l'";
  for (const bool one : {true, false}) {
    const std::string layer =
        OnePair("ImageSegData", tops, transform, one ? "label_type: IMAGE" : "label_type: NONE");
    WriteFile(ScratchPath("list.txt"), one ? "a.png 5\n" : "a.png\n");
    DataNet net(layer, DataMode::kOpen, TEST);
    net->Forward();
    EXPECT_THAT(net.Values("d"), ElementsAre(10, 20, 30, 0, 40, 50, 60, 0));
    const double label = one ? 5 : 7;
    EXPECT_THAT(net.Values("l"), ElementsAre(label, label, label, 7, label, label, label, 7));
  }
  for (const char* line :
       {"a.png", "a.png 256", "a.png -1", "a.png 5x", "a.png l.png", "a.png 5 6"}) {
    const std::string layer = OnePair("ImageSegData", tops, "", "label_type: IMAGE");
    WriteFile(ScratchPath("list.txt"), line);
    EXPECT_THAT(LayerMistake(layer), HasSubstr("and a label from 0 to 255")) << line;
  }
  const std::string none = OnePair("ImageSegData", tops, "", "label_type: NONE");
  EXPECT_THAT(LayerMistake(none), HasSubstr("each line is the path of an image"));
}

TEST(ImagePairs, TakeLabelsAsStored) {
  const auto values = [](const std::string& type, const std::string& labels) {
    const std::string layer = OnePair(type, "top: 'd' top: 'l'", "");
    WriteFile(ScratchPath("l.png"), labels);
    DataNet net(layer);
    net->Forward();
    return net.Values("l");
  };
  const std::string palette = AnyPng(3, {8, 3}, {{0, 1, 15}, "\xff\1\2"});
  const std::string wide = AnyPng(3, {16, 0}, {{0, 0, 0, 1, 0, 15}, {0, '\xff', 0, 1, 0, 2}});
  for (const char* type : {"ImageSegData", "DenseImageData"}) {
    for (const std::string& labels : {palette, wide})
      EXPECT_THAT(values(type, labels), ElementsAre(0, 1, 15, 255, 1, 2)) << type;
  }
  // Edges are light, whatever their index or number of bits.
  const std::string bits = AnyPng(3, {1, 0}, {"\x40", "\xa0"});
  EXPECT_THAT(values("ImageLabelmapData", bits), ElementsAre(0, 1, 0, 1, 0, 1));
  EXPECT_THAT(values("ImageSegData", bits), ElementsAre(0, 1, 0, 1, 0, 1));
  EXPECT_THAT(values("ImageLabelmapData", AnyPng(3, {8, 3}, {"\1\4\5", "\5\4\1"})),
              ElementsAre(0, 1, 1, 1, 1, 0));
}

TEST(ImagePairs, RefuseLabelsThatAreColoursOrTooLarge) {
  const std::string layer = OnePair("ImageSegData", "top: 'd' top: 'l'", "");
  WriteFile(ScratchPath("l.png"), Png(2, 3, 3,
                                      std::vector<int>{1, 2, 3, 0, 0, 0, 0, 0, 0,  //
                                                       0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_THAT(LayerMistake(layer),
              HasSubstr("image '" + ScratchPath("a.png") + "' (" + ScratchPath("list.txt") +
                        ":1): its image of labels '" + ScratchPath("l.png") +
                        "': it has colours, such as red 1, green 2, blue 3 at x = 0, y = 0"));
  WriteFile(ScratchPath("l.png"), AnyPng(3, {16, 0}, {std::string(6, '\1'), std::string(6, 0)}));
  EXPECT_THAT(LayerMistake(layer), HasSubstr("its value at x = 0, y = 0 is 257"));
  EXPECT_THAT(LayerMistake(OnePair("ImageSegData", "top: 'd'", "ignore_label: 256")),
              HasSubstr("ignore_label must be at most 255"));
}

TEST(ImagePairs, WarnOnceOfLossyLabelsAndOfImagesOf16Bits) {
  const std::string layer = OnePair("ImageSegData", "top: 'd' top: 'l'", "");
  WriteFile(ScratchPath("a.png"),
            AnyPng(8, {16, 0}, std::vector<std::string>(8, std::string(16, 3))));
  WriteFile(ScratchPath("l.png"), Jpeg({8, 8, 1}, std::vector<int>(64, 4)));
  const LogLines log;
  {
    DataNet net(layer);
    for (int i = 0; i < 3; ++i) net->Forward();
    EXPECT_THAT(net.Values("l"), testing::Each(4));
  }
  EXPECT_EQ(log.Count("image '" + ScratchPath("a.png") + "' (" + ScratchPath("list.txt") +
                      ":1) has values of more than 8 bits, of which the upper 8 are used"),
            1);
  EXPECT_EQ(log.Count("has its labels in a JPEG"), 1);
  const std::string light = OnePair("ImageLabelmapData", "top: 'd' top: 'l'", "");
  WriteFile(ScratchPath("l.png"), Jpeg({2, 3, 1}, std::vector<int>(6, 200)));
  DataNet edges(light);
  edges->Forward();
  EXPECT_EQ(log.Count("JPEG"), 1);
}

TEST(ImagePairs, MakeEdgesOfLightGray) {
  const std::string layer =
      OnePair("ImageLabelmapData", "top: 'd' top: 'l'", "crop_h: 2 crop_w: 4 mirror: false");
  WriteFile(ScratchPath("l.png"), Png(2, 3, 1, {0, 1, 127, 128, 200, 255}));
  DataNet net(layer, DataMode::kOpen, TEST);
  net->Forward();
  EXPECT_EQ(net.ShapeOf("l"), (Shape{1, 1, 2, 4}));
  EXPECT_THAT(net.Values("l"), ElementsAre(0, 0, 0, 0, 1, 1, 1, 0));  // the last column is filled
  EXPECT_THAT(net.Values("d"), ElementsAre(10, 20, 30, 0, 40, 50, 60, 0));
}

TEST(ImagePairs, HaveAShapeWithoutTheirFiles) {
  EXPECT_EQ(Shapes("type: 'ImageSegData' top: 'd' top: 'l' image_data_param { source: 'none' "
                   "batch_size: 2 label_type: PIXEL } transform_param { crop_size: 5 }",
                   DataMode::kAssume),
            "d 2x3x5x5; l 2x1x5x5; ");
}

TEST(ImagePairs, ExplainMistakes) {
  const auto mistake = [](const std::string& transform, const std::string& more = "") {
    return LayerMistake(OnePair("ImageSegData", "top: 'd' top: 'l'", transform, more));
  };
  EXPECT_THAT(LayerMistake(OnePair("DenseImageData", "top: 'd' top: 'l'", "", "label_type: IMAGE")),
              HasSubstr("DenseImageData takes only label_type: PIXEL"));
  EXPECT_THAT(
      LayerMistake(OnePair("DenseImageData", "top: 'd' top: 'l'", "", "label_divide_factor: 3")),
      HasSubstr("label_divide_factor 3 leaves no labels of 2x3"));
  EXPECT_THAT(
      LayerMistake(OnePair("DenseImageData", "top: 'd' top: 'l'", "", "label_divide_factor: 0")),
      HasSubstr("must be from 1 to 1024, found 0"));
  EXPECT_THAT(mistake("", "label_divide_factor: 2"), HasSubstr("only DenseImageData has"));
  EXPECT_THAT(mistake("", "balance: true"),
              HasSubstr("samples of ImageSegData have no class; remove balance"));
  EXPECT_THAT(mistake("quarter_turns: true", ""), HasSubstr("quarter_turns needs square samples"));
  EXPECT_THAT(mistake("", "new_height: 3"), HasSubstr("set both new_height and new_width"));
  EXPECT_THAT(mistake("mean_file: 'm'"), HasSubstr("takes mean_value, not mean_file"));
  EXPECT_THAT(mistake("scale: 0"), HasSubstr("scale must not be 0"));
  EXPECT_THAT(mistake("mean_value: [1, 2]"), HasSubstr("2 mean_value, but the image has 1"));
  EXPECT_THAT(mistake("std_value: [1, 2]"), HasSubstr("2 std_value, but the image has 1"));
  std::string two = OnePair("ImageSegData", "top: 'd' top: 'l'", "scale_factors: 2");
  two.replace(two.find("batch_size: 1"), 13, "batch_size: 2");
  EXPECT_THAT(LayerMistake(two), HasSubstr("samples have different sizes; set crop_size"));
  for (const char* factor : {"0", "-1", "101", "nan"}) {
    EXPECT_THAT(mistake(std::string("crop_size: 2 scale_factors: [1, ") + factor + "]"),
                HasSubstr("scale_factors must be above 0 and at most 100"));
  }
  const std::string layer = OnePair("DenseImageData", "top: 'd' top: 'l'", "");
  WriteFile(ScratchPath("l.png"), Png(1, 2, 1, {1, 2}));
  EXPECT_THAT(LayerMistake(layer), HasSubstr("is 1x2 pixels, the image is 2x3"));
  WriteFile(ScratchPath("list.txt"), "a.png\n");
  EXPECT_THAT(LayerMistake(layer),
              HasSubstr("each line is the path of an image and that of its image"));
}

}  // namespace
}  // namespace doppio
