#include "solvers/update/loss_scaler.h"

#include <gtest/gtest.h>

#include "tests/testing/mistake.h"

namespace doppio {
namespace {

LossScaling Small() {
  LossScaling scaling;
  scaling.dynamic = true;
  scaling.scale = 8;
  scaling.patience = 3;
  scaling.max_scale = 16;
  return scaling;
}

TEST(LossScaler, IsOffUnlessAskedFor) {
  const LossScaler scaler;
  EXPECT_EQ(scaler.scale(), 1);
  EXPECT_FALSE(scaler.dynamic());
  EXPECT_TRUE(scaler.scaling().off());
}

TEST(LossScaler, HalvesAndSkipsOnAnOverflow) {
  LossScaler scaler(Small());
  EXPECT_FALSE(scaler.Update(false));
  EXPECT_EQ(scaler.scale(), 4);
  EXPECT_FALSE(scaler.Update(false));
  EXPECT_EQ(scaler.scale(), 2);
  EXPECT_EQ(scaler.skipped(), 2);
  EXPECT_TRUE(scaler.Update(true));
  EXPECT_EQ(scaler.scale(), 2);
}

TEST(LossScaler, DoublesAfterItsPatienceInARow) {
  LossScaler scaler(Small());
  EXPECT_TRUE(scaler.Update(true));
  EXPECT_TRUE(scaler.Update(true));
  EXPECT_EQ(scaler.scale(), 8);
  EXPECT_FALSE(scaler.Update(false));  // resets the count
  EXPECT_TRUE(scaler.Update(true));
  EXPECT_TRUE(scaler.Update(true));
  EXPECT_EQ(scaler.scale(), 4);
  EXPECT_TRUE(scaler.Update(true));
  EXPECT_EQ(scaler.scale(), 8);
  EXPECT_TRUE(scaler.Update(true));
  EXPECT_EQ(scaler.scale(), 8);
}

TEST(LossScaler, StaysWithinItsLimits) {
  LossScaler scaler(Small());
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(scaler.Update(true));
  EXPECT_EQ(scaler.scale(), 16);
  for (float scale : {8, 4, 2, 1}) {
    EXPECT_FALSE(scaler.Update(false));
    EXPECT_EQ(scaler.scale(), scale);
  }
  EXPECT_TRUE(scaler.Update(false)) << "no smaller scale can help";
  EXPECT_EQ(scaler.scale(), 1);
  EXPECT_EQ(scaler.skipped(), 4);
}

TEST(LossScaler, MeetsItsLimitsFromAnyNumber) {
  LossScaling scaling = Small();
  scaling.scale = 5;
  LossScaler scaler(scaling);
  for (int i = 0; i < 6; ++i) scaler.Update(true);
  EXPECT_EQ(scaler.scale(), 16);
  scaling.scale = 1.5;
  LossScaler low(scaling);
  EXPECT_FALSE(low.Update(false));
  EXPECT_EQ(low.scale(), 1);
}

TEST(LossScaler, StartsAsThePaperDoes) {
  LossScaler scaler(DynamicLossScaling());
  EXPECT_EQ(scaler.scale(), 65536);
  for (int i = 0; i < 1999; ++i) scaler.Update(true);
  EXPECT_EQ(scaler.scale(), 65536);
  scaler.Update(true);
  EXPECT_EQ(scaler.scale(), 131072);
}

TEST(LossScaler, GoesOnFromItsState) {
  LossScaler scaler(Small());
  scaler.Update(false);
  scaler.Update(true);
  scaler.Update(true);
  RunState state;
  scaler.Save(&state);
  LossScaler resumed(Small());
  resumed.Restore(state);
  EXPECT_EQ(resumed.scale(), 4);
  EXPECT_EQ(resumed.skipped(), 1);
  resumed.Update(true);
  EXPECT_EQ(resumed.scale(), 8);
}

TEST(LossScaler, IgnoresAStateThatIsNotItsOwn) {
  LossScaler scaler(Small());
  scaler.Restore(RunState());
  EXPECT_EQ(scaler.scale(), 8);
  RunState high;
  high.set_loss_scale(1024);
  scaler.Restore(high);
  EXPECT_EQ(scaler.scale(), 16);
  LossScaling fixed;
  fixed.scale = 128;
  LossScaler without(fixed);
  without.Restore(high);
  EXPECT_EQ(without.scale(), 128);
  RunState state;
  without.Save(&state);
  EXPECT_FALSE(state.has_loss_scale());
}

TEST(DefaultLossScaling, IsDynamicForHalfPrecisionOnly) {
  EXPECT_TRUE(DefaultLossScaling(DType::kFloat16).dynamic);
  EXPECT_TRUE(DefaultLossScaling(DType::kFloat32).off());
  EXPECT_TRUE(DefaultLossScaling(DType::kBFloat16).off());
}

TEST(ParseLossScaling, TakesWordsAndNumbers) {
  EXPECT_EQ(ParseLossScaling("loss_scale", "auto"), std::nullopt);
  EXPECT_TRUE(ParseLossScaling("loss_scale", "dynamic")->dynamic);
  EXPECT_EQ(ParseLossScaling("loss_scale", "1e3")->scale, 1000);
  EXPECT_FALSE(ParseLossScaling("loss_scale", "1e3")->dynamic);
  EXPECT_TRUE(ParseLossScaling("loss_scale", "1")->off());
  for (const std::string bad : {"", "dynamik", "0", "-2", "nan", "inf", "1e9", "12x", "1e-45"}) {
    EXPECT_EQ(Mistake<UsageError>([&] { ParseLossScaling("loss_scale", bad); }),
              "--loss_scale must be auto, dynamic or a number above 0 and at most 16777216, got '" +
                  bad + "'");
  }
}

std::optional<LossScaling> OfNet(const std::string& text) {
  NetParameter net;
  const FieldPlaces places = ParseText(text, "net.prototxt", &net);
  return LossScalingOf(net, places);
}

TEST(LossScalingOf, ReadsTheFieldsOfNvcaffe) {
  EXPECT_EQ(OfNet("name: 'n'"), std::nullopt);
  EXPECT_EQ(OfNet("global_grad_scale: 128")->scale, 128);
  EXPECT_FALSE(OfNet("global_grad_scale: 128")->dynamic);
  EXPECT_EQ(OfNet("global_grad_scale_adaptive: true")->scale, 65536);
  EXPECT_EQ(OfNet("global_grad_scale: 4 global_grad_scale_adaptive: true")->scale, 4);
  EXPECT_TRUE(OfNet("global_grad_scale: 4 global_grad_scale_adaptive: true")->dynamic);
  EXPECT_TRUE(OfNet("global_grad_scale: 1")->off());
}

TEST(LossScalingOf, RefusesWhatIsNoScale) {
  EXPECT_EQ(Mistake<UserError>([] { OfNet("name: 'n'\n global_grad_scale: -1"); }),
            "net.prototxt:2:2: global_grad_scale is -1; it must be above 0 and at most 16777216");
  EXPECT_EQ(
      Mistake<UserError>([] { OfNet("global_grad_scale: 0.5 global_grad_scale_adaptive: true"); }),
      "net.prototxt:1:1: global_grad_scale is 0.5; it must be from 1 to 16777216 with "
      "global_grad_scale_adaptive");
  EXPECT_EQ(OfNet("global_grad_scale: 0.5")->scale, 0.5);
}

}  // namespace
}  // namespace doppio
