// Tests images as input of a deploy net.
#include "tools/data/image_input.h"

#include <sys/stat.h>

#include <limits>

#include "data/augment/mean_file.h"
#include "data/source/class_names.h"
#include "tests/data/tiny_data.h"

namespace doppio {
namespace {

ImageInputOptions Options(const ImageShape& input) {
  ImageInputOptions options;
  options.input = input;
  return options;
}

TEST(ImageInput, GivesPlanesLessTheMeanTimesTheScale) {
  ImageInputOptions options = Options({3, 1, 2});
  options.means = {1, 2, 3};
  options.scale = 0.5f;
  EXPECT_EQ(ImageInput(options).Read(Png(1, 2, 3, {10, 20, 30, 40, 50, 60})),
            (std::vector<float>{14.5f, 29.5f, 9, 24, 3.5f, 18.5f}));
}

TEST(ImageInput, PutsRedFirstWhereTheNetWantsIt) {
  ImageInputOptions options = Options({3, 1, 2});
  options.rgb = true;
  options.means = {1, 2, 3};
  EXPECT_EQ(ImageInput(options).Read(Png(1, 2, 3, {10, 20, 30, 40, 50, 60})),
            (std::vector<float>{9, 39, 18, 48, 27, 57}));
}

TEST(ImageInput, MakesGrayForOneChannel) {
  EXPECT_EQ(ImageInput(Options({1, 1, 1})).Read(Png(1, 1, 3, {7, 7, 7})), std::vector<float>{7});
}

TEST(ImageInput, CutsTheMiddleOutOfWhatItIsResizedTo) {
  ImageInputOptions options = Options({1, 1, 1});
  options.height = options.width = 3;
  EXPECT_EQ(ImageInput(options).Read(Png(3, 3, 1, {1, 2, 3, 4, 5, 6, 7, 8, 9})),
            std::vector<float>{5});
}

TEST(ImageInput, LeavesTheEdgesOutWithCenterCrop) {
  const std::string wide = Png(1, 3, 1, {9, 50, 200}), tall = Png(3, 1, 1, {9, 50, 200});
  ImageInputOptions options = Options({1, 1, 1});
  options.center_crop = true;
  EXPECT_EQ(ImageInput(options).Read(wide), std::vector<float>{50});
  EXPECT_EQ(ImageInput(options).Read(tall), std::vector<float>{50});
}

TEST(ImageInput, RefusesWhatContradicts) {
  ImageInputOptions options = Options({3, 4, 4});
  options.means = {1, 2};
  EXPECT_EQ(MessageOf([&] { ImageInput{options}; }),
            "2: 2 means for 3 channels of the net's input");
  options.means.clear();
  options.height = 4;
  options.width = 3;
  EXPECT_EQ(MessageOf([&] { ImageInput{options}; }),
            "2: images of 4x3 are smaller than the net's input, 4x4");
}

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
              std::string("2: --resize wants SIZE or HEIGHTxWIDTH, got '") + bad + "'");
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

TEST(FindImages, LooksIntoFolders) {
  const std::string folder = ScratchPath("photos");
  mkdir(folder.c_str(), 0755);
  EXPECT_EQ(MessageOf([&] { FindImages({folder}); }),
            "4: folder '" + folder + "' has no .jpg, .jpeg, .png, .bmp, .ppm, .pgm or .pbm file");
  for (const char* name : {"/b.JPG", "/a.png", "/c.jpeg", "/notes.txt"})
    WriteFile(folder + name, "");
  EXPECT_EQ(FindImages({"x.gif", folder}),
            (std::vector<std::string>{"x.gif", folder + "/a.png", folder + "/b.JPG",
                                      folder + "/c.jpeg"}));
}

TEST(TopClasses, AreTheLargestValuesWithNanLast) {
  const float kNan = std::numeric_limits<float>::quiet_NaN();
  const float values[] = {0.1f, kNan, 0.6f, 0.1f, 0.2f};
  EXPECT_EQ(TopClasses(values, 5, 3), (std::vector<int>{2, 4, 0}));
  EXPECT_EQ(TopClasses(values, 5, 9), (std::vector<int>{2, 4, 0, 3, 1}));
}

}  // namespace
}  // namespace doppio
