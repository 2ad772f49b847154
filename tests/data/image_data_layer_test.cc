// Tests the layer ImageData in a net.
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

TEST(ImageDataLayer, NamesTheImageThatIsBroken) {
  const std::string layer = TwoLabels("top: 'd' top: 'l'");
  WriteFile(ScratchPath("a.png"), "no image");
  EXPECT_THAT(Mistake(layer),
              HasSubstr("layer 'input': image '" + ScratchPath("a.png") + "' (" +
                        ScratchPath("list.txt") + ":1): it is not a JPEG, PNG, BMP or PNM image"));
}

}  // namespace
}  // namespace doppio
