// Compares the short way from a JPEG to a sample with the long way: decode the whole image,
// cv::resize, crop.
#include "data/pipeline/jpeg_cut.h"

#include <algorithm>

#include "data/decode/decode.h"
#include "tests/data/tiny_data.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

using testing::Each;
using testing::HasSubstr;

const Random kRandom(3, 4);

// Makes an image that is smooth enough for its colours to survive compression, but in which no two
// pixels are equal.
std::string MakeJpeg(JpegKind kind) {
  std::vector<int> pixels;
  for (int y = 0; y < kind.height; ++y) {
    for (int x = 0; x < kind.width; ++x) {
      for (int c = 0; c < kind.channels; ++c) {
        const int slope = (x * (3 + c) + y * (5 - 2 * c)) % 160;
        const auto place = static_cast<uint64_t>(x * kind.channels + c);
        pixels.push_back(slope +
                         static_cast<int>(kRandom.Below(90, static_cast<uint64_t>(y), place)));
      }
    }
  }
  kind.quality = 90;
  return Jpeg(kind, pixels);
}

const uint8_t* BytesOf(const std::string& file) {
  return reinterpret_cast<const uint8_t*>(file.data());
}

std::vector<float> Finished(const Augment& augment, const CutPixels& pixels,
                            const ImageShape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.count()));
  augment.Finish(pixels, shape, values.data());
  return values;
}

std::vector<float> LongWay(const std::string& file, const DecodeOptions& options,
                           const Augment& augment, uint64_t sample) {
  Image image;
  Decode(BytesOf(file), file.size(), options, &image);
  CutPixels cut;
  augment.Apply(image.pixels(), sample, &cut);
  return Finished(augment, cut, augment.OutputShape(image.shape));
}

std::vector<float> ShortWay(const std::string& file, const DecodeOptions& options,
                            const Augment& augment, uint64_t sample) {
  static JpegCutScratch scratch;  // reused for every image, as the worker threads do
  JpegReader reader(BytesOf(file), file.size());
  if (options.scaled) reader.ScaleTo(options.height, options.width);
  ImageShape image = {reader.ChannelsFor(options.color), reader.height(), reader.width()};
  if (options.height > 0) image = {image.channels, options.height, options.width};
  const Cut place = augment.CutOf(image, sample);
  CutPixels cut;
  WriteJpegCut(&reader, image, place, augment, &scratch, &cut);
  return Finished(augment, cut, place.shape);
}

class JpegCut : public testing::Test {
 protected:
  int Below(int n) {
    return static_cast<int>(kRandom.Below(static_cast<uint32_t>(n), drawn_++, 7));
  }
  // Returns a transformation with a random crop that fits.
  Augment AnyCrop(int height, int width) {
    const std::string crop = "crop_h: " + std::to_string(1 + Below(height)) +
                             " crop_w: " + std::to_string(1 + Below(width));
    return Augment(Parse<TransformationParameter>(crop + " mirror: true scale: 0.5 mean_value: 9"),
                   TRAIN, kRandom);
  }
  uint64_t drawn_ = 0;
};

TEST_F(JpegCut, GivesTheSameForAnyKindOfFileAndAnyCrop) {
  const int ratios[][2] = {{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}, {4, 2}, {2, 4}};
  const DecodeOptions::Color colors[] = {DecodeOptions::Color::kAsStored,
                                         DecodeOptions::Color::kColor, DecodeOptions::Color::kGray};
  for (int i = 0; i < 400; ++i) {
    const int* ratio = ratios[Below(7)];
    JpegKind kind{1 + Below(140), 1 + Below(140), Below(5) == 0 ? 1 : 3, ratio[0], ratio[1]};
    kind.progressive = Below(6) == 0;
    kind.restart = Below(3) == 0 ? 3 : 0;
    const std::string file = MakeJpeg(kind);
    DecodeOptions options;
    options.color = colors[Below(3)];
    if (Below(3) > 0) {
      options.height = 1 + Below(150);
      options.width = 1 + Below(150);
      options.scaled = Below(3) == 0;
    }
    const bool resized = options.height > 0;
    for (uint64_t sample = 0; sample < 3; ++sample) {
      const Augment augment =
          AnyCrop(resized ? options.height : kind.height, resized ? options.width : kind.width);
      ASSERT_EQ(ShortWay(file, options, augment, sample), LongWay(file, options, augment, sample))
          << kind.height << "x" << kind.width << " colour " << kind.across << "x" << kind.down
          << " to " << options.height << "x" << options.width;
    }
  }
}

TEST_F(JpegCut, ResizesAsOpenCvDoesForAnySize) {
  const std::string file = MakeJpeg({96, 120, 3, 1, 1});
  const Augment whole(TransformationParameter(), TEST, kRandom);
  for (int i = 0; i < 600; ++i) {
    DecodeOptions options{DecodeOptions::Color::kColor, 1 + Below(250), 1 + Below(250)};
    if (i == 0)
      options = {DecodeOptions::Color::kColor, 48,
                 60};  // OpenCV uses different code to halve an image
    ASSERT_EQ(ShortWay(file, options, whole, 0), LongWay(file, options, whole, 0))
        << options.height << "x" << options.width;
  }
}

TEST_F(JpegCut, CutsTheMeanImageAsWell) {
  std::string text = "num: 1 channels: 3 height: 30 width: 40";
  for (int i = 0; i < 3600; ++i) text += " data: " + std::to_string(i % 97);
  const std::string path = ScratchPath("mean.binaryproto");
  WriteFile(path, Parse<BlobProto>(text).SerializeAsString());
  const Augment augment(
      Parse<TransformationParameter>("mirror: true crop_size: 21 mean_file: '" + path + "'"), TRAIN,
      kRandom);
  const std::string file = MakeJpeg({50, 70, 3});
  for (uint64_t sample = 0; sample < 20; ++sample) {
    const DecodeOptions options{DecodeOptions::Color::kColor, 30, 40};
    EXPECT_EQ(ShortWay(file, options, augment, sample), LongWay(file, options, augment, sample));
  }
}

// Covers files that end anywhere and any damage, also below the crop.
TEST_F(JpegCut, FailsWithTheSameWordsOnDamagedFiles) {
  const Augment top(Parse<TransformationParameter>("crop_h: 8 crop_w: 30"), TEST, kRandom);
  const DecodeOptions options{DecodeOptions::Color::kColor, 40, 40};
  int failures = 0;
  for (const unsigned restart : {0u, 2u}) {
    JpegKind kind{64, 64, 3};
    kind.restart = restart;
    const std::string whole = MakeJpeg(kind);
    const auto compare = [&](const std::string& file) {
      std::vector<float> short_values, long_values;
      const auto short_way = [&] { short_values = ShortWay(file, options, top, 0); };
      const auto long_way = [&] { long_values = LongWay(file, options, top, 0); };
      const std::string message = MistakeIfAny(short_way);
      EXPECT_EQ(message, MistakeIfAny(long_way));
      EXPECT_EQ(short_values, long_values);
      failures += message.empty() ? 0 : 1;
    };
    for (size_t bytes = 4; bytes < whole.size(); bytes += 5) compare(whole.substr(0, bytes));
    for (int i = 0; i < 600; ++i) {
      std::string file = whole;
      for (int n = 1 + Below(3); n > 0; --n) {
        file[static_cast<size_t>(20 + Below(static_cast<int>(file.size()) - 20))] =
            Below(3) == 0 ? '\xff' : static_cast<char>(Below(256));
      }
      compare(file);
    }
    compare(whole + "and more");
  }
  EXPECT_GT(failures, 500);
}

TEST_F(JpegCut, SaysThatTheFileEndsTooEarlyBelowTheCrop) {
  const Augment top(Parse<TransformationParameter>("crop_h: 1 crop_w: 1"), TEST, kRandom);
  const std::string file = MakeJpeg({64, 64, 3});
  EXPECT_EQ(MessageOf([&] { ShortWay(file.substr(0, file.size() - 4), {}, top, 0); }),
            "4: corrupt JPEG image: it ends too early");
  // If only the last marker is missing, all pixels can be read.
  EXPECT_NO_THROW(ShortWay(file.substr(0, file.size() - 2), {}, top, 0));
}

TEST_F(JpegCut, ScalesToTheSmallestThatIsLargeEnough) {
  const auto scaled = [](int height, int width) {
    const std::string file = Jpeg({64, 96, 1}, std::vector<int>(64 * 96, 90));
    JpegReader reader(BytesOf(file), file.size());
    reader.ScaleTo(height, width);
    return std::make_pair(reader.height(), reader.width());
  };
  EXPECT_EQ(scaled(8, 12), std::make_pair(8, 12));
  EXPECT_EQ(scaled(9, 12), std::make_pair(16, 24));
  EXPECT_EQ(scaled(16, 25), std::make_pair(32, 48));
  EXPECT_EQ(scaled(33, 1), std::make_pair(64, 96));
  EXPECT_EQ(scaled(200, 200), std::make_pair(64, 96));
}

TEST_F(JpegCut, KeepsFlatColoursWhenItScales) {
  const std::string file = Jpeg({64, 64, 1}, std::vector<int>(64 * 64, 90));
  const Augment whole(TransformationParameter(), TEST, kRandom);
  const DecodeOptions options{DecodeOptions::Color::kGray, 10, 10, true};
  EXPECT_THAT(ShortWay(file, options, whole, 0), Each(90));
  EXPECT_THAT(LongWay(file, options, whole, 0), Each(90));
}

}  // namespace
}  // namespace doppio
