#include "solvers/update/update.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <cstring>

#include "tests/solvers/param_store_case.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

// Checks the value of a parameter with one element, which starts at `start`, after an update with
// each of the gradients.
void ExpectValues(const std::string& solver, double rate, double start,
                  const std::vector<double>& gradients, const std::vector<double>& values,
                  DType dtype = DType::kFloat64) {
  ParamStoreCase c({{Shape{1}, start}}, dtype);
  Update update = MakeUpdate(solver, &c.store());
  for (size_t i = 0; i < gradients.size(); ++i) {
    c.SetGradient(0, gradients[i]);
    update.Run(rate, static_cast<int64_t>(i), 1);
    EXPECT_NEAR(c.Value(0), values[i], 1e-6) << solver << ", update " << i + 1;
  }
}

TEST(Update, SgdKeepsTheRateInItsHistory) {
  // The history is h = 0.1, 0.15, 0.175.
  ExpectValues("type: 'SGD' momentum: 0.5", 0.1, 1, {1, 1, 1}, {0.9, 0.75, 0.575});
  ExpectValues("type: 'SGD' momentum: 0.5", 0.1, 1, {1, 1, 1}, {0.9, 0.75, 0.575}, DType::kFloat32);
}

TEST(Update, SgdAfterARateChangeKeepsTheOldRateInItsHistory) {
  ParamStoreCase c({{Shape{1}, 1}});
  Update update = MakeUpdate("momentum: 0.5", &c.store());
  c.SetGradient(0, 1);
  update.Run(0.1, 0, 1);
  update.Run(0.01, 1, 1);  // h = 0.5 * 0.1 + 0.01
  EXPECT_NEAR(c.Value(0), 0.9 - 0.06, 1e-7);
}

TEST(Update, PutsItsStepsInTheGradientsPlaceForSnapshotDiff) {
  ParamCase aside{Shape{1}, 2};
  aside.gradient = false;
  ParamStoreCase c({{Shape{1}, 1}, aside});
  Update update = MakeUpdate("momentum: 0.5 weight_decay: 0.1 snapshot_diff: true", &c.store());
  const auto step = [&](int param) {
    return ReadTensor(c.store().param(param).grad, c.store().device()).data[0];
  };
  c.SetGradient(0, 2);
  update.Run(0.1, 0, 2);
  EXPECT_NEAR(step(0), 0.1 * (2. / 2 + 0.1 * 1), 1e-6);
  EXPECT_NEAR(step(1), 0.1 * (0.1 * 2), 1e-6);
  c.SetGradient(0, 4);
  update.Run(0.1, 1, 2);
  EXPECT_NEAR(step(0), 0.5 * 0.11 + 0.1 * (4. / 2 + 0.1 * 0.89), 1e-6);
  EXPECT_NEAR(step(1), 0.5 * 0.02 + 0.1 * (0.1 * 1.98), 1e-6);
  EXPECT_NEAR(c.Value(0), 0.89 - 0.2639, 1e-6);
}

TEST(Update, NesterovLooksAhead) {
  // The history is h = 0.1, 0.15, 0.175, and the steps 1.5 h' - 0.5 h are 0.15, 0.175, 0.1875.
  ExpectValues("type: 'Nesterov' momentum: 0.5", 0.1, 1, {1, 1, 1}, {0.85, 0.675, 0.4875});
}

TEST(Update, AdaGradSumsSquares) {
  // The history is h = 9, 25, 169, and the steps are 3/4, 4/6, 12/14.
  ExpectValues("type: 'AdaGrad' delta: 1", 1, 5, {3, 4, 12},
               {5 - 0.75, 5 - 0.75 - 2. / 3, 5 - 0.75 - 2. / 3 - 6. / 7});
}

TEST(Update, RmsPropAveragesSquares) {
  // The history is h = 0.25 g^2 + 0.75 h = 1, 1, 1, and the steps are 0.1 g / (1 + 1).
  ExpectValues("type: 'RMSProp' rms_decay: 0.75 delta: 1", 0.1, 1, {2, 1, -1}, {0.9, 0.85, 0.9});
}

TEST(Update, AdaDeltaScalesByPastSteps) {
  // h = 3, 6, 9 and d = g sqrt((1 + u) / (1 + h)), where u = 0, 0.75, 1.5 before each step.
  const double w1 = 10 - std::sqrt(6) / 2, w2 = w1 - 1.5, w3 = w2 - std::sqrt(3);
  ExpectValues("type: 'AdaDelta' momentum: 0.5 delta: 1", 1, 10, {std::sqrt(6), 3, std::sqrt(12)},
               {w1, w2, w3});
}

TEST(Update, AdamCorrectsItsBias) {
  // m = 1, 1, 1 and v = 1, 1, 1. The corrections are sqrt(1 - 0.75^t) / (1 - 0.5^t) from t = 1.
  const double w1 = 2 - 0.5, w2 = w1 - std::sqrt(0.4375) / 0.75 / 2,
               w3 = w2 - std::sqrt(0.578125) / 0.875 / 2;
  ExpectValues("type: 'Adam' momentum: 0.5 momentum2: 0.75 delta: 1", 1, 2, {2, 1, 1},
               {w1, w2, w3});
}

TEST(Update, SagKeepsNoRateInItsHistory) {
  // The history is h = 0.5, 0.75, 0.875.
  ExpectValues("type: 'SAG' momentum: 0.5", 0.1, 1, {1, 1, 1}, {0.95, 0.875, 0.7875});
}

TEST(Update, AdamWDecaysBesideItsDirection) {
  // m = 1, 1 and v = 1, 1. Without bias, m = 1 / 0.5, 1 / 0.75 and v = 1 / 0.25, 1 / 0.4375. The
  // directions are 2 / (2 + 1) and 4/3 / (sqrt(16 / 7) + 1).
  const double w1 = 2 - 0.5 * (2. / 3 + 0.1 * 2),
               w2 = w1 - 0.5 * (4. / 3 / (std::sqrt(16. / 7) + 1) + 0.1 * w1);
  ExpectValues("type: 'AdamW' momentum: 0.5 momentum2: 0.75 delta: 1 weight_decay: 0.1", 0.5, 2,
               {2, 1}, {w1, w2});
}

TEST(Update, AdamWDecaysWithBothMultipliers) {
  // The rate is 0.25 * 2 and the decay 0.1 * 3. L1 decays by the sign. Zero gradients cause no
  // other change.
  ParamStoreCase c({{Shape{1}, -4, 2, 3}, {Shape{1}, -4, 2, 0}, {Shape{1}, -4, 0, 3}});
  Update l2 = MakeUpdate("type: 'AdamW' weight_decay: 0.1", &c.store());
  l2.Run(0.25, 0, 1);
  EXPECT_NEAR(c.Value(0), -4 + 0.15 * 4, 1e-6);
  EXPECT_DOUBLE_EQ(c.Value(1), -4);
  EXPECT_DOUBLE_EQ(c.Value(2), -4);
  Update l1 = MakeUpdate("type: 'AdamW' weight_decay: 0.1 regularization_type: 'L1'", &c.store());
  l1.Run(0.25, 0, 1);
  EXPECT_NEAR(c.Value(0), -3.4 + 0.15, 1e-6);
}

TEST(Update, LionStepsByTheSign) {
  // The directions have the signs of 0.5 m + 0.5 g: 0 + 1, 0.25 - 0.25 and 0.125 - 0.5, where m is
  // 0, 0.5 and 0.25.
  const double w1 = 2 - 0.5 * (1 + 0.1 * 2), w2 = w1 - 0.5 * (0 + 0.1 * w1),
               w3 = w2 - 0.5 * (-1 + 0.1 * w2);
  ExpectValues("type: 'Lion' momentum: 0.5 momentum2: 0.75 weight_decay: 0.1", 0.5, 2,
               {2, -0.5, -1}, {w1, w2, w3});
}

TEST(Update, FollowsThePoliciesOfMomentumAndDecay) {
  // The momenta are 0.5 and 0.7, and the decays 0 and 0.25: h = 0.1, and then 0.07 + 0.1 (1 + 0.25
  // * 0.9).
  ParamStoreCase c({{Shape{1}, 1}});
  Update update = MakeUpdate(
      "max_iter: 4 momentum: 0.5 momentum_policy: 'poly' max_momentum: 0.9 momentum_power: 1 "
      "weight_decay: 0.5 weight_decay_policy: 'poly' weight_decay_power: 1",
      &c.store());
  c.SetGradient(0, 1);
  update.Run(0.1, 0, 1);
  EXPECT_NEAR(c.Value(0), 0.9, 1e-6);
  update.Run(0.1, 2, 1);
  EXPECT_NEAR(c.Value(0), 0.9 - 0.1925, 1e-6);
}

TEST(Update, CorrectsTheMomentumOfSgdWhileTheRateWarmsUp) {
  // The rates are 0.1 and 0.2. SGD rescales the history of rate 0.1 to rate 0.2; Nesterov does not.
  for (const std::string rule : {"SGD", "Nesterov"}) {
    ParamStoreCase c({{Shape{1}, 1}});
    Update update = MakeUpdate("type: '" + rule +
                                   "' base_lr: 0.5 momentum: 0.5 warmup_iter: 4 "
                                   "warmup_start_lr: 0.1",
                               &c.store());
    c.SetGradient(0, 1);
    update.Run(0.1, 0, 1);
    update.Run(0.2, 1, 1);
    if (rule == "SGD") {
      EXPECT_NEAR(c.Value(0), 0.9 - 0.3, 1e-6);
    }
  }
}

TEST(Update, DecaysWeightsWithBothMultipliers) {
  // The rate is 0.5 * 2 = 1, and the decay is 0.1 * 2 = 0.2.
  ParamStoreCase c({{Shape{1}, 1, 2, 2}});
  Update update = MakeUpdate("weight_decay: 0.1", &c.store());
  c.SetGradient(0, 1);
  for (double value : {-0.2, -1.16, -1.928}) {
    update.Run(0.5, 0, 1);
    EXPECT_NEAR(c.Value(0), value, 1e-6);
  }
}

TEST(Update, L1DecaysByTheSign) {
  ExpectValues("weight_decay: 0.25 regularization_type: 'L1'", 1, 0.5, {0, 0, 0, 0.25, 0},
               {0.25, 0, 0, -0.25, 0});
}

TEST(Update, ClipsTheSumThenDividesThenDecays) {
  // The norm over both parameters is 5, and clipping to 1 gives a factor of 1/5. With iter_size 2
  // the factor is 1/10. The decay of 0.5 is added after that.
  ParamStoreCase c({{Shape{1}, 1}, {Shape{1}, 1}});
  Update update = MakeUpdate("clip_gradients: 1 weight_decay: 0.5", &c.store());
  c.SetGradient(0, 3);
  c.SetGradient(1, 4);
  update.Run(1, 0, 2);
  EXPECT_NEAR(c.Value(0), 1 - (0.3 + 0.5), 1e-12);
  EXPECT_NEAR(c.Value(1), 1 - (0.4 + 0.5), 1e-12);
  EXPECT_NEAR(update.scale().norm(), 5, 1e-12);
  EXPECT_NEAR(update.scale().clip_scale(), 0.2, 1e-12);
}

TEST(Update, LeavesGradientsWithinTheLimitAlone) {
  ParamStoreCase c({{Shape{4}, 1}});
  Update update = MakeUpdate("clip_gradients: 2", &c.store());
  c.SetGradient(0, 1);  // norm 2
  update.Run(0.25, 0, 1);
  EXPECT_DOUBLE_EQ(c.Value(0, 3), 0.75);
  EXPECT_DOUBLE_EQ(update.scale().clip_scale(), 1);
}

TEST(Update, ParametersWithoutGradientOnlyDecay) {
  ParamStoreCase c({{Shape{2}, 1, 1, 1, true, false}, {Shape{2}, 1, 1, 0, true, false}});
  Update update = MakeUpdate("weight_decay: 0.5", &c.store());
  update.Run(0.5, 0, 1);
  EXPECT_DOUBLE_EQ(c.Value(0), 0.75);
  EXPECT_DOUBLE_EQ(c.Value(1), 1);
}

TEST(Update, StatisticsAndFrozenParametersStay) {
  ParamStoreCase c({{Shape{3}, 7, 1, 1, false, false}, {Shape{3}, 5, 0, 1}});
  Update update = MakeUpdate("type: 'Adam' momentum: 0.9 weight_decay: 0.5", &c.store());
  c.SetGradient(1, 2);
  for (int i = 0; i < 3; ++i) update.Run(0.5, i, 1);
  EXPECT_DOUBLE_EQ(c.Value(0), 7);
  EXPECT_DOUBLE_EQ(c.Value(1), 5);
  EXPECT_EQ(ReadHistory(update, c.store().device()).size(), 4u);
}

TEST(Update, NamesTheParameterThatIsNoLongerFinite) {
  for (double gradient : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    ParamStoreCase c({{Shape{3}, 1}, {Shape{70000}, 1}});
    Update update = MakeUpdate("", &c.store());
    update.Run(0.1, 0, 1);
    EXPECT_EQ(update.passes().NonFiniteParam(), std::nullopt);
    c.SetGradient(1, gradient);
    update.Run(0.1, 1, 1);
    EXPECT_EQ(update.passes().NonFiniteParam(), 1);
  }
}

TEST(Update, ExportsAllFirstSlotsThenAllSecondOnes) {
  ParamStoreCase c({{Shape{2, 3}, 1}, {Shape{2}, 1}});
  Update update = MakeUpdate("type: 'Adam' momentum: 0.5 momentum2: 0.75", &c.store());
  c.SetGradient(0, 2);
  c.SetGradient(1, 4);
  update.Run(1, 0, 1);
  const std::vector<PlainBlob> blobs = ReadHistory(update, c.store().device());
  ASSERT_EQ(blobs.size(), 4u);
  EXPECT_EQ(blobs[0].shape, (Shape{2, 3}));
  EXPECT_EQ(blobs[1].shape, (Shape{2}));
  EXPECT_FLOAT_EQ(blobs[0].data[5], 1);  // 0.5 g
  EXPECT_FLOAT_EQ(blobs[1].data[1], 2);
  EXPECT_FLOAT_EQ(blobs[2].data[5], 1);  // 0.25 g^2
  EXPECT_FLOAT_EQ(blobs[3].data[1], 4);
}

TEST(Update, GoesOnFromImportedHistory) {
  // The numbers are those of SgdKeepsTheRateInItsHistory, interrupted after the first update.
  ParamStoreCase c({{Shape{1}, 0.9}});
  Update update = MakeUpdate("momentum: 0.5", &c.store());
  update.history().Import({{Shape{1, 1, 1, 1}, {0.1f}}}, "a.solverstate");
  c.SetGradient(0, 1);
  update.Run(0.1, 1, 1);
  EXPECT_NEAR(c.Value(0), 0.75, 1e-6);
  update.Run(0.1, 2, 1);
  EXPECT_NEAR(c.Value(0), 0.575, 1e-6);
}

TEST(Update, RefusesTheHistoryOfAnotherNetOrRule) {
  ParamStoreCase c({{Shape{2}, 1}, {Shape{3}, 1}});
  Update update = MakeUpdate("momentum: 0.5", &c.store());
  const auto mistake = [&](const std::vector<PlainBlob>& blobs) {
    return Mistake<FileError>([&] { update.history().Import(blobs, "a.solverstate"); });
  };
  EXPECT_NE(
      mistake({{Shape{2}, {1, 1}}}).find("a.solverstate holds 1 history blobs, but SGD keeps 2"),
      std::string::npos);
  EXPECT_NE(mistake({{Shape{2}, {1, 1}}, {Shape{2}, {1, 1}}})
                .find("history blob 1 has 2 elements, but parameter 0 of layer 'b' is 3"),
            std::string::npos);
}

// Returns parameters larger than one thread's chunk, with odd sizes and several multipliers.
std::vector<ParamCase> ManyParams() {
  return {
      {Shape{70001}, 0.5}, {Shape{3, 7}, -1, 2, 0}, {Shape{1}, 2}, {Shape{33000}, 0.25, 0.5, 3}};
}

std::vector<float> ValuesWith(const std::string& solver, int threads) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);
  ParamStoreCase c(ManyParams(), DType::kFloat32);
  Update update = MakeUpdate(solver, &c.store());
  for (int step = 0; step < 3; ++step) {
    for (int p = 0; p < 4; ++p) {
      const Tensor& grad = c.store().param(p).grad;
      for (int64_t i = 0; i < grad.count(); ++i) {
        grad.data<float>()[i] = std::sin(static_cast<float>(i + p + 10 * step));
      }
    }
    update.Run(0.01, step, 2);
  }
  omp_set_num_threads(before);
  const Tensor values = c.store().arenas().values();
  return std::vector<float>(values.data<float>(), values.data<float>() + values.count());
}

TEST(Update, BytesDoNotDependOnTheNumberOfThreads) {
  for (const std::string solver :
       {"type: 'Adam' momentum: 0.9 weight_decay: 0.01 clip_gradients: 3",
        "type: 'LAMB' momentum: 0.9 weight_decay: 0.01", "momentum: 0.9 larc: true"}) {
    const std::vector<float> one = ValuesWith(solver, 1), three = ValuesWith(solver, 3);
    ASSERT_EQ(one.size(), three.size());
    EXPECT_EQ(std::memcmp(one.data(), three.data(), one.size() * sizeof(float)), 0) << solver;
  }
}

TEST(Update, ReachesEveryElementOnceAndNoGap) {
  ParamStoreCase c(ManyParams());
  Update update = MakeUpdate("weight_decay: 0.5", &c.store());
  for (int p = 0; p < 4; ++p) c.SetGradient(p, 1);
  update.Run(0.5, 0, 1);
  std::vector<bool> used(static_cast<size_t>(c.store().arenas()[0].size), false);
  for (int p = 0; p < 4; ++p) {
    const ParamCase given = ManyParams()[static_cast<size_t>(p)];
    const double expected =
        given.value - 0.5 * given.lr_mult * (1 + 0.5 * given.decay_mult * given.value);
    const Param& param = c.store().param(p);
    for (int64_t i = 0; i < param.value.count(); ++i) {
      ASSERT_NEAR(c.Value(p, i), expected, 1e-7) << "parameter " << p << ", element " << i;
      used[static_cast<size_t>(param.offset + i)] = true;
    }
  }
  for (int64_t i = 0; i < c.store().arenas()[0].size; ++i) {
    if (used[static_cast<size_t>(i)]) continue;
    ASSERT_EQ(c.store().arenas().values().data<double>()[i], 0) << "gap at " << i;
  }
}

std::string RuleMistake(const std::string& solver) {
  ParamStoreCase c({{Shape{1}, 1}});
  return Mistake([&] { MakeUpdate(solver, &c.store()); });
}

TEST(Update, RefusesWhatARuleCannotUse) {
  EXPECT_NE(RuleMistake("type: 'RMSProp'\nrms_decay: 1.5").find("solver.prototxt:2:"),
            std::string::npos);
  EXPECT_NE(RuleMistake("type: 'RMSProp' rms_decay: 1.5").find("rms_decay is 1.5; it must be"),
            std::string::npos);
  EXPECT_NE(RuleMistake("type: 'AdaGrad' momentum: 0.9")
                .find("AdaGrad has no momentum, but momentum is 0.9"),
            std::string::npos);
  EXPECT_NE(RuleMistake("type: 'RMSProp' momentum: 0.9").find("RMSProp has no momentum"),
            std::string::npos);
  EXPECT_NE(RuleMistake("type: 'Adam' delta: 0").find("delta is 0; it must be above 0"),
            std::string::npos);
  for (const std::string rule : {"Adam", "AdamW", "LAMB"}) {
    EXPECT_NE(RuleMistake("type: '" + rule + "' momentum: 1").find("momentum is 1; it must be"),
              std::string::npos);
  }
  EXPECT_NE(RuleMistake("type: 'LAMB' delta: 0").find("delta is 0; it must be above 0"),
            std::string::npos);
  EXPECT_NE(RuleMistake("regularization_type: 'elastic'")
                .find("unknown regularization_type 'elastic'; known: L1, L2"),
            std::string::npos);
  EXPECT_NE(RuleMistake("type: 'Adamm'").find("unknown solver type 'Adamm'; did you mean 'Adam'?"),
            std::string::npos);
}

}  // namespace
}  // namespace doppio
