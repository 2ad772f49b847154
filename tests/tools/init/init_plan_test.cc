#include "tools/init/init_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"

namespace doppio {
namespace {

ImageFacts Facts(int channels, int height, int width, int64_t images = 10'000) {
  ImageFacts facts;
  facts.channels = channels;
  facts.height = height;
  facts.width = width;
  facts.short_side = std::min(height, width);
  facts.classes = 10;
  facts.train = images;
  facts.test = images / 4;
  facts.means.assign(static_cast<size_t>(channels), 100.0);
  return facts;
}

ImageFacts OfSeveralSizes(int channels, int short_side) {
  ImageFacts facts = Facts(channels, short_side, short_side);
  facts.height = facts.width = 0;
  return facts;
}

std::string InputOf(const ImageFacts& facts, const InitWishes& wishes = {}) {
  return MakePlan(facts, wishes).input.ToString();
}

TEST(InitPlan, TakesTheNetThatFitsTheImages) {
  EXPECT_EQ("lenet", MakePlan(Facts(1, 28, 28), {}).net.name);
  EXPECT_EQ("resnet20", MakePlan(Facts(1, 48, 48), {}).net.name);
  EXPECT_EQ("resnet20", MakePlan(Facts(3, 32, 32), {}).net.name);
  EXPECT_EQ("resnet18", MakePlan(Facts(3, 480, 640), {}).net.name);
  EXPECT_EQ("vgg16", MakePlan(Facts(1, 28, 28), {"vgg16"}).net.name);
  EXPECT_THROW(MakePlan(Facts(1, 28, 28), {"nothing"}), UsageError);
}

TEST(InitPlan, KeepsSmallImagesOfOneSizeAsTheyAre) {
  const InitPlan plan = MakePlan(Facts(3, 32, 40), {});
  EXPECT_EQ("3x32x40", plan.input.ToString());
  EXPECT_EQ(0, plan.resize_height);
  EXPECT_FALSE(plan.crop);
  EXPECT_EQ("3x28x28", InputOf(Facts(3, 8, 8)));
  EXPECT_EQ("1x36x36", InputOf(OfSeveralSizes(1, 36)));
}

TEST(InitPlan, CutsPhotosOutOfLargerOnes) {
  const InitPlan photos = MakePlan(OfSeveralSizes(3, 400), {});
  EXPECT_EQ("3x224x224", photos.input.ToString());
  EXPECT_EQ(256, photos.resize_height);
  const InitPlan fit = MakePlan(Facts(3, 256, 256), {});
  EXPECT_TRUE(fit.crop);
  EXPECT_EQ(0, fit.resize_height);
  EXPECT_EQ("3x112x112", InputOf(OfSeveralSizes(3, 100)));
  EXPECT_EQ("3x96x96", InputOf(OfSeveralSizes(3, 400), {"", 96}));
}

TEST(InitPlan, FitsBatchAndEpochsToTheNumberOfImages) {
  const InitPlan large = MakePlan(Facts(1, 28, 28, 60'000), {});
  EXPECT_EQ(64, large.batch);
  EXPECT_EQ(20, large.epochs);
  EXPECT_EQ(20 * 60'000 / 64, large.iterations);
  EXPECT_EQ(1, large.test_epochs);
  EXPECT_NEAR(0.01, large.base_lr, 1e-6);
  const InitPlan small = MakePlan(Facts(1, 28, 28, 130), {});
  EXPECT_EQ(16, small.batch);
  EXPECT_EQ(100, small.epochs);
  EXPECT_EQ(7, small.test_epochs);  // 50 batches of 16
  EXPECT_NEAR(0.005, small.base_lr, 1e-6);
  EXPECT_EQ(5, MakePlan(Facts(1, 28, 28), {"", 0, 5, 7}).epochs);
  EXPECT_EQ(7, MakePlan(Facts(1, 28, 28), {"", 0, 5, 7}).batch);
}

ImageStats StatsOf(const std::map<int, std::vector<ChannelSums>>& sums) {
  ImageStats stats;
  stats.records = 3;
  stats.sums = sums;
  stats.sizes["3x20x30"] = {{3, 20, 30}, 2};
  stats.sizes["1x50x30"] = {{1, 50, 30}, 1};
  return stats;
}

TEST(FactsOfImages, CountsAGrayImageInEachChannel) {
  const ImageFacts facts = FactsOfImages(
      StatsOf({{1, {{10, 100, 0}}}, {3, {{10, 0, 0}, {10, 20, 0}, {10, 40, 0}}}}), true);
  EXPECT_EQ(3, facts.channels);
  EXPECT_TRUE(facts.mixed_channels);
  EXPECT_THAT(facts.means, testing::ElementsAre(5, 6, 7));
  EXPECT_EQ(0, facts.height);
  EXPECT_EQ(20, facts.short_side);
}

TEST(FactsOfImages, KnowsGrayImagesWithThreeChannels) {
  const std::vector<ChannelSums> alike(3, {10, 50, 500});
  EXPECT_EQ(1, FactsOfImages(StatsOf({{3, alike}}), true).channels);
  EXPECT_EQ(3, FactsOfImages(StatsOf({{3, alike}}), false).channels);
  EXPECT_THROW(FactsOfImages(StatsOf({{4, std::vector<ChannelSums>(4)}}), true), FileError);
}

}  // namespace
}  // namespace doppio
