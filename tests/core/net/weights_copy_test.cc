#include "core/net/store/weights.h"

#include <gtest/gtest.h>

#include "tests/core/net/tiny_net.h"
#include "tests/core/net/weight_files.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

template <class F>
std::string ConfigMistake(F&& f) {
  const Error e = Thrown(f);
  EXPECT_EQ(e.code(), ExitCode::kConfig);
  return e.what();
}

TEST(CopyWeights, FillsByNameAndReports) {
  NetParameter net = TwoLayers();
  net.mutable_layer(0)->set_name("other");
  net.add_layer()->set_name("relu");
  TinyNet tiny = TwoLayerNet();
  tiny.Number(0, 100);
  const WeightsReport report =
      CopyWeights(ReadWeights(Saved(net)), tiny.graph, tiny.index, tiny.store.get());
  EXPECT_EQ(report.copied, std::vector<std::string>{"ip"});
  EXPECT_EQ(report.ignored, std::vector<std::string>{"other"});
  EXPECT_EQ(report.missing, std::vector<std::string>{"conv"});
  EXPECT_EQ(tiny.Floats(3), (std::vector<float>{50, 51, 52}));
  EXPECT_EQ(tiny.Floats(0)[5], 105);
}

// A net with a BatchNorm and the Scale that reads its top. In NVCaffe's files the two are one
// layer.
TinyNet NormAndScale(int factors) {
  TinyNet net;
  net.Layer("bn", "BatchNorm", {{3}, {3}, {1}});
  net.Layer("factors", "Scale", std::vector<Shape>(static_cast<size_t>(factors), Shape{3}));
  net.graph.edges.resize(1);
  net.graph.edges[0].uses = {{1, 0}};
  net.graph.nodes[0].tops = {0};
  static const LayerType norm = LayerType().StoresParamsOf("Scale");
  net.graph.nodes[0].type = &norm;
  net.Allocate();
  net.Place();
  return net;
}

std::string FusedNorm(const std::vector<int64_t>& channels) {
  NetParameter net;
  LayerParameter* bn = net.add_layer();
  bn->set_name("bn");
  bn->set_type("BatchNorm");
  AddBlob(bn->add_blobs(), channels, 10);
  AddBlob(bn->add_blobs(), channels, 20);
  AddBlob(bn->add_blobs(), {1}, 30);
  AddBlob(bn->add_blobs(), channels, 40);
  AddBlob(bn->add_blobs(), channels, 50);
  return Saved(net);
}

TEST(CopyWeights, GivesFactorAndBiasOfAFusedBatchNormToItsScale) {
  for (const std::vector<int64_t>& channels : {std::vector<int64_t>{3}, {1, 3, 1, 1}}) {
    TinyNet tiny = NormAndScale(2);
    const WeightsReport report =
        CopyWeights(ReadWeights(FusedNorm(channels)), tiny.graph, tiny.index, tiny.store.get());
    EXPECT_EQ(report.copied, std::vector<std::string>{"bn"});
    EXPECT_TRUE(report.missing.empty());
    EXPECT_EQ(tiny.Floats(0), (std::vector<float>{10, 11, 12}));
    EXPECT_EQ(tiny.Floats(1), (std::vector<float>{20, 21, 22}));
    EXPECT_EQ(tiny.Floats(2), (std::vector<float>{30}));
    EXPECT_EQ(tiny.Floats(3), (std::vector<float>{40, 41, 42}));
    EXPECT_EQ(tiny.Floats(4), (std::vector<float>{50, 51, 52}));
  }
}

TEST(CopyWeights, SaysWhereAFusedBatchNormDoesNotFit) {
  TinyNet one_factor = NormAndScale(1);
  const WeightsFile file = ReadWeights(FusedNorm({3}));
  const auto copy = [&](TinyNet* net) {
    return ConfigMistake([&] { CopyWeights(file, net->graph, net->index, net->store.get()); });
  };
  EXPECT_NE(copy(&one_factor)
                .find("layer 'factors': it has 1 parameter blobs, but layer 'bn' in '" + file.path +
                      "' has 2 for it"),
            std::string::npos)
      << copy(&one_factor);
  TinyNet no_reader = NormAndScale(2);
  no_reader.graph.edges[0].uses.clear();
  EXPECT_NE(copy(&no_reader).find("layer 'bn': it has 3 parameter blobs"), std::string::npos);
}

TEST(CopyWeights, OldFourAxisShapesFitFewerAxes) {
  NetParameter net;
  LayerParameter* ip = net.add_layer();
  ip->set_name("ip");
  for (const auto& [h, w] : {std::pair<int, int>{3, 4}, {1, 3}}) {
    BlobProto* blob = ip->add_blobs();
    blob->set_num(1);
    blob->set_channels(1);
    blob->set_height(h);
    blob->set_width(w);
    for (int i = 0; i < h * w; ++i) blob->add_data(static_cast<float>(i));
  }
  TinyNet tiny = TwoLayerNet(DType::kFloat64);
  CopyWeights(ReadWeights(Saved(net)), tiny.graph, tiny.index, tiny.store.get());
  EXPECT_EQ(tiny.Floats(2)[11], 11);
  EXPECT_EQ(tiny.Value(3).data<double>()[2], 2);
}

TEST(CopyWeights, TakeAnInnerProductOverAWholeMapAsAConvolution) {
  const auto copy = [](const std::vector<Shape>& shapes, const Shape& in_file) {
    TinyNet tiny;
    tiny.Layer("fc6", "", shapes);
    tiny.Allocate();
    tiny.Place();
    NetParameter net;
    LayerParameter* fc6 = net.add_layer();
    fc6->set_name("fc6");
    BlobProto* weights = fc6->add_blobs();
    for (const int64_t n : in_file.dims()) weights->mutable_shape()->add_dim(n);
    for (int64_t i = 0; i < in_file.count(); ++i) weights->add_data(static_cast<float>(i));
    const WeightsReport report =
        CopyWeights(ReadWeights(Saved(net)), tiny.graph, tiny.index, tiny.store.get());
    EXPECT_EQ(report.reshaped.size(), 1);
    const std::vector<float> values = tiny.Floats(0);
    for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], static_cast<float>(i));
  };
  copy({{5, 2, 3, 3}}, {5, 18});
  copy({{5, 2, 3, 3}}, {1, 1, 5, 18});
  copy({{1, 2, 3, 3}}, {1, 18});
  copy({{5, 18}}, {5, 2, 3, 3});
  EXPECT_THROW(copy({{5, 2, 1, 3}}, {5, 2, 3, 1}), Error);  // another kernel
  EXPECT_THROW(copy({{5, 2, 3, 3}}, {18, 5}), Error);       // transposed
  EXPECT_THROW(copy({{5, 2, 3, 3}}, {5, 27}), Error);       // another size of the map
}

TEST(CopyWeights, AllMismatchesAreOneErrorAndNothingIsCopied) {
  NetParameter net = TwoLayers();
  net.mutable_layer(0)->mutable_blobs(0)->mutable_shape()->set_dim(0, 3);
  net.mutable_layer(0)->mutable_blobs(0)->mutable_shape()->set_dim(1, 2);
  net.mutable_layer(1)->mutable_blobs()->RemoveLast();
  TinyNet tiny = TwoLayerNet();
  const std::string path = Saved(net);
  const std::string text = ConfigMistake(
      [&] { CopyWeights(ReadWeights(path), tiny.graph, tiny.index, tiny.store.get()); });
  ExpectContains(text, "net.prototxt:1:1");
  ExpectContains(
      text, "layer 'conv': its parameter blob 0 is 2x3x1x1, but in '" + path + "' it is 3x2x1x1");
  ExpectContains(text, "net.prototxt:2:1");
  ExpectContains(text, "layer 'ip': it has 2 parameter blobs, but the layer of this name in '" +
                           path + "' has 1");
  ExpectContains(text, "give it another name");
  EXPECT_EQ(tiny.Floats(1), (std::vector<float>{0, 0}));
}

// A deploy net whose input size was changed gets this error: fc6 is 2x12 in the file and 2x27 in
// the net.
TEST(CopyWeights, SaysThatInnerProductTiesTheInputSize) {
  TinyNet tiny;
  tiny.Layer("fc6", "InnerProduct", {{2, 27}, {2}});
  tiny.Allocate();
  tiny.Place();
  Edge bottom;
  bottom.name = "pool5";
  bottom.shape = {1, 3, 3, 3};
  tiny.graph.edges.push_back(bottom);
  tiny.graph.nodes[0].bottoms = {0};
  const LayerType inner_product =
      LayerType().FixesInputSize([](const LayerParameter&) { return 1; });
  tiny.graph.nodes[0].type = &inner_product;
  NetParameter net;
  LayerParameter* fc6 = net.add_layer();
  fc6->set_name("fc6");
  const auto copy = [&](const std::vector<int64_t>& shape) {
    fc6->clear_blobs();
    int64_t count = 1;
    for (const int64_t n : shape) {
      count *= n;
      (fc6->blobs_size() == 0 ? fc6->add_blobs() : fc6->mutable_blobs(0))
          ->mutable_shape()
          ->add_dim(n);
    }
    fc6->mutable_blobs(0)->mutable_data()->Resize(static_cast<int>(count), 1.f);
    fc6->add_blobs()->mutable_shape()->add_dim(2);
    fc6->mutable_blobs(1)->mutable_data()->Resize(2, 1.f);
    return ConfigMistake(
        [&] { CopyWeights(ReadWeights(Saved(net)), tiny.graph, tiny.index, tiny.store.get()); });
  };
  for (const std::vector<int64_t>& old : {std::vector<int64_t>{2, 12}, {1, 1, 2, 12}}) {
    const std::string text = copy(old);
    ExpectContains(text, "layer 'fc6': its parameter blob 0 is 2x27, but in '");
    ExpectContains(text,
                   "an InnerProduct fixes the size of the net's input: bottom 'pool5' of shape "
                   "1x3x3x3 gives it 27 values, the weights are for 12; give the net the input "
                   "size that it was trained with");
  }
  // For another number of outputs, the message has another hint.
  ExpectContains(copy({4, 12}), "give it another name to train it from its fillers");
}

// A net in which `twin` shares the weights of `ip`.
TinyNet NetWithATwin() {
  TinyNet tiny;
  tiny.Layer("ip", "InnerProduct", {{3, 4}, {3}});
  tiny.Sharer("twin", {0});
  tiny.graph.spec.layers[1].param.add_param()->set_name("w");
  tiny.Allocate();
  tiny.Place();
  return tiny;
}

// The file of TwoLayers(), with weights of `twin` that begin with `start`.
NetParameter FileWithATwin(float start) {
  NetParameter net = TwoLayers();
  LayerParameter* twin = net.add_layer();
  twin->set_name("twin");
  AddBlob(twin->add_blobs(), {3, 4}, start);
  return net;
}

TEST(CopyWeights, TheLastLayerInTheFileDecidesASharedParameter) {
  TinyNet tiny = NetWithATwin();
  NetParameter net = FileWithATwin(900);
  const auto copy = [&] {
    return CopyWeights(ReadWeights(Saved(net)), tiny.graph, tiny.index, tiny.store.get());
  };
  const WeightsReport report = copy();
  EXPECT_EQ(tiny.Floats(0)[0], 900);
  ASSERT_EQ(report.conflicts.size(), 1u);
  testing::internal::CaptureStderr();
  LogReport(report, "old.caffemodel");
  ExpectContains(testing::internal::GetCapturedStderr(),
                 "old.caffemodel has different values for the parameter 'w' that the layers 'ip' "
                 "and 'twin' share; it gets those of 'twin', the last one in the file");
  net.mutable_layer()->SwapElements(1, 2);
  EXPECT_EQ(copy().conflicts.size(), 1u);
  EXPECT_EQ(tiny.Floats(0)[0], 30);
  // If the file lacks the owner, the values of the layer that shares the parameter are used.
  net.mutable_layer(2)->set_name("gone");
  EXPECT_TRUE(copy().conflicts.empty());
  EXPECT_EQ(tiny.Floats(0)[0], 900);
}

TEST(CopyWeights, EqualValuesOfASharedParameterAreNoConflict) {
  TinyNet tiny = NetWithATwin();
  EXPECT_TRUE(
      CopyWeights(ReadWeights(Saved(FileWithATwin(30))), tiny.graph, tiny.index, tiny.store.get())
          .conflicts.empty());
  EXPECT_EQ(tiny.Floats(0)[0], 30);
}

}  // namespace
}  // namespace doppio
