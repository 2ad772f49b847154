#include <cmath>
#include <map>

#include "data/source/open_source.h"
#include "tests/data/tiny_data.h"

namespace doppio {
namespace {

std::unique_ptr<Source> Open(const std::string& text, Phase phase = TRAIN) {
  return OpenSource(Parse<DataParameter>("backend: DIGITS " + text), phase);
}

std::vector<uint8_t> ImageAt(const Source& source, int64_t index, int* label = nullptr) {
  Record record;
  source.Read(index, &record);
  EXPECT_EQ(record.pixels.shape, (ImageShape{1, 28, 28}));
  if (label != nullptr) *label = static_cast<int>(record.labels.at(0));
  return std::vector<uint8_t>(record.pixels.bytes, record.pixels.bytes + 784);
}

TEST(Digits, ComeInTheSizesOfMnistUnlessAskedOtherwise) {
  EXPECT_EQ(Open("")->size(), 60000);
  EXPECT_EQ(Open("", TEST)->size(), 10000);
  EXPECT_EQ(Open("part: TEST")->size(), 10000);
  EXPECT_EQ(Open("size: 77")->size(), 77);
}

TEST(Digits, DependOnSeedPartAndIndexOnly) {
  const auto source = Open("size: 100"), larger = Open("size: 200");
  EXPECT_EQ(ImageAt(*source, 42), ImageAt(*larger, 42));
  EXPECT_NE(ImageAt(*source, 42), ImageAt(*source, 43));
  EXPECT_NE(ImageAt(*source, 42), ImageAt(*Open("seed: 1"), 42));
  EXPECT_NE(ImageAt(*source, 42), ImageAt(*Open("part: TEST"), 42));
}

TEST(Digits, HaveAllLabelsEquallyOften) {
  const auto source = Open("");
  std::map<int, int> counts;
  int label;
  for (int64_t i = 0; i < 5000; ++i) {
    ImageAt(*source, i, &label);
    ++counts[label];
  }
  ASSERT_EQ(counts.size(), 10u);
  for (const auto& entry : counts) EXPECT_NEAR(entry.second, 500, 110);  // five standard deviations
}

TEST(Digits, HaveInkInTheMiddleAndPaperAtTheBorder) {
  const auto source = Open("");
  double middle = 0, border = 0;
  for (int64_t i = 0; i < 500; ++i) {
    const std::vector<uint8_t> image = ImageAt(*source, i);
    for (size_t y = 0; y < 28; ++y) {
      for (size_t x = 0; x < 28; ++x) {
        const bool inside = y >= 8 && y < 20 && x >= 8 && x < 20;
        if (inside) middle += image[y * 28 + x] / 144.0 / 500;
        if (y == 0 || y == 27) border += image[y * 28 + x] / 56.0 / 500;
      }
    }
  }
  EXPECT_GT(middle, 60);
  EXPECT_LT(border, 15);
}

// The mean image of each digit in the training part classifies the test part far better than
// chance, but far from perfectly.
TEST(Digits, CanBeToldApartButNotTrivially) {
  const auto train = Open(""), test = Open("part: TEST");
  std::vector<std::vector<double>> mean(10, std::vector<double>(784));
  std::vector<int> count(10);
  int label;
  for (int64_t i = 0; i < 3000; ++i) {
    const std::vector<uint8_t> image = ImageAt(*train, i, &label);
    ++count[static_cast<size_t>(label)];
    for (size_t k = 0; k < 784; ++k) mean[static_cast<size_t>(label)][k] += image[k];
  }
  int right = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    const std::vector<uint8_t> image = ImageAt(*test, i, &label);
    int best = -1;
    double least = INFINITY;
    for (int d = 0; d < 10; ++d) {
      double distance = 0;
      for (size_t k = 0; k < 784; ++k) {
        const double m = mean[static_cast<size_t>(d)][k] / count[static_cast<size_t>(d)];
        distance += (image[k] - m) * (image[k] - m);
      }
      if (distance < least) {
        least = distance;
        best = d;
      }
    }
    right += best == label;
  }
  EXPECT_GT(right, 500);
  EXPECT_LT(right, 900);
}

}  // namespace
}  // namespace doppio
