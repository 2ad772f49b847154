#include "core/net/graph/filler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/net/spec/prototxt.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

template <class T = float>
std::vector<T> Filled(const std::string& text, const Shape& shape, uint64_t stream = 7,
                      uint64_t first_row = 0, int parts = 1) {
  FillerParameter filler;
  ParseText(text, "filler", &filler);
  std::vector<T> values(static_cast<size_t>(std::max<int64_t>(1, shape.count())), T(-99));
  const DType type = sizeof(T) == 8 ? DType::kFloat64 : DType::kFloat32;
  Fill(filler, shape, 1, stream, Tensor({shape, type, Layout()}, values.data()), first_row, parts);
  return values;
}

std::string FillerMistake(const std::string& text, const Shape& shape) {
  FillerParameter filler;
  ParseText(text, "filler", &filler);
  const Error e = Thrown<UserError>([&] { CheckFiller(filler, shape); });
  EXPECT_FALSE(e.at().known());
  return e.what();
}

struct Moments {
  double mean, variance, min, max;
};

Moments MomentsOf(const std::vector<float>& values) {
  double sum = 0, squares = 0;
  for (float v : values) {
    sum += v;
    squares += static_cast<double>(v) * v;
  }
  const double n = static_cast<double>(values.size());
  return {sum / n, squares / n - sum * sum / n / n, *std::min_element(values.begin(), values.end()),
          *std::max_element(values.begin(), values.end())};
}

constexpr int64_t kMany = 200000;

TEST(Filler, ConstantIsZeroUnlessSaid) {
  EXPECT_EQ(Filled("", {3}), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(Filled("type: 'constant' value: -2.5", {1, 2}), (std::vector<float>{-2.5, -2.5}));
}

TEST(Filler, FillsRowsOfALargerBlobAsTheWhole) {
  // The rows have three elements, so that parts begin at each of the four numbers of a draw.
  for (const char* text : {"type: 'uniform'", "type: 'gaussian'", "type: 'positive_unitball'",
                           "type: 'xavier'", "type: 'msra'", "type: 'truncated_normal'"}) {
    const std::vector<float> whole = Filled(text, {7, 3});
    for (const int64_t first : {1, 2, 3, 5}) {
      const std::vector<float> part = Filled(text, {2, 3}, 7, static_cast<uint64_t>(first));
      EXPECT_EQ(part, std::vector<float>(whole.begin() + 3 * first, whole.begin() + 3 * first + 6))
          << text << " from row " << first;
    }
  }
}

TEST(Filler, FillsPartsByTheRowsOfTheWhole) {
  for (const char* text : {"type: 'xavier' variance_norm: FAN_OUT",
                           "type: 'msra' variance_norm: AVERAGE", "type: 'gaussian' sparse: 5"}) {
    std::vector<float> parts;
    for (const uint64_t first : {0, 2, 4}) {
      const std::vector<float> part = Filled(text, {2, 3}, 7, first, 3);
      parts.insert(parts.end(), part.begin(), part.end());
    }
    EXPECT_EQ(parts, Filled(text, {6, 3})) << text;
  }
  const std::vector<float> whole = Filled("type: 'dirac' groups: 2", {6, 3, 3});
  const std::vector<float> part = Filled("type: 'dirac' groups: 2", {2, 3, 3}, 7, 2, 3);
  EXPECT_EQ(part, std::vector<float>(whole.begin() + 18, whole.begin() + 36));
}

TEST(Filler, UniformHasTheMomentsOfItsInterval) {
  const Moments m = MomentsOf(Filled("type: 'uniform' min: -1 max: 3", {kMany}));
  EXPECT_GE(m.min, -1);
  EXPECT_LT(m.max, 3);
  EXPECT_NEAR(m.mean, 1, 0.02);
  EXPECT_NEAR(m.variance, 16.0 / 12, 0.02);
}

TEST(Filler, GaussianHasMeanAndDeviation) {
  const Moments m = MomentsOf(Filled("type: 'gaussian' mean: 2 std: 0.5", {kMany}));
  EXPECT_NEAR(m.mean, 2, 0.01);
  EXPECT_NEAR(m.variance, 0.25, 0.005);
  EXPECT_LT(m.min, 0.3);  // 3.4 standard deviations
  EXPECT_GT(m.max, 3.7);
}

TEST(Filler, TruncatedNormalStaysWithinTwoDeviations) {
  const Moments m = MomentsOf(Filled("type: 'truncated_normal' mean: 1 std: 0.5", {kMany}));
  EXPECT_GE(m.min, 0);
  EXPECT_LE(m.max, 2);
  EXPECT_LT(m.min, 0.01);
  EXPECT_NEAR(m.mean, 1, 0.005);
  // 1 - 2 * 2 phi(2) / (2 Phi(2) - 1) of the variance remains.
  EXPECT_NEAR(m.variance, 0.25 * 0.77374, 0.003);
}

TEST(Filler, DiracCopiesItsInput) {
  // Two outputs of three inputs, with kernels of 3 x 2, whose centre is at row 1, column 1.
  const std::vector<float> values = Filled("type: 'dirac'", {2, 3, 3, 2});
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(values[i], i == 3 || i == 18 + 6 + 3 ? 1 : 0) << i;
  // More outputs than inputs: the others are 0.
  EXPECT_EQ(Filled("type: 'dirac'", {3, 1, 3}), (std::vector<float>{0, 1, 0, 0, 0, 0, 0, 0, 0}));
  // As torch.nn.init.dirac_(w, groups=2) for w of 4 x 1 x 1.
  EXPECT_EQ(Filled("type: 'dirac' groups: 2", {4, 1, 1}), (std::vector<float>{1, 0, 1, 0}));
}

TEST(Filler, SparseGaussianKeepsTheGivenNumberPerOutput) {
  // Each input connects to 5 of the 20 outputs on average.
  const std::vector<float> values = Filled("type: 'gaussian' std: 1 sparse: 5", {20, 10000});
  const auto zeros = std::count(values.begin(), values.end(), 0.0f);
  EXPECT_NEAR(static_cast<double>(zeros) / 200000, 0.75, 0.01);
  // The choice does not depend on the values, so the kept values are still normally distributed.
  EXPECT_NEAR(MomentsOf(values).variance, 0.25, 0.01);
}

TEST(Filler, PositiveUnitballRowsSumToOne) {
  const std::vector<float> values = Filled("type: 'positive_unitball'", {3, 5, 7});
  for (size_t row = 0; row < 3; ++row) {
    double sum = 0;
    for (size_t i = 0; i < 35; ++i) {
      EXPECT_GE(values[row * 35 + i], 0);
      sum += values[row * 35 + i];
    }
    EXPECT_NEAR(sum, 1, 1e-5);
  }
}

TEST(Filler, XavierBoundFollowsTheFan) {
  // The fan-in is 30*8*5 = 1200, and the fan-out is count / channels = 200*8*5 = 8000.
  const Shape shape{200, 30, 8, 5};
  const struct {
    const char* norm;
    double fan;
  } cases[] = {{"", 1200}, {"variance_norm: FAN_OUT", 8000}, {"variance_norm: AVERAGE", 4600}};
  for (const auto& c : cases) {
    const Moments m = MomentsOf(Filled(std::string("type: 'xavier' ") + c.norm, shape));
    const double bound = std::sqrt(3 / c.fan);
    EXPECT_GE(m.min, -bound);
    EXPECT_LE(m.max, bound);
    EXPECT_GT(m.max, 0.999 * bound);
    EXPECT_NEAR(m.variance * c.fan, 1, 0.02);
  }
}

TEST(Filler, MsraVarianceIsTwoByFan) {
  EXPECT_NEAR(MomentsOf(Filled("type: 'msra'", {200, 30, 8, 5})).variance * 1200, 2, 0.04);
  EXPECT_NEAR(MomentsOf(Filled("type: 'msra' variance_norm: FAN_OUT", {200, 1000})).variance * 200,
              2, 0.04);
}

// caffe-windows: the slope of the ReLU that follows.
TEST(Filler, MsraAllowsForASlope) {
  EXPECT_NEAR(MomentsOf(Filled("type: 'msra' alpha: 0.25", {200, 1000})).variance * 1000,
              2 / (1 + 0.25 * 0.25), 0.04);
}

TEST(Filler, OneAxisHasItsCountAsFanOut) {
  const Moments m = MomentsOf(Filled("type: 'xavier' variance_norm: FAN_OUT", {kMany}));
  EXPECT_NEAR(m.max, std::sqrt(3.0 / kMany), 1e-5);
}

TEST(Filler, BilinearFillsKernelsOfAllSizesSymmetrically) {
  for (int64_t k = 1; k <= 16; ++k) {
    const double f = std::ceil(static_cast<double>(k) / 2);
    const auto triangle = [&](int64_t x) {
      return 1 - std::fabs((static_cast<double>(x) - static_cast<double>(k - 1) / 2) / f);
    };
    const std::vector<float> values = Filled("type: 'bilinear' scale: 2", {2, 1, k, k});
    ASSERT_EQ(values.size(), static_cast<size_t>(2 * k * k));
    for (int64_t i = 0; i < 2 * k * k; ++i) {
      EXPECT_NEAR(values[static_cast<size_t>(i)], 2 * triangle(i % k) * triangle(i / k % k), 1e-6)
          << k << ' ' << i;
    }
  }
}

TEST(Filler, BilinearFillsTheKernelsThatCaffeHasHadSince2017) {
  const float three[] = {0.5f, 1, 0.5f}, four[] = {0.25f, 0.75f, 0.75f, 0.25f};
  const float six[] = {1 / 6.f, 0.5f, 5 / 6.f, 5 / 6.f, 0.5f, 1 / 6.f};
  std::vector<float> values = Filled("type: 'bilinear'", {1, 1, 3, 3});
  for (size_t i = 0; i < 9; ++i) EXPECT_NEAR(values[i], three[i % 3] * three[i / 3], 1e-6) << i;
  values = Filled("type: 'bilinear'", {1, 1, 4, 4});
  for (size_t i = 0; i < 16; ++i) EXPECT_NEAR(values[i], four[i % 4] * four[i / 4], 1e-6) << i;
  values = Filled("type: 'bilinear'", {1, 1, 6, 6});
  for (size_t i = 0; i < 36; ++i) EXPECT_NEAR(values[i], six[i % 6] * six[i / 6], 1e-6) << i;
}

// The filler and the shape of conv1 in Intel's train_val_gabor_init.prototxt of AlexNet.
TEST(Filler, GaborMakesAWaveUnderABellForEachOutput) {
  const int64_t outputs = 96, row = 3 * 11 * 11;
  const std::vector<float> values = Filled("type: 'gabor' std: 0.01", {outputs, 3, 11, 11});
  double corners = 0, centers = 0;
  for (int64_t o = 0; o < outputs; ++o) {
    const float* wave = values.data() + o * row;
    double squares = 0, products[3] = {0, 0, 0};
    for (int64_t i = 0; i < row; ++i) squares += static_cast<double>(wave[i]) * wave[i];
    EXPECT_NEAR(std::sqrt(squares / static_cast<double>(row)), 0.01, 1e-6) << o;
    // All inputs see the same wave: the cosine between two of them is 1 or -1.
    for (int64_t i = 0; i < 121; ++i) {
      products[0] += static_cast<double>(wave[i]) * wave[i];
      products[1] += static_cast<double>(wave[121 + i]) * wave[121 + i];
      products[2] += static_cast<double>(wave[i]) * wave[121 + i];
    }
    EXPECT_NEAR(std::fabs(products[2]), std::sqrt(products[0] * products[1]), 1e-8) << o;
    corners += std::fabs(wave[0]) + std::fabs(wave[120]);
    centers += std::fabs(wave[60]) + std::fabs(wave[61]);
  }
  EXPECT_LT(corners, 0.1 * centers);
  // Each output has a wave of its own.
  EXPECT_NE(values[60] / values[61], values[60 + row] / values[61 + row]);
}

TEST(Filler, GaborFillsRowsAsTheWhole) {
  const std::vector<float> whole = Filled("type: 'gabor'", {6, 2, 5, 3});
  const std::vector<float> part = Filled("type: 'gabor'", {2, 2, 5, 3}, 7, 3);
  for (size_t i = 0; i < part.size(); ++i) EXPECT_EQ(part[i], whole[3 * 30 + i]) << i;
}

TEST(Filler, DoubleGetsTheFloatValues) {
  for (const char* text : {"type: 'uniform' min: -3", "type: 'gaussian' sparse: 2", "type: 'msra'",
                           "type: 'truncated_normal'", "type: 'dirac'", "type: 'positive_unitball'",
                           "type: 'bilinear'", "type: 'gabor' std: 0.1"}) {
    const std::vector<float> narrow = Filled<float>(text, {5, 3, 4, 4});
    const std::vector<double> wide = Filled<double>(text, {5, 3, 4, 4});
    for (size_t i = 0; i < narrow.size(); ++i)
      EXPECT_EQ(static_cast<double>(narrow[i]), wide[i]) << text;
  }
}

TEST(Filler, StreamsDifferAndRepeat) {
  EXPECT_EQ(Filled("type: 'uniform'", {33}, 1), Filled("type: 'uniform'", {33}, 1));
  EXPECT_NE(Filled("type: 'uniform'", {33}, 1), Filled("type: 'uniform'", {33}, 2));
}

TEST(Filler, EmptyShapesAreLeftAlone) {
  EXPECT_EQ(Filled("type: 'xavier'", {0, 3}), std::vector<float>{-99});
  EXPECT_EQ(Filled("type: 'positive_unitball'", {3, 0}), std::vector<float>{-99});
  EXPECT_EQ(Filled("type: 'gabor'", {3, 0, 5, 5}), std::vector<float>{-99});
}

TEST(Filler, MistakesSayWhatToDo) {
  EXPECT_NE(FillerMistake("type: 'xaviar'", {3}).find("did you mean 'xavier'?"), std::string::npos);
  EXPECT_NE(FillerMistake("type: 'bilinear'", {1, 1, 3, 4}).find("1x1x3x4"), std::string::npos);
  EXPECT_NE(FillerMistake("type: 'uniform' min: 2", {3}).find("greater than max"),
            std::string::npos);
  EXPECT_NE(FillerMistake("type: 'xavier' sparse: 2", {3}).find("remove `sparse`"),
            std::string::npos);
  EXPECT_NE(
      FillerMistake("type: 'gaussian' sparse: 4", {3, 9}).find("more than the outputs of 3x9"),
      std::string::npos);
  EXPECT_NE(FillerMistake("type: 'gabor'", {3, 9}).find("needs four axes, but the blob is 3x9"),
            std::string::npos);
  EXPECT_NE(FillerMistake("type: 'truncated_normal' std: -1", {3}).find("std must not be negative"),
            std::string::npos);
  EXPECT_NE(FillerMistake("type: 'dirac'", {3, 9}).find("with 3 to 5 axes, but the blob is 3x9"),
            std::string::npos);
  EXPECT_NE(FillerMistake("type: 'dirac' groups: 2", {3, 9, 1}).find("groups 2 do not divide"),
            std::string::npos);
  EXPECT_NE(FillerMistake("type: 'gabor' std: -1", {1, 1, 3, 3}).find("std must not be negative"),
            std::string::npos);
  FillerParameter filler;
  ParseText("type: 'gaussian' sparse: 3", "filler", &filler);
  EXPECT_NO_THROW(CheckFiller(filler, {3, 9}));
}

}  // namespace
}  // namespace doppio
