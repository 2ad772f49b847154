// Tests the progress line at the bottom of the terminal.
#include "tools/train/progress.h"

#include <gtest/gtest.h>

#include "tools/cli/text_table.h"

namespace doppio {
namespace {

Progress Half() {
  Progress progress;
  progress.iteration = 500;
  progress.max_iter = 1000;
  progress.smoothed_loss = 0.12345;
  progress.rate = 0.01;
  return progress;
}

TEST(ProgressText, SaysHowFarHowFastAndHowLong) {
  EXPECT_EQ(
      ProgressText(Half(), 2410.4, 0.25, 0.02, {120, false}),
      "[###############               ] 500/1000  loss 0.1235  2 410 img/s  ETA 2 m 05 s  lr 0.01  "
      "data wait 2 %");
}

TEST(ProgressText, ShowsTheGpuWhereThereIsRoom) {
  GpuReading gpu;
  gpu.utilization_percent = 97;
  gpu.temperature_celsius = 61;
  gpu.power_watts = 540;
  const std::string bare = ProgressText(Half(), 2410, 0.25, 0.02, {140, true});
  EXPECT_EQ(ProgressText(Half(), 2410, 0.25, 0.02, {140, true}, gpu),
            bare + "  GPU 97 % 61 °C 540 W");
  // If the terminal is too narrow, the GPU's numbers are left out first, and all at once. The
  // widths:
  // "[", a bar of 30, "]", text of 73, 2 spaces, 19 for the GPU.
  const std::string wide = ProgressText(Half(), 2410, 0.25, 0.02, {127, false}, gpu);
  EXPECT_EQ(DisplayWidth(wide), 126u);
  EXPECT_NE(wide.find("data wait 2 %  GPU 97 % 61 C 540 W"), std::string::npos) << wide;
  const std::string narrower = ProgressText(Half(), 2410, 0.25, 0.02, {126, false}, gpu);
  EXPECT_EQ(narrower.find("GPU"), std::string::npos) << narrower;
  EXPECT_NE(narrower.find("data wait 2 %"), std::string::npos) << narrower;
}

TEST(ProgressText, ShowsTheEpochIfTheSolverCountsEpochs) {
  Progress progress = Half();
  progress.max_epoch = 15;
  progress.epoch = 7.52;
  const Terminal terminal = {120, false};
  EXPECT_NE(ProgressText(progress, 0, 0, 0, terminal).find("500/1000  epoch 7.5/15  loss"),
            std::string::npos);
  progress.epoch = 15.02;  // the last batch reads on
  EXPECT_NE(ProgressText(progress, 0, 0, 0, terminal).find("epoch 15.0/15  "), std::string::npos);
  EXPECT_EQ(ProgressText(Half(), 0, 0, 0, terminal).find("epoch"), std::string::npos);
}

TEST(ProgressText, LeavesOutWhatIsNotKnown) {
  const std::string text = ProgressText(Half(), 0, 0, 0, {120, false});
  EXPECT_EQ(text.find("img/s"), std::string::npos);
  EXPECT_EQ(text.find("ETA"), std::string::npos);
}

TEST(ProgressText, IsNeverWiderThanTheTerminal) {
  for (int columns : {20, 40, 61, 80, 200}) {
    EXPECT_LT(DisplayWidth(ProgressText(Half(), 2410, 0.25, 0.02, {columns, true})),
              static_cast<size_t>(std::max(columns, 21)));
  }
}

}  // namespace
}  // namespace doppio
