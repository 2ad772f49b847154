// Tests what commands that read images have in common.
#include "tools/data/image_input.h"

#include <limits>

#include "data/augment/mean_file.h"
#include "data/source/class_names.h"
#include "tests/data/tiny_data.h"

namespace doppio {
namespace {

TEST(MeansOf, TakesValuesOrTheChannelsOfAFile) {
  EXPECT_EQ(MeansOf("104,117,122.5", 3), (std::vector<float>{104, 117, 122.5f}));
  EXPECT_TRUE(MeansOf("", 3).empty());
  const std::string path = ScratchPath("mean.binaryproto");
  WriteMeanFile({{2, 1, 2}, {1, 2, 3, 5}}, path);
  EXPECT_EQ(MeansOf(path, 2), (std::vector<float>{1.5f, 4}));
  EXPECT_EQ(MessageOf([&] { MeansOf(path, 3); }),
            "4: the mean '" + path + "' has 2 channels, but the net's input has 3");
}

TEST(ParseSize, TakesOneNumberOrTwo) {
  int height = 0, width = 0;
  ParseSize("resize", "256", &height, &width);
  EXPECT_EQ(height, 256);
  EXPECT_EQ(width, 256);
  ParseSize("resize", "240x320", &height, &width);
  EXPECT_EQ(height, 240);
  EXPECT_EQ(width, 320);
  for (const char* bad : {"", "x", "3x", "0", "-4", "1x2x3", "1e3"}) {
    EXPECT_EQ(MessageOf([&] { ParseSize("resize", bad, &height, &width); }),
              std::string("2: --resize needs SIZE or HEIGHTxWIDTH; got '") + bad + "'");
  }
}

TEST(ReadLabels, IgnoresBlankLinesAtTheEnd) {
  const std::string path = ScratchPath("batches.meta.txt");
  WriteFile(path, "airplane\n\ntruck\n\n \r\n");
  EXPECT_EQ(ReadLabels(path), (std::vector<std::string>{"airplane", "", "truck"}));
}

TEST(ReadLabels, SaysThatAFileIsNoText) {
  const std::string path = ScratchPath("no_labels");
  WriteFile(path, std::string("\x80\x02}q", 4));
  EXPECT_THAT(MessageOf([&] { ReadLabels(path); }),
              testing::HasSubstr("no_labels' is a Python pickle, but a text file of class names"));
}

TEST(ReadLabels, IsALabelALine) {
  const std::string path = ScratchPath("labels.txt");
  WriteFile(path, "n01 tench, Tinca\r\n\nn03");
  EXPECT_EQ(ReadLabels(path), (std::vector<std::string>{"n01 tench, Tinca", "", "n03"}));
}

TEST(TopClasses, AreTheLargestValuesWithNanLast) {
  const float kNan = std::numeric_limits<float>::quiet_NaN();
  const float values[] = {0.1f, kNan, 0.6f, 0.1f, 0.2f};
  EXPECT_EQ(TopClasses(values, 5, 3), (std::vector<int>{2, 4, 0}));
  EXPECT_EQ(TopClasses(values, 5, 9), (std::vector<int>{2, 4, 0, 3, 1}));
}

}  // namespace
}  // namespace doppio
