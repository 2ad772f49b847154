#include "tools/verify/comparison.h"

#include <gtest/gtest.h>

#include "tools/verify/find_cause.h"

namespace doppio {
namespace {

constexpr double kTolerance = 1e-4;

FormPoint PointOf(const std::string& layer, const std::string& type, std::vector<int> reads = {}) {
  FormPoint point{layer, type, layer, {}, -1};
  point.reads = std::move(reads);
  return point;
}

VerifyForm FormOf(std::vector<FormPoint> points) {
  VerifyForm form;
  form.outputs = {static_cast<int>(points.size()) - 1};
  form.points = std::move(points);
  return form;
}

// One point, which both forms have and whose values differ.
struct OnePair {
  explicit OnePair(const std::string& type)
      : a(FormOf({PointOf("x", type)})), b(FormOf(a.points)) {}
  VerifyForm a, b;
  Comparison comparison{a, b, kTolerance};
};

TEST(Comparison, MatchesObjectsByClassAndOverlap) {
  OnePair pair("DetectionOutput");
  // Image, class, score, left, top, right, bottom; in another order.
  pair.comparison.Add(
      {{{1, 1, 2, 7}, {0, 1, .9f, .1f, .1f, .3f, .3f, 0, 2, .8f, .5f, .5f, .9f, .9f}}},
      {{{1, 1, 2, 7}, {0, 2, .8f, .5f, .5f, .9f, .9f, 0, 1, .7f, .1f, .1f, .3f, .3f}}});
  const PointPair& found = pair.comparison.pairs()[0];
  EXPECT_EQ(found.unlike, "");
  EXPECT_NEAR(found.values.absolute, 0.2, 1e-6);
  EXPECT_EQ(found.values.index, 2);
  EXPECT_FALSE(pair.comparison.Agrees());

  OnePair more("DetectionOutput");
  more.comparison.Add({{{1, 1, 1, 7}, {0, 1, .9f, .1f, .1f, .3f, .3f}}},
                      {{{1, 1, 1, 7}, {0, 2, .9f, .1f, .1f, .3f, .3f}}});
  EXPECT_EQ(more.comparison.pairs()[0].unlike, "1 objects only in the first, 1 only in the second");
}

TEST(Comparison, CountsEqualTopClassesAtEachPlace) {
  OnePair pair("Softmax");
  pair.comparison.Add({{{1, 2, 1, 3}, {1, 0, 1, 0, 1, 0}}}, {{{1, 2, 1, 3}, {1, 1, 1, 0, 0, 0}}});
  EXPECT_EQ(pair.comparison.pairs()[0].rows, 3);
  EXPECT_EQ(pair.comparison.pairs()[0].same_top, 2);
}

// In the second form, the norm is folded into the convolution.
TEST(Comparison, TakesFoldedLayersForEqual) {
  const VerifyForm a = FormOf({PointOf("conv", "Convolution"), PointOf("norm", "Scale", {0}),
                               PointOf("relu", "ReLU", {1})});
  const VerifyForm b = FormOf({PointOf("conv", "Convolution"), PointOf("relu", "ReLU", {0})});
  const Shape shape{1, 2};
  Comparison equal(a, b, kTolerance);
  equal.Add({{shape, {1, -2}}, {shape, {2, -4}}, {shape, {2, 0}}},
            {{shape, {2, -4}}, {shape, {2, 0}}});
  EXPECT_TRUE(equal.Agrees());
  EXPECT_EQ(equal.First(), nullptr);
  ASSERT_NE(equal.Find(1), nullptr);
  EXPECT_STREQ(equal.Find(1)->how.c_str(), "values");

  Comparison different(a, b, kTolerance);
  different.Add({{shape, {1, -2}}, {shape, {2, -4}}, {shape, {2, 0}}},
                {{shape, {2, -4}}, {shape, {3, 0}}});
  ASSERT_NE(different.First(), nullptr);
  EXPECT_EQ(different.First()->a, 2);
}

// A softmax near 0 and 1 does not hide that its input differs.
TEST(Comparison, LooksBehindSaturatedOutputs) {
  const VerifyForm a = FormOf({PointOf("fc", "InnerProduct"), PointOf("prob", "Softmax", {0})});
  const VerifyForm b = FormOf(a.points);
  Comparison comparison(a, b, kTolerance);
  comparison.Add({{{1, 2}, {100, 0}}, {{1, 2}, {1, 0}}}, {{{1, 2}, {120, 0}}, {{1, 2}, {1, 0}}});
  EXPECT_FALSE(comparison.Agrees());
  ASSERT_NE(comparison.First(), nullptr);
  EXPECT_EQ(comparison.First()->a, 0);
}

TEST(Comparison, NamesOutputsThatOneFormLacks) {
  VerifyForm a = FormOf({PointOf("x", "ReLU"), PointOf("y", "ReLU")});
  a.files.argument = "a.onnx";
  a.outputs = {0, 1};
  const VerifyForm b = FormOf({PointOf("y", "ReLU")});
  Comparison comparison(a, b, kTolerance);
  comparison.Add({{{1}, {1}}, {{1}, {2}}}, {{{1}, {2}}});
  EXPECT_EQ(comparison.LoneOutputs(), std::vector<std::string>{"'x' of a.onnx"});
  EXPECT_FALSE(comparison.Agrees());
}

std::vector<std::string> CausesOf(const PlainBlob& a, const PlainBlob& b) {
  OnePair pair("Convolution");
  pair.comparison.Add({a}, {b});
  return FindCauses(pair.comparison, *pair.comparison.First(), {}, kTolerance);
}

TEST(FindCauses, TellsBordersChannelsAndSizes) {
  PlainBlob a{{1, 1, 7, 7}, std::vector<float>(49)}, b = a, c = a;
  for (size_t i = 0; i < 49; ++i) {
    a.data[i] = static_cast<float>(i * i % 17);
    b.data[i] = a.data[i] + (i % 7 == 6 ? 1.0f : 0.0f);
    c.data[i] = 1.5f * a.data[i] + 2;
  }
  EXPECT_EQ(CausesOf(a, b),
            std::vector<std::string>{"only values at the borders of the image differ: padding"});
  EXPECT_EQ(CausesOf(a, c),
            std::vector<std::string>{
                "the difference is a factor for each channel, from 1.5 to 1.5, and a "
                "constant for each channel, up to 2: scales, or BatchNorm in one of "
                "the forms"});
  ASSERT_EQ(CausesOf(a, {{1, 1, 6, 6}, std::vector<float>(36)}).size(), 1u);
  EXPECT_NE(CausesOf(a, {{1, 1, 6, 6}, std::vector<float>(36)})[0].find("rounded up"),
            std::string::npos);
}

}  // namespace
}  // namespace doppio
