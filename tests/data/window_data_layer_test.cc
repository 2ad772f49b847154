// Tests the layer WindowData in a net.
#include "tests/data/data_net.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Returns a layer with one 2 x 2 image and two windows: an object and background.
std::string TwoWindows(const std::string& more = "") {
  WriteFile(ScratchPath("a.png"), Png(2, 2, 3, {3, 2, 1, 6, 5, 4, 9, 8, 7, 12, 11, 10}));
  WriteFile(ScratchPath("windows.txt"),
            "# 0 " + ScratchPath("a.png") + " 3 2 2 2\n5 0.9 0 0 0 0\n5 0.1 1 1 1 1\n");
  return "type: 'WindowData' top: 'x' top: 'y' window_data_param { source: '" +
         ScratchPath("windows.txt") + "' batch_size: 4 " + more +
         " } transform_param { crop_size: 1 mirror: true mean_value: 1 } ";
}

TEST_ON_DEVICES(WindowDataLayer, DeliversWindowsAndTheirClasses) {
  DataNet net(TwoWindows(), DataMode::kOpen, TRAIN, DType::kFloat32, TestDevice());
  EXPECT_EQ(net.ShapeOf("x"), (Shape{4, 3, 1, 1}));
  EXPECT_EQ(net.ShapeOf("y"), Shape{4});
  EXPECT_EQ(net.source()->source_size(), 0);
  net->Forward();
  EXPECT_THAT(net.Values("x"), ElementsAre(9, 10, 11, 9, 10, 11, 9, 10, 11, 0, 1, 2));
  EXPECT_THAT(net.Values("y"), ElementsAre(0, 0, 0, 5));
  EXPECT_EQ(net.source()->position(), 4);
}

TEST(WindowDataLayer, DeliversTheSameWithAnyNumberOfThreads) {
  ExpectSameWithAnyThreads(TwoWindows());
}

TEST(WindowDataLayer, SaysWhatIsWrong) {
  EXPECT_THAT(LayerMistake(TwoWindows("crop_mode: 'none'")),
              HasSubstr("layer 'input': crop_mode is"));
  EXPECT_THAT(LayerMistake("type: 'WindowData' top: 'x' transform_param { crop_size: 3 }"),
              HasSubstr("batch_size must be at least 1"));
  EXPECT_THAT(LayerMistake("type: 'WindowData' top: 'x' window_data_param { batch_size: 1 }"),
              HasSubstr("window_data_param needs a source"));
}

}  // namespace
}  // namespace doppio
