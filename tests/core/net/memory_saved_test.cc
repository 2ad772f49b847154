// Tests how much memory recomputing activations and offloading them to host memory save.
#include "tests/core/net/memory_saving_case.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

std::string Deep(int layers) {
  std::string text = kSavingInput + Conv("c0", "x", 8), bottom = "c0";
  for (int i = 1; i <= layers; ++i) {
    const std::string n = std::to_string(i);
    text += Layer("t" + n, "TanH", {bottom}, "t" + n) + Conv("c" + n, "t" + n, 8);
    bottom = "c" + n;
  }
  return text + Classifier(bottom);
}

SavingOutcome PlanOf(const std::string& text, const MemorySaving& saving) {
  const std::unique_ptr<Device> device = MakeCpuDevice();
  return RunSaving(text, {saving, false, true, "reference"}, device.get());
}

TEST(MemorySaving, NeedsAboutTheRootOfADeepNet) {
  // The net has 64 values of equal size. With 8 segments, 8 values cross segments and 8 are alive
  // within one. With gradients, labels and the rest, this is less than 24 values.
  const SavingOutcome plain = PlanOf(Deep(64), {}), saved = PlanOf(Deep(64), Segments(0));
  const int64_t value = 2 * 8 * 12 * 12 * 4;
  EXPECT_GE(plain.memory.activations, 64 * value);
  EXPECT_LE(saved.memory.activations, 24 * value);
  // Recomputation repeats forward at most once, for all but the last segment.
  EXPECT_GT(saved.saved.work_recomputed, 0.5);
  EXPECT_LT(saved.saved.work_recomputed, 1);
}

TEST(MemorySaving, DropsNothingOfTheLastSegment) {
  // With two segments, the second half of the net is not recomputed: 17 of 33 layers, counted in
  // pairs, and the classifier.
  const SavingOutcome saved = PlanOf(Deep(32), Segments(2));
  EXPECT_EQ(saved.saved.segments, 2);
  EXPECT_NEAR(saved.saved.work_recomputed, 0.5, 0.06);
}

TEST(MemorySaving, OffloadsNoMoreThanTheGivenMemoryAsksFor) {
  const std::string text = Deep(32);
  const SavingOutcome plain = PlanOf(text, {}), least = PlanOf(text, Offloading());
  MemorySaving saving = Offloading();
  saving.activation_bytes = (plain.memory.activations + least.memory.activations) / 2;
  const SavingOutcome half = PlanOf(text, saving);
  ExpectEqual(plain, half);
  EXPECT_LE(half.memory.activations, saving.activation_bytes);
  EXPECT_LT(half.saved.host_bytes, least.saved.host_bytes);
  EXPECT_GT(half.saved.host_bytes, 0);
  saving.activation_bytes = plain.memory.activations;
  EXPECT_EQ(PlanOf(text, saving).saved.host_bytes, 0) << "enough for all";
}

TEST(MemorySaving, SaysWhenTheGivenMemoryIsTooSmall) {
  MemorySaving saving = Offloading();
  saving.activation_bytes = 1;
  const std::string text = Mistake<UsageError>([&] { PlanOf(Deep(32), saving); });
  EXPECT_NE(text.find("even with all possible offloading, more than the 0 MiB"), std::string::npos)
      << text;
}

TEST(MemorySaving, LeavesSmallValuesWhereTheyAre) {
  MemorySaving saving = Offloading();
  saving.min_offloaded_bytes = MemorySaving().min_offloaded_bytes;
  const SavingOutcome saved = PlanOf(Deep(32), saving);
  EXPECT_EQ(saved.saved.host_bytes, 0);
  ASSERT_EQ(saved.notes.size(), 1u);
  EXPECT_NE(saved.notes[0].find("no activation is large and unused"), std::string::npos);
}

TEST(MemorySaving, SaysWhereComputingAgainSavesNothing) {
  const SavingOutcome saved = PlanOf(kSavingInput + Classifier("x"), Segments(0));
  EXPECT_EQ(saved.saved.layers_recomputed, 0);
  ASSERT_EQ(saved.notes.size(), 1u);
  EXPECT_NE(saved.notes[0].find("would save no memory"), std::string::npos);
}

}  // namespace
}  // namespace doppio
