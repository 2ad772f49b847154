// The element-wise layers: first their values and gradients in closed form, then properties that
// all of them share.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "layers/activation/activation_ops.h"
#include "tests/layers/common/logarithms.h"
#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

const double kE = std::exp(1.0);

TEST(ReLU, CutsOrScalesNegativeNumbers) {
  LayerCase("type: 'ReLU'")
      .Bottom({1, 5}, {-2, -0.5, 0, 0.5, 3})
      .ExpectTop({1, 5}, {0, 0, 0, 0.5, 3})
      .ExpectBottomGradient({1, 2, 3, 4, 5}, {0, 0, 0, 4, 5});
  LayerCase("type: 'ReLU' relu_param { negative_slope: 0.5 }")
      .Bottom({5}, {-2, -0.5, 0, 0.5, 3})
      .ExpectTop({5}, {-1, -0.25, 0, 0.5, 3})
      .ExpectBottomGradient({1, 2, 3, 4, 5}, {0.5, 1, 1.5, 4, 5});
}

TEST(ReLU, PassesNaN) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  LayerCase("type: 'ReLU'").Bottom({2}, {nan, 1}).ExpectTop({2}, {nan, 1});
}

// At -ln 2, e^x - 1 is -1/2 and the derivative is lambda alpha / 2. The constants are those of
// Klambauer et al., "Self-Normalizing Neural Networks", 2017.
TEST(SELU, IsAnEluWithItsConstants) {
  constexpr double kLambda = 1.0507009873554805, kAlpha = 1.6732632423543772;
  for (const char* type : {"SELU", "SeLu"}) {
    LayerCase(std::string("type: '") + type + "'")
        .Bottom({3}, {-kLn2, 0, 2})
        .ExpectTop({3}, {-kLambda * kAlpha / 2, 0, 2 * kLambda})
        .ExpectBottomGradient({2, 0, 3}, {kLambda * kAlpha, 0, 3 * kLambda});
  }
}

TEST(SELU, TakesConstantsOfItsOwn) {
  for (const char* type : {"SELU", "SeLu"}) {
    LayerCase(std::string("type: '") + type + "' selu_param { alpha: 0.5 lambda: 2 }")
        .Bottom({4}, {-kLn2, 0, 1.5, -100})
        .ExpectTop({4}, {-0.5, 0, 3, -1})
        .ExpectBottomGradient({1, 1, 1, 1}, {0.5, 1, 2, 0});
  }
}

TEST(ELU, ApproachesMinusAlpha) {
  LayerCase("type: 'ELU'")
      .Bottom({3}, {-kLn2, 0, 1.5})
      .ExpectTop({3}, {-0.5, 0, 1.5})
      .ExpectBottomGradient({1, 1, 1}, {0.5, 1, 1});
  LayerCase("type: 'ELU' elu_param { alpha: 0.5 lambda: 2 }")
      .Bottom({4}, {-kLn2, 0, 1.5, -100})
      .ExpectTop({4}, {-0.5, 0, 3, -1})
      .ExpectBottomGradient({1, 1, 1, 1}, {0.5, 1, 2, 0});
}

TEST(Sigmoid, IsTheLogisticFunctionAndDoesNotOverflow) {
  LayerCase("type: 'Sigmoid'")
      .Bottom({1, 5}, {0, kLn3, -kLn3, 800, -800})
      .ExpectTop({1, 5}, {0.5, 0.75, 0.25, 1, 0})
      .ExpectBottomGradient({4, 4, 4, 4, 4}, {1, 0.75, 0.75, 0, 0});
}

TEST(TanH, IsTheHyperbolicTangent) {
  LayerCase("type: 'TanH'")
      .Bottom({3}, {0, kLn3 / 2, -kLn3 / 2})
      .ExpectTop({3}, {0, 0.5, -0.5})
      .ExpectBottomGradient({1, 1, 2}, {1, 0.75, 1.5});
}

TEST(Swish, WeighsByTheLogisticFunction) {
  LayerCase("type: 'Swish'")
      .Bottom({2}, {0, kLn3})
      .ExpectTop({2}, {0, 0.75 * kLn3})
      .ExpectBottomGradient({1, 1}, {0.5, 0.75 + 0.1875 * kLn3});
  LayerCase("type: 'Swish' swish_param { beta: 2 }")
      .Bottom({1}, {kLn3 / 2})
      .ExpectTop({1}, {0.375 * kLn3})
      .ExpectBottomGradient({1}, {0.75 + 0.1875 * kLn3});
}

TEST(ReLU6, CutsAtBothEnds) {
  LayerCase("type: 'ReLU6'")
      .Bottom({6}, {-2, 0, 0.5, 5, 6, 7})
      .ExpectTop({6}, {0, 0, 0.5, 5, 6, 6})
      .ExpectBottomGradient({1, 2, 3, 4, 5, 6}, {0, 0, 3, 4, 0, 0});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  LayerCase("type: 'ReLU6'").Bottom({2}, {nan, 1}).ExpectTop({2}, {nan, 1});
}

// With u = 1 + e^x, x is multiplied by (u^2 - 1) / (u^2 + 1). The derivative of this factor is
// 4 u e^x / (u^2 + 1)^2.
TEST(Mish, WeighsByTheTangentOfASmoothMaximumAndDoesNotOverflow) {
  LayerCase("type: 'Mish'")
      .Bottom({5}, {0, kLn2, -kLn2, 200, -200})
      .ExpectTop({5}, {0, 0.8 * kLn2, -5.0 / 13 * kLn2, 200, 0})
      .ExpectBottomGradient({5, 1, 1, 1, 1},
                            {3, 0.8 + 0.24 * kLn2, 5.0 / 13 - 48.0 / 169 * kLn2, 1, 0});
}

// Values of the normal distribution function from Abramowitz and Stegun, table 26.1, and of tanh.
TEST(GELU, WeighsByTheNormalDistribution) {
  LayerCase("type: 'GELU'")
      .Bottom({4}, {-1, 0, 0.5, 2})
      .ExpectTop({4}, {-0.158655253931457, 0, 0.5 * 0.691462461274013, 2 * 0.977249868051821},
                 1e-12)
      .ExpectBottomGradient({1, 1, 1, 2}, {0.158655253931457 - 0.241970724519143, 0.5,
                                           0.691462461274013 + 0.5 * 0.352065326764300,
                                           2 * (0.977249868051821 + 2 * 0.053990966513188)});
  const double u = std::sqrt(2 / M_PI) * (2 + 0.044715 * 8);
  LayerCase("type: 'GELU' gelu_param { approximate: TANH }")
      .Bottom({2}, {2, 0})
      .ExpectTop({2}, {1 + std::tanh(u), 0}, 1e-12);
}

// The fast formulas are within a unit in the last place of a float of x Phi(x), also far below 0.
TEST(GELU, IsExactInSinglePrecision) {
  std::vector<double> points;
  for (int i = -1400; i <= 600; ++i) points.push_back(static_cast<float>(i * 0.0101));
  for (const double point : {-1e30, -1e-30, 1e-30, 1e30, -40.0, 40.0})
    points.push_back(static_cast<float>(point));
  const std::vector<double> tops =
      LayerCase("type: 'GELU'").Bottom({static_cast<int64_t>(points.size())}, points).FastTop();
  for (size_t i = 0; i < points.size(); ++i) {
    const double want = points[i] * std::erfc(-points[i] * std::sqrt(0.5)) / 2;
    const double unit = std::max(std::fabs(want) * 0x1p-23, 0x1p-149);
    EXPECT_NEAR(tops[i], want, unit) << points[i];
  }
}

TEST(HardSwish, IsAParabolaBetweenMinus3And3) {
  LayerCase("type: 'HardSwish'")
      .Bottom({6}, {-4, -3, -1.5, 1, 3, 4})
      .ExpectTop({6}, {0, 0, -0.375, 2.0 / 3, 3, 4})
      .ExpectBottomGradient({1, 1, 1, 6, 1, 2}, {0, 0, 0, 5, 1, 2});
}

TEST(AbsVal, HasNoGradientAtZero) {
  LayerCase("type: 'AbsVal'")
      .Bottom({3}, {-2, 0, 3})
      .ExpectTop({3}, {2, 0, 3})
      .ExpectBottomGradient({1, 2, 3}, {-1, 0, 3});
}

TEST(Power, RaisesAScaledAndShiftedBase) {
  LayerCase("type: 'Power'").Bottom({2}, {-3, 4}).ExpectTop({2}, {-3, 4});
  LayerCase("type: 'Power' power_param { power: 2 scale: 3 shift: 1 }")
      .Bottom({3}, {0, 1, -1})
      .ExpectTop({3}, {1, 16, 4})
      .ExpectBottomGradient({1, 1, 1}, {6, 24, -12});
  LayerCase("type: 'Power' power_param { power: 0.5 scale: 4 }")
      .Bottom({2}, {1, 4})
      .ExpectTop({2}, {2, 4})
      .ExpectBottomGradient({1, 1}, {1, 0.5});
}

TEST(Power, HasAGradientWhereTheBaseIsZero) {
  LayerCase("type: 'Power' power_param { power: 3 }")
      .Bottom({2}, {0, 2})
      .ExpectTop({2}, {0, 8})
      .ExpectBottomGradient({1, 1}, {0, 12});
  LayerCase("type: 'Power' power_param { power: 0 }")
      .Bottom({2}, {0, 2})
      .ExpectTop({2}, {1, 1})
      .ExpectBottomGradient({1, 1}, {0, 0});
  LayerCase("type: 'Power' power_param { power: 2 scale: 0 shift: 3 }")
      .Bottom({2}, {0, 2})
      .ExpectTop({2}, {9, 9})
      .ExpectBottomGradient({1, 1}, {0, 0});
}

TEST(Exp, TakesABase) {
  LayerCase("type: 'Exp'")
      .Bottom({2}, {0, kLn2})
      .ExpectTop({2}, {1, 2})
      .ExpectBottomGradient({1, 1}, {1, 2});
  LayerCase("type: 'Exp' exp_param { base: 2 scale: 3 shift: -1 }")
      .Bottom({3}, {0, 1, 2})
      .ExpectTop({3}, {0.5, 4, 32})
      .ExpectBottomGradient({1, 1, 1}, {1.5 * kLn2, 12 * kLn2, 96 * kLn2});
  LayerCase("type: 'Exp' exp_param { base: 1 }")
      .Bottom({1}, {7})
      .ExpectTop({1}, {1})
      .ExpectBottomGradient({1}, {0});
}

TEST(Log, TakesABase) {
  LayerCase("type: 'Log'")
      .Bottom({2}, {1, kE})
      .ExpectTop({2}, {0, 1})
      .ExpectBottomGradient({1, 1}, {1, 1 / kE});
  LayerCase("type: 'Log' log_param { base: 10 scale: 2 shift: 80 }")
      .Bottom({2}, {10, 460})
      .ExpectTop({2}, {2, 3})
      .ExpectBottomGradient({100, 1000}, {2 / kLn10, 2 / kLn10});
}

TEST(BNLL, IsASmoothMaximumThatDoesNotOverflow) {
  LayerCase("type: 'BNLL'")
      .Bottom({4}, {0, kLn3, 1000, -1000})
      .ExpectTop({4}, {kLn2, 2 * kLn2, 1000, 0})
      .ExpectBottomGradient({1, 1, 1, 1}, {0.5, 0.75, 1, 0});
}

TEST_ON_DEVICES(Clip, KeepsTheGradientOnBothBounds) {
  const std::string clip = "type: 'Clip' clip_param { min: -1 max: 2 }";
  LayerCase(clip)
      .Bottom({5}, {-3, -1, 0, 2, 5})
      .ExpectTop({5}, {-1, -1, 0, 2, 2})
      .ExpectBottomGradient({1, 2, 3, 4, 5}, {0, 2, 3, 4, 0});
  // In place, backward sees only the clipped values, so all gradients pass, as in Caffe.
  LayerCase(clip)
      .Bottom({5}, {-3, -1, 0, 2, 5})
      .InPlace()
      .ExpectTop({5}, {-1, -1, 0, 2, 2})
      .ExpectBottomGradient({1, 2, 3, 4, 5}, {1, 2, 3, 4, 5})
      .ExpectBackendsAgree();
}

TEST(Clip, NeedsBothBoundsInOrder) {
  LayerCase("type: 'Clip' clip_param { max: 2 }")
      .Bottom({1}, {0})
      .ExpectMistake({"layer 'layer'", "min", "missing"});
  LayerCase("type: 'Clip' clip_param { min: 2 }")
      .Bottom({1}, {0})
      .ExpectMistake({"max", "missing"});
  LayerCase("type: 'Clip' clip_param { min: 2 max: 1 }")
      .Bottom({1}, {0})
      .ExpectMistake({"min 2", "above max 1"});
}

TEST(Threshold, IsOneOnlyAboveTheThreshold) {
  const std::string threshold = "type: 'Threshold' threshold_param { threshold: 0.5 }";
  LayerCase(threshold).Bottom({3}, {0.25, 0.5, 0.75}).NoGradient().ExpectTop({3}, {0, 0, 1});
  LayerCase(threshold).Bottom({1}, {0}).ExpectMistake(
      {"Threshold has no gradient", "propagate_down"});
}

TEST(ExpAndLog, RefuseBasesWithoutALogarithm) {
  LayerCase("type: 'Exp' exp_param { base: 0 }")
      .Bottom({1}, {1})
      .ExpectMistake({"base 0", "no logarithm", "positive"});
  LayerCase("type: 'Exp' exp_param { base: -2 }")
      .Bottom({1}, {1})
      .ExpectMistake({"base -2", "-1 for e"});
  LayerCase("type: 'Log' log_param { base: 0 }").Bottom({1}, {1}).ExpectMistake({"base 0"});
  LayerCase("type: 'Log' log_param { base: 1 }")
      .Bottom({1}, {1})
      .ExpectMistake({"to divide by", "other than 1"});
}

struct Activation {
  std::string type, param;
  double low = -2, high = 2;
  double kink = 1e300;
};

const Activation kActivations[] = {
    {"ReLU", "", -2, 2, 0},
    {"ReLU", "relu_param { negative_slope: 0.1 }", -2, 2, 0},
    {"ReLU", "relu_param { negative_slope: -0.5 }", -2, 2, 0},
    {"ELU", "", -2, 2, 0},
    {"ELU", "elu_param { alpha: 0.5 lambda: 1.05 }", -2, 2, 0},
    {"ELU", "elu_param { alpha: -0.5 }", -2, 2, 0},
    {"SELU", "", -2, 2, 0},
    {"SeLu", "", -2, 2, 0},
    {"Sigmoid", ""},
    {"TanH", ""},
    {"Swish", ""},
    {"Swish", "swish_param { beta: 2.5 }"},
    {"AbsVal", "", -2, 2, 0},
    {"Power", ""},
    {"Power", "power_param { scale: 2 shift: 3 }"},
    {"Power", "power_param { power: 2 scale: -1.5 shift: 0.5 }"},
    {"Power", "power_param { power: 0.5 shift: 3 }"},
    {"Power", "power_param { power: 3 }"},
    {"Exp", ""},
    {"Exp", "exp_param { base: 2 scale: 0.5 shift: 1 }"},
    {"Log", "log_param { shift: 3 }"},
    {"Log", "log_param { base: 10 scale: 2 shift: 5 }"},
    {"BNLL", ""},
    {"Clip", "clip_param { min: -0.5 max: 0.75 }"},
    {"Clip", "clip_param { min: 0.5 max: 1 }"},  // would turn padding into 0.5
    {"Threshold", ""},
    {"ReLU6", "", -2, 2, 0},
    {"ReLU6", "", 5, 8, 6},
    {"Mish", "", -4, 4},
    {"HardSwish", "", -2.9, 2.9},
    {"HardSwish", "", 2, 5, 3},
    {"GELU", "", -4, 4},
    {"GELU", "gelu_param { approximate: TANH }", -4, 4},
};

class EveryActivation : public TestOnDevices<Activation> {
 protected:
  bool has_gradient() const { return GetParam().type != "Threshold"; }
  LayerCase Case(const Shape& shape) const {
    LayerCase c("type: '" + GetParam().type + "' " + GetParam().param);
    c.RandomBottom(shape, GetParam().low, GetParam().high);
    if (!has_gradient()) c.NoGradient();
    return c;
  }
};

TEST_P(EveryActivation, AgreesWithDifferencesAndInEveryLayout) {
  for (const Shape& shape : {Shape{3, 5, 3, 1}, Shape{1, 7}, Shape{}}) {
    LayerCase c = Case(shape);
    if (has_gradient()) c.ExpectGradient(1e-4, 1e-5, GetParam().kink);
    c.ExpectTopShape(shape).ExpectBackendsAgree();
    c.ExpectNarrowOnGpu();
    // Threshold's top is in single precision, so Threshold may convert.
    if (has_gradient()) {
      c.ExpectNoGpuConversions();
    }
  }
}

TEST_P(EveryActivation, WorksInPlace) {
  LayerCase c = Case({3, 3, 2, 1});
  c.InPlace();
  if (has_gradient() && GetParam().type != "Clip") c.ExpectGradient(1e-4, 1e-5, GetParam().kink);
  c.ExpectBackendsAgree();
}

TEST_P(EveryActivation, TakesOneBottom) {
  Case({2}).RandomBottom({2}).ExpectMistake({GetParam().type + " takes", "bottom"});
}

INSTANTIATE_ON_DEVICES(Activations, EveryActivation, testing::ValuesIn(kActivations),
                       [](const testing::TestParamInfo<Activation>& info) {
                         return info.param.type + std::to_string(info.index);
                       });

template <class... Ops>
std::set<std::string> TypesOf(const std::tuple<Ops...>*) {
  return {Ops::kType...};
}

TEST(Activations, AreAllTestedHere) {
  std::set<std::string> tested;
  for (const Activation& a : kActivations) tested.insert(a.type);
  EXPECT_EQ(tested, TypesOf(static_cast<AllActivations*>(nullptr)));
}

}  // namespace
}  // namespace doppio
