// Tests the layers ImageSegData, DenseImageData and ImageLabelmapData in a net.
#include <set>

#include "tests/data/data_net.h"

namespace doppio {
namespace {

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
    return Mistake(OnePair("ImageSegData", "top: 'd' top: 'l'", transform, more));
  };
  EXPECT_THAT(mistake("", "label_type: IMAGE"), HasSubstr("only label_type: PIXEL is supported"));
  EXPECT_THAT(mistake("", "new_height: 3"), HasSubstr("set both new_height and new_width"));
  EXPECT_THAT(mistake("mean_file: 'm'"), HasSubstr("takes mean_value, not mean_file"));
  EXPECT_THAT(mistake("scale: 0"), HasSubstr("scale must not be 0"));
  EXPECT_THAT(mistake("mean_value: [1, 2]"), HasSubstr("2 mean_value, but the image has 1"));
  const std::string layer = OnePair("DenseImageData", "top: 'd' top: 'l'", "");
  WriteFile(ScratchPath("l.png"), Png(1, 2, 1, {1, 2}));
  EXPECT_THAT(Mistake(layer), HasSubstr("is 1x2 pixels, the image is 2x3"));
  WriteFile(ScratchPath("list.txt"), "a.png\n");
  EXPECT_THAT(Mistake(layer), HasSubstr("each line is the path of an image and that of its image"));
}

}  // namespace
}  // namespace doppio
