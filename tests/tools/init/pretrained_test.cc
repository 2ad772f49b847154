#include "tools/init/pretrained_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/base/file.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Temporary(const std::string& name, const std::string& content) {
  const char* const folder = std::getenv("TEST_TMPDIR");
  const std::string path = std::string(folder == nullptr ? "/tmp" : folder) + "/" + name;
  WriteFileAtomically(path, content);
  return path;
}

// Returns a file with one F32 array of one zero for each name, and further entries.
std::string Safetensors(const std::vector<std::string>& names, const std::string& more = "") {
  std::string header = "{\"__metadata__\":{\"format\":\"pt\"}";
  for (const std::string& name : names)
    header += ",\"" + name + "\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}";
  header += more + "}";
  const uint64_t bytes = header.size();
  return std::string(reinterpret_cast<const char*>(&bytes), sizeof(bytes)) + header +
         std::string("\0\0\0\x3f", 4);
}

std::vector<std::string> NamesIn(const WeightsFile& file) {
  std::vector<std::string> names;
  for (const LayerBlobs& layer : file.layers) names.push_back(layer.name);
  return names;
}

// The order of torchvision's ResNet and DenseNet, in which a block's shortcut comes first.
TEST(ReadStateDict, OrdersLayersAsNetsHaveThem) {
  EXPECT_THAT(NamesIn(ReadStateDict(Temporary(
                  "resnet.safetensors",
                  Safetensors({"bn1.weight", "conv1.weight", "fc.weight", "layer1.0.conv1.weight",
                               "layer1.0.downsample.0.weight", "layer1.0.conv2.weight",
                               "layer10.0.conv1.weight", "layer2.0.conv1.weight"})))),
              ElementsAre("bn1", "conv1", "layer1.0.downsample.0", "layer1.0.conv1",
                          "layer1.0.conv2", "layer2.0.conv1", "layer10.0.conv1", "fc"));
  EXPECT_THAT(
      NamesIn(ReadStateDict(Temporary("densenet.safetensors",
                                      Safetensors({"classifier.weight", "features.conv0.weight",
                                                   "features.denseblock1.denselayer10.conv1.weight",
                                                   "features.denseblock1.denselayer2.conv1.weight",
                                                   "features.denseblock2.denselayer1.conv1.weight",
                                                   "features.transition1.conv.weight"})))),
      ElementsAre("features.conv0", "features.denseblock1.denselayer2.conv1",
                  "features.denseblock1.denselayer10.conv1", "features.transition1.conv",
                  "features.denseblock2.denselayer1.conv1", "classifier"));
}

TEST(ReadStateDict, PutsTheFactorsOfBatchNormBehindItsStatistics) {
  const WeightsFile file = ReadStateDict(Temporary(
      "norm.safetensors",
      Safetensors({"n.bias", "n.running_mean", "n.weight"},
                  ",\"n.running_var\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,4]}")));
  ASSERT_EQ(1u, file.layers.size());
  ASSERT_EQ(5u, file.layers[0].blobs.size());
  EXPECT_THAT(file.layers[0].blobs[0].data, ElementsAre(0.5f));
  EXPECT_THAT(file.layers[0].blobs[1].data, ElementsAre(0, 1.75f));  // 0x3f00 as a half
  EXPECT_THAT(file.layers[0].blobs[2].data, ElementsAre(1));
}

TEST(ReadStateDict, RefusesDamagedFiles) {
  const auto mistake = [](const std::string& content) {
    return Thrown([&] { ReadStateDict(Temporary("bad.safetensors", content)); }).message();
  };
  const auto entry = [&](const std::string& text) {
    return mistake(Safetensors({"a.bias"}, ",\"a.weight\":" + text));
  };
  EXPECT_THAT(mistake("1234"), HasSubstr("it has no header"));
  EXPECT_THAT(mistake(std::string(20, '\x7f')), HasSubstr("its header is longer than the file"));
  EXPECT_THAT(mistake(std::string(20, '\0')), HasSubstr("its header is not JSON"));
  EXPECT_THAT(entry("{\"dtype\":\"F32\"}"), HasSubstr("no type, shape or offsets"));
  EXPECT_THAT(entry("{\"dtype\":\"F32\",\"shape\":[9],\"data_offsets\":[0,36]}"),
              HasSubstr("its bytes are not in the file"));
  EXPECT_THAT(entry("{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}"),
              HasSubstr("its bytes are not in the file"));
  EXPECT_THAT(entry("{\"dtype\":\"F32\",\"shape\":[9],\"data_offsets\":[0,4]}"),
              HasSubstr("has 4 bytes, and not those of 9"));
  EXPECT_THAT(mistake(Safetensors({"a.running_mean"})),
              HasSubstr("'a' has one of running_mean and running_var only"));
}

PretrainedNet Start(const std::string& net, int channels = 3) {
  PretrainedNet start;
  start.net = ReadZooNet(net);
  start.origin = "models/" + net;
  start.weights.path = "w.caffemodel";
  start.channels = channels;
  return start;
}

std::string TextOf(const PretrainedNet& start, const std::string& name) {
  for (const ZooLayer& layer : start.net.layers) {
    if (layer.param.name() == name) return layer.text;
  }
  return "";
}

TEST(SetRates, FreezesALayerWithItsNormAndAllBefore) {
  PretrainedNet start = Start("resnet18");
  SetRates("res2a_branch2a", &start);
  EXPECT_THAT(TextOf(start, "conv1"), HasSubstr("param { lr_mult: 0 }\n}"));
  EXPECT_THAT(TextOf(start, "bn_conv1"), HasSubstr("use_global_stats: true"));
  EXPECT_THAT(TextOf(start, "scale2a_branch2a"),
              HasSubstr("param { lr_mult: 0 } param { lr_mult: 0 } }"));
  EXPECT_THAT(TextOf(start, "bn2a_branch2a"), HasSubstr("use_global_stats: true"));
  EXPECT_EQ(TextOf(Start("resnet18"), "res2a_branch2b"), TextOf(start, "res2a_branch2b"));
  EXPECT_THAT(TextOf(start, "fc1000"), HasSubstr("param { lr_mult: 10 }\n  param { lr_mult: 10 }"));
}

TEST(SetRates, KeepsTheProportionsOfPublishedRates) {
  PretrainedNet start = Start("lenet", 1);
  SetRates("", &start);
  EXPECT_THAT(TextOf(start, "ip2"), HasSubstr("param { lr_mult: 10 }\n  param { lr_mult: 20 }"));
  EXPECT_EQ(TextOf(Start("lenet"), "ip1"), TextOf(start, "ip1"));
}

TEST(SetRates, LeavesOnlyTheClassifiersOfAllLosses) {
  PretrainedNet start = Start("googlenet");
  SetRates("all", &start);
  for (const std::string name : {"loss1/classifier", "loss2/classifier", "loss3/classifier"})
    EXPECT_THAT(TextOf(start, name), HasSubstr("lr_mult: 10 "));
  EXPECT_THAT(TextOf(start, "loss1/fc"), HasSubstr("lr_mult: 0 "));
  EXPECT_THAT(Thrown([&] { SetRates("loss3/classifer", &start); }).message(),
              HasSubstr("got 'loss3/classifer'"));
}

// A torch net wants R G B with a deviation each; images are B G R.
TEST(TakeImagesOf, TurnsChannelsByAFixedLayer) {
  PretrainedNet start = Start("resnet20");
  start.images.set_channels(Preprocessing::RGB);
  for (const float mean : {1.0f, 2.0f, 3.0f}) start.images.add_mean(mean);
  start.factors = {4, 5, 6};
  ImageFacts facts;
  facts.means = {9, 9, 9};
  PretrainedNet of_cifar = start;
  TakeImagesOf("folder", &start, &facts);
  EXPECT_THAT(facts.means, ElementsAre(3, 2, 1));
  EXPECT_THAT(start.weights.layers.back().blobs[0].data, ElementsAre(0, 0, 4, 0, 5, 0, 6, 0, 0));
  EXPECT_THAT(TextOf(start, "conv1"), HasSubstr("bottom: \"prepared\""));
  TakeImagesOf("CIFAR", &of_cifar, &facts);  // its records begin with red
  EXPECT_THAT(facts.means, ElementsAre(1, 2, 3));
  EXPECT_THAT(of_cifar.weights.layers.back().blobs[0].data, ElementsAre(4, 0, 0, 0, 5, 0, 0, 0, 6));
}

TEST(TakeImagesOf, GivesGrayImagesTheChannelsOfTheNet) {
  PretrainedNet start = Start("resnet20");
  ImageFacts gray;
  gray.channels = 1;
  gray.means = {7};
  TakeImagesOf("LMDB", &start, &gray);
  EXPECT_EQ(3, gray.channels);
  EXPECT_TRUE(gray.gray && gray.mixed_channels);
  EXPECT_THAT(gray.means, ElementsAre(7, 7, 7));
  EXPECT_EQ("", TextOf(start, "prepare"));
  PretrainedNet digits = Start("lenet", 1);
  ImageFacts colours;
  colours.means = {1, 2, 3};
  EXPECT_THAT(Thrown([&] { TakeImagesOf("LMDB", &digits, &colours); }).message(),
              HasSubstr("convert it with doppio data convert --gray"));
}

}  // namespace
}  // namespace doppio
