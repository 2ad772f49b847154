#include "tools/sweep/sweep_space.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/testing/mistake.h"

namespace doppio {
namespace {

std::string ParamMistake(const std::string& text) {
  const Error e = Thrown<UserError>([&] { ParseSweepParam(text); });
  EXPECT_EQ(e.at().file, "--param " + text);
  return e.message();
}

std::vector<std::string> AllOf(const std::string& text) {
  const SweepParam param = ParseSweepParam(text);
  std::vector<std::string> values;
  for (int64_t i = 0; i < param.count(); ++i) values.push_back(param.ValueAt(i));
  return values;
}

using Values = std::vector<std::string>;

TEST(SweepParam, ListsValues) {
  EXPECT_EQ(AllOf("momentum=0.9,0.95"), (Values{"0.9", "0.95"}));
  EXPECT_EQ(AllOf("type=choice:SGD,Adam"), (Values{"SGD", "Adam"}));
  EXPECT_EQ(AllOf("stepvalue=[10,20],[30]"), (Values{"[10,20]", "[30]"}));
  EXPECT_EQ(AllOf("x={a: 1, b: 2},'c,d'"), (Values{"{a: 1, b: 2}", "'c,d'"}));
}

TEST(SweepParam, TakesBracketsWithConditionsIntoTheName) {
  const SweepParam param =
      ParseSweepParam("net.layer[type=Data,phase=TRAIN].data_param.batch_size=4,8");
  EXPECT_EQ(param.name, "net.layer[type=Data,phase=TRAIN].data_param.batch_size");
  EXPECT_EQ(param.values, (Values{"4", "8"}));
}

TEST(SweepParam, RangesHavePointsForGrids) {
  EXPECT_EQ(AllOf("base_lr=log:1e-4..1e-1:4"), (Values{"0.0001", "0.001", "0.01", "0.1"}));
  EXPECT_EQ(AllOf("x=lin:0..1:3"), (Values{"0", "0.5", "1"}));
  EXPECT_EQ(AllOf("n=int:16..64:16"), (Values{"16", "32", "48", "64"}));
  EXPECT_EQ(AllOf("n=int:-1..1"), (Values{"-1", "0", "1"}));
  EXPECT_EQ(AllOf("n=int:1..6:4"), (Values{"1", "5"}));
  EXPECT_EQ(ParseSweepParam("x=lin:0..1").count(), 0);
}

TEST(SweepParam, SaysWhatIsWrong) {
  EXPECT_EQ(ParamMistake("base_lr").substr(0, 20), "expected NAME=VALUES");
  EXPECT_EQ(ParamMistake("=1").substr(0, 20), "expected NAME=VALUES");
  EXPECT_EQ(ParamMistake("x=1,,2"), "a value is empty");
  EXPECT_EQ(ParamMistake("x="), "a value is empty");
  EXPECT_EQ(ParamMistake("x=log:0.1"), "expected FIRST..LAST, such as 1e-4..1e-1, got '0.1'");
  EXPECT_EQ(ParamMistake("x=lin:a..1"), "expected two numbers around '..', got 'a..1'");
  EXPECT_EQ(ParamMistake("x=lin:nan..1"), "expected two numbers around '..', got 'nan..1'");
  EXPECT_EQ(ParamMistake("x=lin:1..0"), "the first number of a range must be less than the last");
  EXPECT_EQ(ParamMistake("x=log:0..1"), "a range in the logarithm must begin above 0");
  EXPECT_EQ(ParamMistake("x=int:0.5..3"), "int needs whole numbers; got '0.5..3'");
  EXPECT_EQ(ParamMistake("x=int:0..3:0"), "behind the range comes the step, got '0'");
  EXPECT_EQ(ParamMistake("x=lin:0..3:x"),
            "behind the range comes the number of points of a grid, got 'x'");
  EXPECT_EQ(ParamMistake("x=lin:0..3:1"), "a range has at least 2 points");
  EXPECT_EQ(ParamMistake("x=1e-3..1e-1"),
            "a range begins with log:, lin: or int:, as in x=log:1e-3..1e-1");
}

TEST(GridPoints, LastParameterChangesFastest) {
  const auto points = GridPoints({ParseSweepParam("a=1,2"), ParseSweepParam("b=x,y,z")});
  ASSERT_EQ(points.size(), 6u);
  EXPECT_EQ(points[0], (SweepPoint{"1", "x"}));
  EXPECT_EQ(points[1], (SweepPoint{"1", "y"}));
  EXPECT_EQ(points[5], (SweepPoint{"2", "z"}));
}

TEST(GridPoints, RefusesRangesWithoutPointsAndMillions) {
  EXPECT_THROW(GridPoints({ParseSweepParam("a=log:1..2")}), UsageError);
  const SweepParam thousand = ParseSweepParam("a=int:1..1001");
  EXPECT_THROW(GridPoints({thousand, thousand}), UsageError);
}

TEST(RandomPoints, DependOnSeedAndNumberAlone) {
  const std::vector<SweepParam> params = {ParseSweepParam("a=log:1e-4..1e-1"),
                                          ParseSweepParam("b=0.9,0.95")};
  const auto few = RandomPoints(params, 5, 7), many = RandomPoints(params, 50, 7);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
  EXPECT_NE(RandomPoints(params, 5, 8), few);
}

TEST(RandomPoints, FillTheRangeEvenly) {
  int below = 0;
  for (const SweepPoint& point : RandomPoints({ParseSweepParam("a=log:1e-4..1")}, 1000, 1)) {
    const double value = std::stod(point[0]);
    EXPECT_GE(value, 1e-4);
    EXPECT_LE(value, 1);
    below += value < 1e-2;
  }
  // Half of the values are below the middle; the standard deviation is 16.
  EXPECT_NEAR(below, 500, 80);
}

TEST(RandomPoints, RepeatNoneAsLongAsThereAreOthers) {
  const std::vector<SweepParam> params = {ParseSweepParam("a=1,2"), ParseSweepParam("b=int:1..3")};
  const auto points = RandomPoints(params, 6, 1);
  EXPECT_EQ(std::set<SweepPoint>(points.begin(), points.end()).size(), 6u);
  EXPECT_EQ(RandomPoints(params, 8, 1).size(), 8u);
}

}  // namespace
}  // namespace doppio
