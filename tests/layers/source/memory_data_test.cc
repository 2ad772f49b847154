#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/layers/source/memory_net.h"
#include "tests/testing/mistake.h"
#include "tests/testing/test_gpu.h"

namespace doppio {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;

constexpr char kLayer[] =
    "layer { name: 'd' type: 'MemoryData' top: 'x' top: 'y'\n"
    "memory_data_param { batch_size: 2 channels: 1 height: 1 width: 2 } }";

const std::vector<float> kImages = {10, 11, 20, 21, 30, 31};
const std::vector<float> kLabels = {1, 2, 3};

TEST(MemoryData, GivesBatchesThatRunOnOverTheEnd) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    MemoryNet net(kLayer, 0, 1, dtype);
    EXPECT_EQ(net->Blob("x").shape, (Shape{2, 1, 1, 2}));
    EXPECT_EQ(net->Blob("y").shape, Shape{2});
    FindMemorySource(net.net(), "d").SetSamples(kImages.data(), kLabels.data(), 3);
    net->Forward();
    EXPECT_THAT(net.Values("x"), ElementsAre(10, 11, 20, 21));
    EXPECT_THAT(net.Values("y"), ElementsAre(1, 2));
    net->Forward();
    EXPECT_THAT(net.Values("x"), ElementsAre(30, 31, 10, 11));
    EXPECT_THAT(net.Values("y"), ElementsAre(3, 1));
    EXPECT_EQ(SourceOf(net->plan().kernel(0))->source_size(), 3);
    EXPECT_EQ(SourceOf(net->plan().kernel(0))->position(), 4);
  }
}

TEST(MemoryData, BeginsNewSamplesAtTheFirstAndTheOldOnesWhereASnapshotWas) {
  MemoryNet net(kLayer);
  SourceOf(net->plan().kernel(0))->Seek(1);
  MemorySource& source = FindMemorySource(net.net(), "d");
  source.SetSamples(kImages.data(), kLabels.data(), 3);
  net->Forward();
  EXPECT_THAT(net.Values("y"), ElementsAre(2, 3));
  const std::vector<float> images = {5, 6}, labels = {7};
  source.SetSamples(images.data(), labels.data(), 1);
  net->Forward();
  EXPECT_THAT(net.Values("x"), ElementsAre(5, 6, 5, 6));
  EXPECT_EQ(SourceOf(net->plan().kernel(0))->position(), 2);
}

TEST(MemoryData, GivesEachRankItsShare) {
  MemoryNet net(kLayer, 1, 2);
  FindMemorySource(net.net(), "d").SetSamples(kImages.data(), kLabels.data(), 3);
  net->Forward();
  EXPECT_THAT(net.Values("y"), ElementsAre(3, 1));
  net->Forward();
  EXPECT_THAT(net.Values("y"), ElementsAre(1, 2));
  EXPECT_EQ(SourceOf(net->plan().kernel(0))->position(), 8);
}

TEST_ON_GPU(MemoryData, ComesToAGpu) {
  MemoryNet net(kLayer, 0, 1, DType::kFloat32, TestGpu());
  FindMemorySource(net.net(), "d").SetSamples(kImages.data(), kLabels.data(), 3);
  net->Forward();
  EXPECT_THAT(net.Values("x"), ElementsAre(10, 11, 20, 21));
  MemoryNet random(kLayer, 0, 1, DType::kFloat32, TestGpu(), DataMode::kSynthetic);
  EXPECT_EQ(random->plan().kernel_types[0]->engine, "cuda");
  random->Forward();
  EXPECT_THAT(random.Values("y"), ElementsAre(0, 1));
}

TEST(MemoryData, IsRandomWhereSyntheticDataIsAskedFor) {
  MemoryNet net(kLayer, 0, 1, DType::kFloat32, MakeCpuDevice(), DataMode::kSynthetic);
  net->Forward();
  const std::vector<double> values = net.Values("x");
  EXPECT_THAT(values, Each(Ge(-1)));
  EXPECT_NE(values[0], values[1]);
  EXPECT_THAT(net.Values("y"), ElementsAre(0, 1));
  EXPECT_THAT(Mistake([&] { FindMemorySource(net.net(), "d"); }),
              HasSubstr("layer 'd': does not take samples from a program"));
}

TEST(MemoryData, GivesRanksTheRowsOfOneBigRandomBatch) {
  const auto values = [](const std::string& rows, int rank, int ranks, const std::string& top) {
    const std::string layer =
        "layer { name: 'd' type: 'MemoryData' top: 'x' top: 'y' memory_data_param { batch_size: " +
        rows + " channels: 1 height: 1 width: 2 } }";
    MemoryNet net(layer, rank, ranks, DType::kFloat32, MakeCpuDevice(), DataMode::kSynthetic);
    net->Forward();
    return net.Values(top);
  };
  for (const char* top : {"x", "y"}) {
    std::vector<double> parts = values("3", 0, 2, top);
    for (double value : values("3", 1, 2, top)) parts.push_back(value);
    EXPECT_EQ(values("6", 0, 1, top), parts) << top;
  }
}

TEST(MemoryData, SaysWhatIsMissing) {
  MemoryNet net(kLayer);
  EXPECT_THAT(Mistake([&] { net->Forward(); }),
              testing::AllOf(HasSubstr("'d'"), HasSubstr("gets its samples from a program"),
                             HasSubstr("--synthetic")));
  EXPECT_THAT(Mistake([&] { FindMemorySource(net.net(), "e"); }), HasSubstr("no layer 'e'"));
  EXPECT_THAT(Mistake([&] {
                FindMemorySource(net.net(), "d").SetSamples(kImages.data(), kLabels.data(), 0);
              }),
              HasSubstr("at least one"));
  EXPECT_THAT(Mistake([] {
                MemoryNet(
                    "layer { name: 'd' type: 'MemoryData' top: 'x' top: 'y'\n"
                    "memory_data_param { batch_size: 2 channels: 1 width: 2 } }");
              }),
              HasSubstr("net.prototxt:2:1: layer 'd': height must be at least 1"));
}

}  // namespace
}  // namespace doppio
