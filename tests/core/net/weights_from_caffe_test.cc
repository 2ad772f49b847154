// Tests that weights are read from files that other Caffes wrote.
#include <gtest/gtest.h>

#include "core/net/store/weights.h"
#include "tests/core/net/tiny_net.h"
#include "tests/core/net/weight_files.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

std::string Shapes(const WeightsFile& file) {
  std::string text;
  for (const LayerBlobs& layer : file.layers) {
    if (layer.blobs.empty()) continue;
    text += layer.name + ":";
    for (const PlainBlob& blob : layer.blobs) text += " " + blob.shape.ToString();
    text += "; ";
  }
  return text;
}

TEST(SharedFiles, ModelsOfTheCorpusHaveTheirShapes) {
  if (SharedFile("").empty()) GTEST_SKIP() << "DOPPIO_SHARED is not set: no model files here";
  const auto shapes = [](const std::string& file) {
    return Shapes(ReadWeights(SharedFile("corpus/models/" + file)));
  };
  EXPECT_EQ(shapes("cifar10_quick_h5/cifar10_quick_iter_5000.caffemodel.h5"),
            "conv1: 32x3x5x5 32; conv2: 32x32x5x5 32; conv3: 64x32x5x5 64; ip1: 64x1024 64; ip2: "
            "10x64 10; ");
  EXPECT_EQ(shapes("cifar10_quick_v2_with_state/cifar10_quick_iter_4000.caffemodel"),
            "conv1: 32x3x5x5 32; conv2: 32x32x5x5 32; conv3: 64x32x5x5 64; ip1: 64x1024 64; ip2: "
            "10x64 10; ");
  EXPECT_EQ(shapes("lenet_v1_with_state/lenet_iter_10000.caffemodel"),
            "conv1: 20x1x5x5 1x1x1x20; conv2: 50x20x5x5 1x1x1x50; ip1: 1x1x500x800 1x1x1x500; "
            "ip2: 1x1x10x500 1x1x1x10; ");
  EXPECT_EQ(shapes("lenet_rmsprop/lenet_rmsprop_iter_10000.caffemodel"),
            "conv1: 20x1x5x5 20; conv2: 50x20x5x5 50; ip1: 500x800 500; ip2: 10x500 10; ");
  EXPECT_EQ(shapes("mtcnn_det1/det1.caffemodel"),
            "conv1: 10x3x3x3 10; PReLU1: 10; conv2: 16x10x3x3 16; PReLU2: 16; conv3: 32x16x3x3 32; "
            "PReLU3: 32; "
            "conv4-1: 2x32x1x1 2; conv4-2: 4x32x1x1 4; ");
}

TEST(SharedFiles, EveryStyleOfValuesFitsItsNet) {
  if (SharedFile("").empty()) GTEST_SKIP() << "DOPPIO_SHARED is not set: no model files here";
  for (const char* style : {"double", "legacy4d", "unpacked", "unpacked_shape"}) {
    const std::string folder = SharedFile(std::string("conformance/cases/weights_style_") + style);
    TinyNet tiny;
    tiny.Layer("a", "InnerProduct", {{5, 4}, {5}});
    tiny.Layer("b", "InnerProduct", {{3, 5}, {3}});
    tiny.Allocate();
    tiny.Place();
    const WeightsFile file = ReadWeights(folder + "/init.caffemodel");
    const WeightsReport report = CopyWeights(file, tiny.graph, tiny.index, tiny.store.get());
    EXPECT_EQ(report.copied, (std::vector<std::string>{"a", "b"})) << style;
    for (float v : tiny.Floats(0)) EXPECT_NE(v, 0) << style;
  }
  ExpectContains(Mistake<FileError>([] {
                   ReadWeights(SharedFile("conformance/cases/bad_weights_corrupt/init.caffemodel"));
                 }),
                 "is not a .caffemodel");
  // In this file, the values do not fit the net.
  TinyNet tiny = TwoLayerNet();
  tiny.graph.spec.layers[1].param.set_name("a");
  EXPECT_THROW(
      CopyWeights(
          ReadWeights(SharedFile("conformance/cases/bad_weights_data_short/init.caffemodel")),
          tiny.graph, tiny.index, tiny.store.get()),
      Error);
}

}  // namespace
}  // namespace doppio
