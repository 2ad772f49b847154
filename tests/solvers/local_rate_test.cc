// Tests local learning rates (LARC, LARS and LAMB's trust ratio) against hand-computed numbers on
// every device.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/solvers/param_store_case.h"
#include "tests/testing/layer_case.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

using MakeDevice = std::unique_ptr<Device> (*)();

class LocalRates : public testing::TestWithParam<MakeDevice> {
 protected:
  void SetUp() override {
    if (OnGpu() && !HasTestGpu()) GTEST_SKIP() << kNoTestGpu;
  }
  static ParamStoreCase Case(const std::vector<ParamCase>& cases, DType dtype = DType::kFloat64) {
    return ParamStoreCase(cases, dtype, GetParam()());
  }
};

// The first parameter has ||w|| = 2, and a gradient of 0.5 gives it ||g|| = 1. The second has no
// gradient, and the third has no rate.
std::vector<ParamCase> Three() { return {{Shape{4}, 1, 7}, {Shape{2}, 2, 7}, {Shape{3}, 5, 0}}; }

TEST_P(LocalRates, LarcScalesTheRateByTheNorms) {
  // eta = 0.1 (1 - 0.5) = 0.05, so the ratio is 0.05 * 2 / 1 = 0.1 of the rate 0.5. Weight decay
  // does not count in the norm, and lr_mult matters only if it is 0.
  ParamStoreCase c = Case(Three());
  Update update = MakeUpdate("momentum: 0.5 weight_decay: 1 larc: true larc_eta: 0.1", &c.store());
  c.SetGradient(0, 0.5);
  c.SetGradient(2, 0.5);
  update.Run(0.5, 0, 1);
  EXPECT_NEAR(c.Value(0, 3), 1 - 0.05 * 1.5, 1e-7);
  EXPECT_NEAR(c.Value(1), 2 - 0.5 * 2, 1e-7);  // a norm is 0, so the rate stays unchanged
  EXPECT_NEAR(c.Value(2), 5, 1e-12);
}

TEST_P(LocalRates, LarcMeasuresGradientsAsTheUpdateUsesThem) {
  // The mean gradient is 16 / (4 * 8) = 0.5 as above. Clipping halves it, so ||g|| = 0.5 and the
  // ratio is 0.2.
  ParamStoreCase c = Case({{Shape{4}, 1}});
  Update update =
      MakeUpdate("momentum: 0.5 larc: true larc_eta: 0.1 clip_gradients: 2", &c.store());
  update.scale().set_loss_scale(8);
  c.SetGradient(0, 16);
  update.Run(0.5, 0, 4);
  EXPECT_NEAR(update.scale().clip_scale(), 0.5, 1e-12);
  EXPECT_NEAR(c.Value(0), 1 - 0.5 * 0.2 * 0.25, 1e-7);
}

TEST_P(LocalRates, LarcClipsTheRateToTheNorms) {
  // The local rate is 0.1 * 2 / 1 = 0.2, which is below the rate 0.5 and above 0.125. If a norm is
  // 0, the local rate is 1.
  for (double rate : {0.5, 0.125}) {
    ParamStoreCase c = Case(Three());
    Update update =
        MakeUpdate("weight_decay: 1 larc: true larc_policy: 'clip' larc_eta: 0.1", &c.store());
    c.SetGradient(0, 0.5);
    update.Run(rate, 0, 1);
    EXPECT_NEAR(c.Value(0, 3), 1 - std::min(rate, 0.2) * 1.5, 1e-7);
    EXPECT_NEAR(c.Value(1), 2 - rate * 2, 1e-7);
    EXPECT_NEAR(c.Value(2), 5, 1e-12);
  }
}

TEST_P(LocalRates, LarsCountsTheDecay) {
  // The ratio is 0.3 * 2 / (1 + 0.25 * 2) = 0.4 of the rate 0.5.
  ParamStoreCase c = Case(Three());
  Update update = MakeUpdate(
      "momentum: 0.9 weight_decay: 0.25 local_lr_auto: true local_gw_ratio: 0.3", &c.store());
  c.SetGradient(0, 0.5);
  update.Run(0.5, 0, 1);
  EXPECT_NEAR(c.Value(0, 3), 1 - 0.2 * 0.75, 1e-7);
  EXPECT_NEAR(c.Value(1), 2 - 0.5 * 0.5, 1e-7);
  EXPECT_NEAR(c.Value(2), 5, 1e-12);
}

TEST_P(LocalRates, WorkWithNesterov) {
  // The numbers are those of LarcScalesTheRateByTheNorms. Nesterov's first step is 1.5 h.
  ParamStoreCase c = Case(Three());
  Update update = MakeUpdate("type: 'Nesterov' momentum: 0.5 larc: true larc_eta: 0.1", &c.store());
  c.SetGradient(0, 0.5);
  update.Run(0.5, 0, 1);
  EXPECT_NEAR(c.Value(0, 3), 1 - 1.5 * 0.05 * 0.5, 1e-7);
}

TEST_P(LocalRates, LambMovesByTheNormOfTheValues) {
  // AdamW's direction (update_test) is 2/3 for the first element and 0 for the second. With weight
  // decay, d = 2/3 + 0.1 and 0.1. ||w|| = sqrt(2), and lr_mult counts.
  ParamStoreCase c = Case({{Shape{2}, 1, 2}});
  Update update = MakeUpdate(
      "type: 'LAMB' momentum: 0.5 momentum2: 0.75 delta: 1 weight_decay: 0.1", &c.store());
  c.SetGradient(0, 0, 2);
  c.SetGradient(0, 1, 0);
  update.Run(0.05, 0, 1);
  const double d0 = 2. / 3 + 0.1, d1 = 0.1;
  const double step = 0.1 * std::sqrt(2) / std::hypot(d0, d1);
  const double w0 = 1 - step * d0, w1 = 1 - step * d1;
  EXPECT_NEAR(c.Value(0, 0), w0, 1e-7);
  EXPECT_NEAR(c.Value(0, 1), w1, 1e-7);
  // Now m = 1 / (1 - 0.25) and v = 1 / (1 - 0.5625).
  c.SetGradient(0, 0, 1);
  update.Run(0.05, 1, 1);
  const double e0 = 4. / 3 / (std::sqrt(16. / 7) + 1) + 0.1 * w0, e1 = 0.1 * w1;
  const double second = 0.1 * std::hypot(w0, w1) / std::hypot(e0, e1);
  EXPECT_NEAR(c.Value(0, 0), w0 - second * e0, 1e-7);
  EXPECT_NEAR(c.Value(0, 1), w1 - second * e1, 1e-7);
}

TEST_P(LocalRates, LambTakesTheRateAsItIsWhereANormIsZero) {
  ParamStoreCase c =
      Case({{Shape{3}, 0}, {Shape{3}, 1}, {Shape{3}, 4, 0}, {Shape{3}, 7, 1, 1, false, false}});
  Update update = MakeUpdate("type: 'LAMB' momentum: 0.5 momentum2: 0.75 delta: 1", &c.store());
  c.SetGradient(0, 2);
  c.SetGradient(2, 2);
  update.Run(0.3, 0, 1);
  EXPECT_NEAR(c.Value(0), -0.2, 1e-7);
  EXPECT_NEAR(c.Value(1), 1, 1e-12);
  EXPECT_NEAR(c.Value(2), 4, 1e-12);  // frozen
  EXPECT_NEAR(c.Value(3), 7, 1e-12);  // statistics
}

// Covers parameters larger than one chunk of any device, and sizes that are no multiple of a
// vector, in single precision. Updates all parameters at once, or one by one in backward's order.
TEST_P(LocalRates, SumOverWholeParameters) {
  for (const std::string solver :
       {"larc: true larc_eta: 0.5", "type: 'LAMB' momentum: 0.5 momentum2: 0.75 delta: 1"}) {
    for (bool one_by_one : {false, true}) {
      ParamStoreCase c = Case({{Shape{70001}, 0.5}, {Shape{3, 7}, -2}}, DType::kFloat32);
      Update update = MakeUpdate(solver, &c.store());
      c.SetGradient(0, 2);
      c.SetGradient(1, -4);
      if (one_by_one) {
        update.early().Begin(0.25, 0);
        update.early().Ready(1);
        update.early().Ready(0);
        update.early().Finish();
      } else {
        update.Run(0.25, 0, 1);
      }
      // All elements of a parameter are equal, so the norms cancel: the step is 0.25 * 0.5 * |w|
      // for LARC and 0.25 |w| for LAMB, against the gradient.
      const double part = solver[0] == 'l' ? 0.125 : 0.25;
      EXPECT_NEAR(c.Value(0, 0), 0.5 - part * 0.5, 1e-6) << solver;
      EXPECT_NEAR(c.Value(0, 70000), 0.5 - part * 0.5, 1e-6) << solver;
      EXPECT_NEAR(c.Value(1, 20), -2 + part * 2, 1e-6) << solver;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, LocalRates, testing::Values(+[] { return MakeCpuDevice(); }));
INSTANTIATE_TEST_SUITE_P(OnGpu, LocalRates, testing::Values(+[] { return TestGpu(); }));

std::string LocalRateMistake(const std::string& solver) {
  ParamStoreCase c({{Shape{1}, 1}});
  return Mistake([&] { MakeUpdate(solver, &c.store()); });
}

TEST(LocalRate, RefusesWhatItCannotUse) {
  EXPECT_NE(LocalRateMistake("larc: true local_lr_auto: true").find("keep one of them"),
            std::string::npos);
  EXPECT_NE(LocalRateMistake("larc: true larc_policy: 'clop'")
                .find("unknown larc_policy 'clop'; did you mean 'clip'?; known: scale, clip"),
            std::string::npos);
  EXPECT_NE(LocalRateMistake("larc: true larc_eta: 0").find("larc_eta is 0; it must be above 0"),
            std::string::npos);
  EXPECT_NE(LocalRateMistake("local_lr_auto: true local_gw_ratio: -1").find("local_gw_ratio is -1"),
            std::string::npos);
  EXPECT_NE(LocalRateMistake("type: 'LAMB' larc: true")
                .find("larc works with SGD and Nesterov, not with LAMB"),
            std::string::npos);
  EXPECT_NE(LocalRateMistake("type: 'SAG' local_lr_auto: true").find("not with SAG"),
            std::string::npos);
  EXPECT_NE(LocalRateMistake("type: 'Adam' momentum_policy: 'poly'")
                .find("momentum_policy works with SGD, Nesterov and SAG, not with Adam"),
            std::string::npos);
}

}  // namespace
}  // namespace doppio
