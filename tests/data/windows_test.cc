// Tests layer WindowData: its window file, the geometry of its crops, and its samples.
#include "data/pipeline/pipeline.h"
#include "data/source/open_source.h"
#include "data/source/window_crop.h"
#include "data/source/window_file.h"
#include "tests/data/tiny_data.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Describe(const std::vector<Window>& windows) {
  std::string text;
  for (const Window& w : windows) {
    for (int value : {w.image, w.label, w.x1, w.y1, w.x2, w.y2})
      text += std::to_string(value) + " ";
    text += "; ";
  }
  return text;
}

WindowFile ReadText(const std::string& text, float foreground = 0.5f, float background = 0.3f) {
  WriteFile(ScratchPath("windows.txt"), text);
  return ReadWindowFile(ScratchPath("windows.txt"), foreground, background);
}

std::string WindowMistake(const std::string& text) {
  const std::string message = MessageOf([&] { ReadText(text); });
  return message.substr(message.find("windows.txt") + 11);
}

TEST(WindowFile, DistinguishesObjectsFromBackground) {
  const WindowFile file = ReadText(
      "# 0\na.jpg\n3\n20 30\n4\n2 0.5 0 1 2 3\n1 0.49 0 0 1 1\n1 0.3 0 0 1 1\n4 0.29 4 5 6 7\n"
      "# 1\r\nb.jpg\r\n3\r\n9\r\n8\r\n1\r\n0 0.0 1 1 1 1\r\n");
  EXPECT_EQ(file.channels, 3);
  EXPECT_THAT(file.paths, ElementsAre("a.jpg", "b.jpg"));
  EXPECT_EQ(Describe(file.objects), "0 2 0 1 2 3 ; ");
  EXPECT_EQ(Describe(file.backgrounds), "0 0 4 5 6 7 ; 1 0 1 1 1 1 ; ");
}

TEST(WindowFile, SaysWhereItIsWrong) {
  EXPECT_EQ(WindowMistake("# 0\na.jpg\n3\n20\n30\n1\n2 much 0 1 2 3\n"),
            ":7: 'much' is where the overlap of a window should be");
  EXPECT_EQ(WindowMistake("# 0\na.jpg\n3\n20\n30\n2\n2 1 0 1 2 3\n"),
            ":8: the file ends where the class of a window should be");
  EXPECT_EQ(WindowMistake("# 0\na.jpg\n3\n20\n30\n0\n2 1 0 1 2 3\n"),
            ":7: '2' is where '#', the start of an image, should be");
  EXPECT_EQ(WindowMistake("# 0 a.jpg 4 20 30 0"),
            ":1: '4' is where 1 or 3, the channels of an image, should be");
  EXPECT_EQ(WindowMistake("# 0 a.jpg 3 20 30 0\n# 1 b.jpg 1 20 30 0"),
            ":2: an image of 1 channels, but the first one has 3");
  EXPECT_EQ(WindowMistake("# 0 a.jpg 3 20 30 1 1 1 3 0 2 0"),
            ":1: the window's corners are x1 y1 x2 y2, with x2 and y2 not less than x1 and y1");
  EXPECT_EQ(WindowMistake("# 0 a.jpg 3 20 30 1 0 0.5 1 0 2 0"),
            ":1: a window of class 0 overlaps an object by 0.500000; class 0 is background, "
            "objects have classes from 1");
  EXPECT_EQ(WindowMistake("\n"), "' is empty");
}

std::vector<int> Numbers(const WindowCrop& c) {
  return {c.left, c.top, c.width, c.height, c.to_left, c.to_top, c.to_width, c.to_height};
}

TEST(WindowCrop, TakesTheWindowAloneWithoutContext) {
  EXPECT_THAT(Numbers(CropOf({0, 1, 2, 3, 5, 9}, 20, 30, {8, 0, false}, true)),
              ElementsAre(2, 3, 4, 7, 0, 0, 8, 8));
}

TEST(WindowCrop, WidensToASquareAndForContext) {
  // The middle of 2..5 is 4, and half of the height of 3..10 is 4: the square is 0 to 8, i.e. 9
  // pixels.
  EXPECT_THAT(Numbers(CropOf({0, 1, 2, 3, 5, 10}, 20, 30, {9, 0, true}, false)),
              ElementsAre(0, 3, 9, 9, 0, 0, 9, 9));
  // Half of 10..13 is 2; times the context's 8 / 4 it is 4. So the crop is from 12 - 4 to 12 + 4.
  EXPECT_THAT(Numbers(CropOf({0, 1, 10, 10, 13, 13}, 20, 30, {8, 2, false}, false)),
              ElementsAre(8, 8, 9, 9, 0, 0, 8, 8));
}

TEST(WindowCrop, StaysInsideAnImageHoweverMuchContextIsWanted) {
  constexpr int kWide = 1 << 28;
  const WindowCrop crop = CropOf({0, 1, 0, 0, kWide - 1, 0}, 1, kWide, {101, 50, false}, false);
  EXPECT_EQ(crop.left, 0);
  EXPECT_EQ(crop.width, kWide);
  EXPECT_GE(crop.to_left, 0);
  EXPECT_LE(crop.to_left + crop.to_width, 101);
}

TEST(WindowCrop, LeavesRoomForWhatIsBeyondTheImage) {
  // Along x, 0..3 becomes -2..6. Two pixels are outside the image: 7 of 9 remain, which is 6 of 8.
  // Along y, none is outside.
  EXPECT_THAT(Numbers(CropOf({0, 1, 0, 10, 3, 13}, 20, 30, {8, 2, false}, false)),
              ElementsAre(0, 8, 7, 9, 2, 0, 6, 8));
  EXPECT_THAT(Numbers(CropOf({0, 1, 0, 10, 3, 13}, 20, 30, {8, 2, false}, true)),
              ElementsAre(0, 8, 7, 9, 0, 0, 6, 8));
  // On the right and below: 26..29 of 30 becomes 24..32. Three pixels are outside: 3 of 9, or
  // round(2.67) of 8; round(5.33) remain.
  EXPECT_THAT(Numbers(CropOf({0, 1, 26, 16, 29, 19}, 20, 30, {8, 2, false}, false)),
              ElementsAre(24, 14, 6, 6, 0, 0, 5, 5));
  EXPECT_THAT(Numbers(CropOf({0, 1, 26, 16, 29, 19}, 20, 30, {8, 2, false}, true)),
              ElementsAre(24, 14, 6, 6, 3, 0, 5, 5));
}

class WindowsTest : public testing::Test {
 protected:
  // Writes one 4 x 4 image whose pixels are blue, green, red = n, n + 100, n + 200 for n from 0 to
  // 15.
  void SetUp() override {
    std::vector<int> pixels;
    for (int n = 0; n < 16; ++n) pixels.insert(pixels.end(), {n + 200, n + 100, n});
    WriteFile(ScratchPath("a.png"), Png(4, 4, 3, pixels));
    WriteFile(ScratchPath("windows.txt"),
              "# 0 a.png 3 4 4 3\n7 1 0 0 1 1\n8 0.6 2 0 3 1\n9 0.1 2 2 3 3\n");
  }
  std::unique_ptr<Source> Open(const std::string& param, const std::string& transform,
                               uint64_t seed = 1) {
    const std::string file =
        "source: '" + ScratchPath("windows.txt") + "' root_folder: '" + ScratchPath("") + "' ";
    return OpenWindows(Parse<WindowDataParameter>(file + param),
                       Parse<TransformationParameter>(transform), Random(seed, 2));
  }
  // Returns the sample with the label `label`.
  std::vector<float> SampleOf(const Source& source, float label) {
    Record record;
    for (int64_t sample = 0; sample < 100; ++sample) {
      source.Read(sample, &record);
      if (record.labels[0] == label) return record.float_storage;
    }
    return {};
  }
};

TEST_F(WindowsTest, CutsOutAWindow) {
  for (const char* cache : {"", "cache_images: true"}) {
    const auto source = Open(cache, "crop_size: 2");
    EXPECT_THAT(SampleOf(*source, 8),
                ElementsAre(2, 3, 6, 7, 102, 103, 106, 107, 202, 203, 206, 207));
    EXPECT_THAT(SampleOf(*source, 0),
                ElementsAre(10, 11, 14, 15, 110, 111, 114, 115, 210, 211, 214, 215));
  }
}

TEST_F(WindowsTest, SubtractsMeansAndScales) {
  EXPECT_THAT(SampleOf(*Open("scale: 0.5", "crop_size: 2 mean_value: [1, 100, 200]"), 7),
              ElementsAre(-0.5, 0, 1.5, 2, 0, 0.5, 2, 2.5, 0, 0.5, 2, 2.5));
  EXPECT_THAT(SampleOf(*Open("scale: 0.5", "crop_size: 2 scale: 2 mean_value: 1"), 7),
              ElementsAre(-2, 0, 6, 8, 198, 200, 206, 208, 398, 400, 406, 408));
  EXPECT_THAT(
      SampleOf(*Open("scale: 0.5", "crop_size: 2 mean_value: [1, 100, 200] std_value: [1, 2, 0.5]"),
               7),
      ElementsAre(-0.5, 0, 1.5, 2, 0, 0.25, 1, 1.25, 0, 1, 4, 5));
}

// The middle of a 4 x 4 mean with the values 0 to 15 is 5, 6, 9, 10.
TEST_F(WindowsTest, SubtractsTheMiddleOfAMeanImage) {
  std::string blob = "num: 1 channels: 3 height: 4 width: 4";
  for (int p = 0; p < 48; ++p) blob += " data: " + std::to_string(p % 16);
  WriteFile(ScratchPath("mean"), Parse<BlobProto>(blob).SerializeAsString());
  const std::string mean = " mean_file: '" + ScratchPath("mean") + "'";
  const std::vector<float> sample = SampleOf(*Open("", "crop_size: 2" + mean), 7);
  EXPECT_EQ(std::vector<float>(sample.begin(), sample.begin() + 4),
            (std::vector<float>{0 - 5, 1 - 6, 4 - 9, 5 - 10}));
  EXPECT_THAT(
      MessageOf([&] { Open("", "crop_size: 5" + mean); }),
      HasSubstr("is 3x4x4; it must have 3 channels and not be smaller than the crop_size 5"));
}

// Window 0..1 with its context is -1..3: one row and one column of five are outside the image,
// which is 0.8 of the square's four pixels.
TEST_F(WindowsTest, FillsWhatIsBeyondTheImageWithZeros) {
  const std::vector<float> sample =
      SampleOf(*Open("context_pad: 1", "crop_size: 4 mean_value: 250"), 7);
  ASSERT_EQ(sample.size(), 48u);
  for (size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(sample[i] == 0, i < 4 || i % 4 == 0) << i;
  }
}

TEST_F(WindowsTest, MirrorsHalfOfTheWindows) {
  const auto source = Open("fg_fraction: 0", "crop_size: 2 mirror: true");
  Record record;
  int mirrored = 0;
  for (int64_t sample = 0; sample < 1000; ++sample) {
    source->Read(sample, &record);
    const std::vector<float> blue(record.float_storage.begin(), record.float_storage.begin() + 4);
    const bool is_mirrored = blue == std::vector<float>{11, 10, 15, 14};
    EXPECT_TRUE(is_mirrored || (blue == std::vector<float>{10, 11, 14, 15}));
    mirrored += is_mirrored;
  }
  EXPECT_NEAR(mirrored, 500, 80);  // five standard deviations
}

TEST_F(WindowsTest, ShowsObjectsInTheirFractionOfEachBatch) {
  const auto source = Open("fg_fraction: 0.7", "crop_size: 1");
  Record record;
  int sevens = 0, eights = 0;
  for (int batch = 0; batch < 100; ++batch) {
    int objects = 0;
    for (int row = 0; row < 10; ++row) {
      source->Read(batch * 10 + row, &record);
      objects += record.labels[0] != 0;
      sevens += record.labels[0] == 7;
      eights += record.labels[0] == 8;
    }
    EXPECT_EQ(objects, 7);
  }
  EXPECT_NEAR(sevens, 350, 66);
  EXPECT_EQ(sevens + eights, 700);
}

TEST_F(WindowsTest, GivesRanksWhatOneWouldDrawAndGoesOnAnywhere) {
  const auto labels = [&](int batch, int rank, int world, int64_t from, int batches) {
    PipelineOptions options;
    options.batch = batch;
    Pipeline pipeline(Open("fg_fraction: 0.4", "crop_size: 2"), TransformationParameter(), TRAIN,
                      options);
    EXPECT_EQ(pipeline.samples().count, 0);
    pipeline.Seek(from);
    pipeline.Shard(rank, world);
    std::vector<float> all;
    for (int i = 0; i < batches; ++i) {
      const Batch& made = pipeline.Next();
      all.insert(all.end(), made.labels.begin(), made.labels.end());
    }
    return all;
  };
  const std::vector<float> whole = labels(6, 0, 1, 0, 1);
  std::vector<float> parts = labels(3, 0, 2, 0, 1);
  const std::vector<float> second = labels(3, 1, 2, 0, 1);
  parts.insert(parts.end(), second.begin(), second.end());
  EXPECT_EQ(parts, whole);
  EXPECT_EQ(labels(3, 0, 1, 3, 1), second);
}

TEST_F(WindowsTest, SaysWhatIsWrong) {
  const auto mistake = [&](const std::string& param, const std::string& transform) {
    return MessageOf([&] { Open(param, transform); });
  };
  EXPECT_EQ(mistake("", ""), "3: transform_param needs a crop_size, to which windows are resized");
  EXPECT_EQ(mistake("context_pad: 2", "crop_size: 4"),
            "3: context_pad 2 on each side leaves nothing of crop_size 4");
  EXPECT_EQ(mistake("crop_mode: 'round'", "crop_size: 4"),
            "3: crop_mode is 'round'; it must be 'warp' or 'square'");
  EXPECT_THAT(mistake("fg_fraction: 1.5", "crop_size: 4"), HasSubstr("fg_fraction is 1.5"));
  EXPECT_THAT(mistake("", "crop_size: 4 crop_h: 3"), HasSubstr("set crop_size instead of crop_h"));
  EXPECT_THAT(mistake("", "crop_size: 4 force_gray: true"), HasSubstr("remove force_color"));
  EXPECT_THAT(mistake("", "crop_size: 4 mirror: true flow: true"),
              HasSubstr("flow is not implemented"));
  EXPECT_THAT(mistake("", "crop_size: 4 mean_value: [1, 2]"), HasSubstr("has 2 mean_value, but"));
  EXPECT_THAT(mistake("", "crop_size: 4 std_value: [1, 2]"), HasSubstr("has 2 std_value, but"));
  EXPECT_THAT(mistake("", "crop_size: 4 std_value: 0"),
              HasSubstr("it must be a finite number above 0"));
  EXPECT_THAT(mistake("", "crop_size: 4 mean_value: 1 mean_file: 'm'"),
              HasSubstr("set only one of"));
  EXPECT_THAT(mistake("fg_threshold: 2", "crop_size: 4"),
              HasSubstr("4: no window overlaps an object by fg_threshold 2.000000 or more in"));
  EXPECT_THAT(mistake("bg_threshold: 0.1", "crop_size: 4"),
              HasSubstr("4: no window is background"));
  EXPECT_EQ(MessageOf([] { OpenWindows({}, {}, Random(1, 2)); }),
            "3: window_data_param needs a source, a window file");
}

TEST_F(WindowsTest, NamesTheWindowThatIsBad) {
  WriteFile(ScratchPath("windows.txt"), "# 0 a.png 3 4 4 1\n1 1 0 0 4 2\n");
  const auto source = Open("fg_fraction: 1", "crop_size: 2");
  Record record;
  EXPECT_EQ(MessageOf([&] { source->Read(0, &record); }),
            "4: it reaches beyond the image, which is 4 wide and 4 high");
  EXPECT_EQ(source->Name(0), "window 0 0 4 2 of '" + ScratchPath("a.png") + "'");
}

}  // namespace
}  // namespace doppio
