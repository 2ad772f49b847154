#include "tools/export/weight_mean.h"

#include <gtest/gtest.h>

#include "core/base/file.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

WeightsFile FileOf(const std::string& path, const std::vector<LayerBlobs>& layers) {
  WeightsFile file;
  file.path = path;
  file.layers = layers;
  return file;
}

WeightsFile MeanOf(const std::vector<WeightsFile>& files) {
  WeightMean mean;
  for (const WeightsFile& file : files) mean.Add(file);
  return mean.Result();
}

LayerBlobs Statistics(const std::string& type, float mean, float variance, float factor) {
  return {"bn", type, {{{1}, {mean}}, {{1}, {variance}}, {{1}, {factor}}}};
}

TEST(WeightMean, IsElementwise) {
  const auto ip = [](float a, float b) {
    return LayerBlobs{"ip 숫자", "InnerProduct", {{{2, 1}, {a, b}}, {{1}, {a + b}}}};
  };
  const WeightsFile mean =
      MeanOf({FileOf("a", {ip(1, 2)}), FileOf("b", {ip(4, -2)}), FileOf("c", {ip(7, 0)})});
  ASSERT_EQ(mean.layers.size(), 1u);
  EXPECT_EQ(mean.layers[0].name, "ip 숫자");
  EXPECT_EQ(mean.layers[0].blobs[0].data, (std::vector<float>{4, 0}));
  EXPECT_EQ(mean.layers[0].blobs[1].data, (std::vector<float>{4}));
}

// The statistics are sums that a factor divides: means of 3 and 5, variances of 1 and 2.
TEST(WeightMean, DividesStatisticsByTheirFactorsFirst) {
  for (const char* type : {"BatchNorm", ""}) {
    const WeightsFile mean = MeanOf(
        {FileOf("a", {Statistics(type, 6, 2, 2)}), FileOf("b", {Statistics(type, 50, 20, 10)})});
    EXPECT_EQ(mean.layers[0].blobs[0].data, std::vector<float>{4}) << type;
    EXPECT_EQ(mean.layers[0].blobs[1].data, std::vector<float>{1.5f});
    EXPECT_EQ(mean.layers[0].blobs[2].data, std::vector<float>{1});
  }
  // A factor of 0 means no statistics, which Caffe reads as zeros.
  const WeightsFile none = MeanOf({FileOf("a", {Statistics("BatchNorm", 6, 2, 2)}),
                                   FileOf("b", {Statistics("BatchNorm", 0, 0, 0)})});
  EXPECT_EQ(none.layers[0].blobs[0].data, std::vector<float>{1.5f});
  // Another layer of these shapes has no factor.
  EXPECT_EQ(MeanOf({FileOf("a", {Statistics("BN", 6, 2, 2)})}).layers[0].blobs[0].data,
            std::vector<float>{6});
}

TEST(WeightMean, RefusesOtherBlobsByName) {
  const WeightsFile a = FileOf("a.caffemodel", {{"ip", "", {{{2}, {1, 2}}}}});
  EXPECT_NE(Mistake([&] {
              MeanOf({a, FileOf("b.caffemodel", {{"ip", "", {{{3}, {1, 2, 3}}}}})});
            }).find("blob 0 of layer 'ip' is shape 2, in b.caffemodel 3"),
            std::string::npos);
  const std::string text = Mistake([&] {
    MeanOf({a, FileOf("b.caffemodel", {{"fc", "", {{{2}, {1, 2}}}}})});
  });
  EXPECT_NE(text.find("blob 0 of layer 'ip' is only in a.caffemodel"), std::string::npos) << text;
  EXPECT_NE(text.find("blob 0 of layer 'fc' is only in b.caffemodel"), std::string::npos) << text;
}

TEST(WeightMean, TakesSharedBlobsOfOneFormatOnly) {
  // HDF5 stores a shared blob with its owner.
  const LayerBlobs owner{"a", "", {{{1}, {2}}}}, user{"b", "", {{{1}, {2}}}},
      left_out{"b", "", {{{0}, {}}}};
  WeightsFile binary = FileOf("a.caffemodel", {owner, user});
  WeightsFile hdf5 = FileOf("b.h5", {owner, left_out});
  hdf5.hdf5 = true;
  EXPECT_NE(Mistake([&] {
              MeanOf({binary, hdf5});
            }).find("'b.h5' has no blob 0 of layer 'b'"),
            std::string::npos);
  EXPECT_TRUE(MeanOf({hdf5, hdf5}).layers[1].blobs[0].data.empty());
}

TEST(WriteLayers, WritesWhatReadWeightsReads) {
  WeightsFile file =
      FileOf("", {{"data 자료", "Data", {}},
                  {"conv", "Convolution", {{{2, 1, 1, 1}, {1, -2}}, {{2}, {3, 4}}}}});
  file.preprocessing.emplace();
  for (const bool hdf5 : {false, true}) {
    const std::string path = testing::TempDir() + "/mean weights.caffemodel" + (hdf5 ? ".h5" : "");
    WriteLayers(path, hdf5, file);
    const WeightsFile read = ReadWeights(path);
    EXPECT_EQ(read.hdf5, hdf5);
    EXPECT_TRUE(read.preprocessing.has_value());
    bool found = false;
    for (const LayerBlobs& layer : read.layers) {
      if (layer.name != "conv") continue;
      found = true;
      ASSERT_EQ(layer.blobs.size(), 2u);
      EXPECT_EQ(layer.blobs[0].shape, (Shape{2, 1, 1, 1}));
      EXPECT_EQ(layer.blobs[0].data, (std::vector<float>{1, -2}));
      EXPECT_EQ(layer.blobs[1].data, (std::vector<float>{3, 4}));
    }
    EXPECT_TRUE(found);
  }
}

}  // namespace
}  // namespace doppio
