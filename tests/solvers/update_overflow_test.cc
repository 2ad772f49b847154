// Tests how updates treat non-finite gradients and values, and that they remove the loss scale, on
// every device.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/solvers/param_store_case.h"
#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

using MakeDevice = std::unique_ptr<Device> (*)();

class UpdateOverflow : public testing::TestWithParam<MakeDevice> {
 protected:
  void SetUp() override {
    if (OnGpu() && !HasTestGpu()) GTEST_SKIP() << kNoTestGpu;
  }
  static ParamStoreCase Case(const std::vector<ParamCase>& cases) {
    return ParamStoreCase(cases, DType::kFloat32, GetParam()());
  }
};

// Returns parameters larger than one chunk of any device, with sizes that are no multiple of a
// vector.
std::vector<ParamCase> TwoParams() { return {{Shape{70001}, 1}, {Shape{3, 7}, 2}}; }

TEST_P(UpdateOverflow, FindsOneGradientWhereverItIs) {
  for (const std::string clip : {"", "clip_gradients: 1"}) {
    for (double value : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
      for (auto [param, element] :
           {std::pair<int, int64_t>{0, 0}, {0, 40000}, {0, 70000}, {1, 0}, {1, 20}}) {
        ParamStoreCase c = Case(TwoParams());
        Update update = MakeUpdate(clip, &c.store());
        c.SetGradient(0, 5, 3e38);
        c.SetGradient(1, 5, -3e38);
        EXPECT_TRUE(update.GradientsFinite());
        c.SetGradient(param, element, value);
        EXPECT_FALSE(update.GradientsFinite()) << value << " at " << param << ", " << element;
      }
    }
  }
}

TEST_P(UpdateOverflow, LooksAtNoGradientThatIsNotThere) {
  ParamStoreCase c = Case({{Shape{3}, 1}, {Shape{5}, 1, 1, 1, true, false}});
  Update update = MakeUpdate("", &c.store());
  c.SetGradient(1, HUGE_VAL);
  EXPECT_TRUE(update.GradientsFinite());
}

TEST_P(UpdateOverflow, ClipsByTheNormThatItFoundAndNotByAnOldOne) {
  ParamStoreCase c = Case({{Shape{1}, 1}, {Shape{1}, 1}});
  Update update = MakeUpdate("clip_gradients: 1", &c.store());
  for (double size : {8.0, 16.0}) {  // norms 40 and 80; without the loss scale 10 and 20
    c.SetGradient(0, 3 * size);
    c.SetGradient(1, 4 * size);
    update.scale().set_loss_scale(4);
    ASSERT_TRUE(update.GradientsFinite());
    update.Run(0, 0, 1);
    EXPECT_DOUBLE_EQ(update.scale().norm(), 5 * size / 4);
    EXPECT_DOUBLE_EQ(update.scale().clip_scale(), 4 / (5 * size));
  }
  c.SetGradient(0, 6);
  c.SetGradient(1, 8);
  update.Run(0, 0, 1);
  EXPECT_DOUBLE_EQ(update.scale().norm(), 2.5);
  c.SetGradient(0, HUGE_VAL);
  EXPECT_FALSE(update.GradientsFinite());
  c.SetGradient(0, 6);
  update.Run(0, 0, 1);
  EXPECT_DOUBLE_EQ(update.scale().norm(), 2.5);
}

TEST_P(UpdateOverflow, TakesTheLossScaleOut) {
  // The gradient is 6 / 8 / iter_size 3 = 0.25, and the decay is 0.5: 1 - 0.5 (0.25 + 0.5).
  ParamStoreCase c = Case({{Shape{5}, 1}});
  Update update = MakeUpdate("weight_decay: 0.5", &c.store());
  update.scale().set_loss_scale(8);
  c.SetGradient(0, 6);
  update.Run(0.5, 0, 3);
  EXPECT_FLOAT_EQ(static_cast<float>(c.Value(0, 4)), 0.625f);
  // An update of single parameters also removes the scale: 0.625 - 0.5 (0.75 + 0.3125).
  update.early().Begin(0.5, 1);
  update.early().Ready(0);
  update.early().Finish();
  EXPECT_FLOAT_EQ(static_cast<float>(c.Value(0, 4)), 0.09375f);
}

TEST_P(UpdateOverflow, NamesTheFirstParameterThatIsLost) {
  for (double gradient : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    for (int64_t element : {int64_t{0}, int64_t{40000}, int64_t{70000}}) {
      ParamStoreCase c = Case({{Shape{70001}, 1}, {Shape{3}, 1}, {Shape{70001}, 1}});
      Update update = MakeUpdate("type: 'Adam' momentum: 0.9", &c.store());
      update.Run(0.1, 0, 1);
      c.store().device()->Synchronize();
      EXPECT_EQ(update.passes().NonFiniteParam(), std::nullopt);
      c.SetGradient(0, element, gradient);
      update.Run(0.1, 1, 1);
      c.store().device()->Synchronize();
      EXPECT_EQ(update.passes().NonFiniteParam(), 0) << gradient << " at " << element;
      // The arena is in backward's order, so parameter 2 comes first. A later run must not clear
      // it.
      c.SetGradient(2, element, gradient);
      c.SetGradient(0, element, 0);
      update.Run(0.1, 2, 1);
      c.store().device()->Synchronize();
      EXPECT_EQ(update.passes().NonFiniteParam(), 2);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, UpdateOverflow, testing::Values(+[] { return MakeCpuDevice(); }));
INSTANTIATE_TEST_SUITE_P(OnGpu, UpdateOverflow, testing::Values(+[] { return TestGpu(); }));

}  // namespace
}  // namespace doppio
