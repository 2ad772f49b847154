#include "tools/init/plan_minutes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace doppio {
namespace {

using testing::HasSubstr;

ImageFacts Photos(int64_t train, int side = 400) {
  ImageFacts facts;
  facts.channels = 3;
  facts.short_side = side;
  facts.classes = 2;
  facts.train = train;
  facts.test = train / 4;
  facts.means = {1, 2, 3};
  return facts;
}

// Returns a machine on which resnet18 takes `seconds` for an image of 224x224 pixels, and resnet20
// a tenth of that for one of 64x64. A test takes a third, reading `read`.
PlanMeasure Machine(double seconds, double read = 0) {
  return [=](const InitPlan& plan) {
    const double side = plan.input.height;
    const double all =
        plan.net.name == "resnet18" ? side * side / 224 / 224 : side * side / 64 / 64 / 10;
    return ImageSeconds{all * seconds, all * seconds / 3, read};
  };
}

std::string Chosen(const TimedPlan& timed) {
  return timed.plan.net.name + " " + std::to_string(timed.plan.input.height) + " " +
         std::to_string(timed.plan.epochs);
}

TEST(PlanMinutes, KeepsTheUsualPlanIfThatIsFast) {
  const TimedPlan timed = ChoosePlan(0, Photos(400), {}, Machine(0.01));
  EXPECT_EQ("resnet18 224 100", Chosen(timed));
  // 400 images in 100 epochs, and 100 images in 25 tests: every 4 epochs are 50 iterations of 32.
  EXPECT_NEAR(400 * 100 * 0.01 + 100 * 25 * 0.01 / 3, timed.seconds, 1e-6);
  EXPECT_EQ("", timed.faster);
}

TEST(PlanMinutes, TakesFewerEpochsThenSmallerInputsThenASmallerNet) {
  EXPECT_EQ("resnet18 224 73", Chosen(ChoosePlan(0, Photos(400), {}, Machine(0.02))));
  EXPECT_EQ("resnet18 112 100", Chosen(ChoosePlan(0, Photos(400), {}, Machine(0.05))));
  const TimedPlan small = ChoosePlan(0, Photos(400), {}, Machine(0.14));
  EXPECT_EQ("resnet20 64 100", Chosen(small));
  EXPECT_THAT(small.plan.why, HasSubstr("resnet18 for 3x224x224 would take about 1 h 35 min"));
  EXPECT_EQ("resnet20 64 60", Chosen(ChoosePlan(0, Photos(400), {}, Machine(0.25))));
  EXPECT_EQ("resnet20 48 79", Chosen(ChoosePlan(0, Photos(400), {}, Machine(0.33))));
  EXPECT_EQ("resnet20 32 100", Chosen(ChoosePlan(0, Photos(400), {}, Machine(0.5))));
  const TimedPlan slow = ChoosePlan(0, Photos(400), {}, Machine(20));
  EXPECT_EQ("resnet20 32 30", Chosen(slow));
  EXPECT_GT(slow.seconds, 600);
  for (const double speed : {0.02, 0.05, 0.14, 0.25, 0.5}) {
    EXPECT_LE(ChoosePlan(0, Photos(400), {}, Machine(speed)).seconds, 1.05 * 600) << speed;
  }
}

TEST(PlanMinutes, CountsTheTimeOfReading) {
  const TimedPlan timed = ChoosePlan(0, Photos(400), {}, Machine(0.0001, 0.03));
  EXPECT_EQ("resnet20 32 47", Chosen(timed));
  EXPECT_LE(timed.seconds, 1.05 * 600);
}

TEST(PlanMinutes, LimitsMoreImagesOnlyOnRequest) {
  const TimedPlan open = ChoosePlan(0, Photos(4000), {}, Machine(0.02));
  EXPECT_EQ("resnet18 224 100", Chosen(open));
  EXPECT_THAT(open.faster, testing::StartsWith("--net=resnet20 --size=64 --epochs=69 takes"));
  EXPECT_THAT(open.faster, HasSubstr(" takes about 10 min"));
  const TimedPlan limited = ChoosePlan(10, Photos(4000), {}, Machine(0.02));
  EXPECT_EQ("resnet20 64 69", Chosen(limited));
  EXPECT_EQ("", limited.faster);
  EXPECT_EQ("resnet18 224 100", Chosen(ChoosePlan(1000, Photos(4000), {}, Machine(0.02))));
}

TEST(PlanMinutes, KeepsWhatTheUserFixes) {
  InitWishes wishes;
  wishes.epochs = 100;
  EXPECT_EQ("resnet18 112 100", Chosen(ChoosePlan(0, Photos(400), wishes, Machine(0.02))));
  wishes = {};
  wishes.net = "resnet18";
  const TimedPlan net = ChoosePlan(0, Photos(400), wishes, Machine(0.2));
  EXPECT_EQ("resnet18 224 30", Chosen(net));
  EXPECT_THAT(net.faster, testing::StartsWith("--net=resnet20 --size=64 --epochs=73"));
  wishes.size = 100;
  EXPECT_EQ("resnet18 100", Chosen(ChoosePlan(0, Photos(400), wishes, Machine(0.2))).substr(0, 12));
}

TEST(PlanMinutes, MeasuresEachNetOnce) {
  std::vector<std::string> measured;
  const PlanMeasure machine = Machine(0.5);
  ChoosePlan(0, Photos(4000), {}, [&](const InitPlan& plan) {
    measured.push_back(plan.net.name + std::to_string(plan.input.height));
    return machine(plan);
  });
  EXPECT_THAT(measured, testing::ElementsAre("resnet18224", "resnet18112", "resnet2064",
                                             "resnet2048", "resnet2032"));
}

TEST(PlanMinutes, RoundsTimes) {
  EXPECT_EQ("about 1 s", AboutText(0.2));
  EXPECT_EQ("about 40 s", AboutText(40));
  EXPECT_EQ("about 2 min", AboutText(91));
  EXPECT_EQ("about 1 h 10 min", AboutText(4200));
}

}  // namespace
}  // namespace doppio
