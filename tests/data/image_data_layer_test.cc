// Tests the layer ImageData in a net.
#include <algorithm>

#include "tests/data/data_net.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string TwoLabels(const std::string& tops, const std::string& more = "") {
  WriteFile(ScratchPath("a.png"), Png(1, 1, 3, {1, 2, 3}));
  WriteFile(ScratchPath("list.txt"), ScratchPath("a.png") + " 4 0.5\n");
  return "type: 'ImageData' " + tops + " image_data_param { source: '" + ScratchPath("list.txt") +
         "' batch_size: 2 " + more + " } ";
}

TEST(ImageDataLayer, DeliversSeveralLabelsInOneTopOrOneEach) {
  DataNet one(TwoLabels("top: 'd' top: 'l'"));
  one->Forward();
  EXPECT_THAT(one.Values("d"), ElementsAre(3, 2, 1, 3, 2, 1));
  EXPECT_EQ(one.ShapeOf("l"), (Shape{2, 2}));
  EXPECT_THAT(one.Values("l"), ElementsAre(4, 0.5, 4, 0.5));
  DataNet each(TwoLabels("top: 'd' top: 'a' top: 'b'"));
  each->Forward();
  EXPECT_EQ(each.ShapeOf("b"), Shape{2});
  EXPECT_THAT(each.Values("a"), ElementsAre(4, 4));
  EXPECT_THAT(each.Values("b"), ElementsAre(0.5, 0.5));
}

TEST(ImageDataLayer, DeliversTheSameWithAnyNumberOfThreads) {
  std::string list;
  for (int i = 0; i < 7; ++i) {
    const std::string path = ScratchPath(std::to_string(i) + ".png");
    std::vector<int> pixels(5 * 4 * 3);
    for (size_t p = 0; p < pixels.size(); ++p) pixels[p] = static_cast<int>(p * 37 + i * 71) % 256;
    WriteFile(path, Png(5, 4, 3, pixels));
    list += path + " " + std::to_string(i) + "\n";
  }
  WriteFile(ScratchPath("seven.txt"), list);
  ExpectSameWithAnyThreads("type: 'ImageData' top: 'd' top: 'l' image_data_param { source: '" +
                           ScratchPath("seven.txt") +
                           "' batch_size: 5 shuffle: true } transform_param { mirror: true "
                           "crop_size: 3 scale: 0.5 }");
}

// A list with five images of class 0 and one of class 1.
std::string FiveAndOne(const std::string& more) {
  std::string list;
  for (int i = 0; i < 6; ++i) {
    const std::string path = ScratchPath("u" + std::to_string(i) + ".png");
    WriteFile(path, Png(4, 4, 3, std::vector<int>(48, 10 * i)));
    list += path + (i == 2 ? " 1\n" : " 0\n");
  }
  WriteFile(ScratchPath("six.txt"), list);
  return "type: 'ImageData' top: 'd' top: 'l' image_data_param { source: '" +
         ScratchPath("six.txt") + "' batch_size: 4 " + more + " } ";
}

TEST(ImageDataLayer, BalancesClasses) {
  const std::string balanced = FiveAndOne("shuffle: true balance: true");
  DataNet net(balanced);
  for (int i = 0; i < 5; ++i) {
    net->Forward();
    const std::vector<double> labels = net.Values("l");
    EXPECT_EQ(std::count(labels.begin(), labels.end(), 1), 2);
  }
  EXPECT_EQ(net.source()->source_size(), 6);  // an epoch keeps its length
  ExpectSameWithAnyThreads(balanced +
                           "transform_param { flip: true quarter_turns: true mirror: true }");
}

TEST(ImageDataLayer, DoesNotBalanceTests) {
  EXPECT_THAT(MessageOf([] { DataNet(FiveAndOne("balance: true"), DataMode::kOpen, TEST); }),
              HasSubstr("balance is for training: a test sees each sample once; remove it here, or "
                        "limit the layer to training by include { phase: TRAIN }"));
  DataNet(FiveAndOne("balance: false"), DataMode::kOpen, TEST);
}

TEST(ImageDataLayer, NamesTheImageThatIsBroken) {
  const std::string layer = TwoLabels("top: 'd' top: 'l'");
  WriteFile(ScratchPath("a.png"), "no image");
  EXPECT_THAT(
      LayerMistake(layer),
      HasSubstr("layer 'input': image '" + ScratchPath("a.png") + "' (" + ScratchPath("list.txt") +
                ":1): it is not a JPEG, PNG, WebP, TIFF, GIF, BMP or PNM image"));
}

}  // namespace
}  // namespace doppio
