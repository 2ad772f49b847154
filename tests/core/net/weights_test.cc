#include "core/net/store/weights.h"

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <memory>

#include "core/base/file.h"
#include "core/base/version.h"
#include "core/math/dnnl.h"
#include "core/net/store/hdf5_blobs.h"
#include "core/net/store/wire_file.h"
#include "tests/core/net/tiny_net.h"
#include "tests/core/net/weight_files.h"

namespace doppio {
namespace {

TinyNet TwoLayerNet(DType type = DType::kFloat32) {
  TinyNet net;
  net.Layer("conv", "Convolution", {{2, 3, 1, 1}, {2}});
  net.Layer("ip", "InnerProduct", {{3, 4}, {3}});
  net.Allocate(type);
  net.Place();
  return net;
}

template <class F>
std::string ConfigErrorOf(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::kConfig);
    return e.what();
  }
  return "no error";
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
    return ConfigErrorOf([&] { CopyWeights(file, net->graph, net->index, net->store.get()); });
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

TEST(CopyWeights, AllMismatchesAreOneErrorAndNothingIsCopied) {
  NetParameter net = TwoLayers();
  net.mutable_layer(0)->mutable_blobs(0)->mutable_shape()->set_dim(0, 3);
  net.mutable_layer(0)->mutable_blobs(0)->mutable_shape()->set_dim(1, 2);
  net.mutable_layer(1)->mutable_blobs()->RemoveLast();
  TinyNet tiny = TwoLayerNet();
  const std::string path = Saved(net);
  const std::string text = ConfigErrorOf(
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
    return ConfigErrorOf(
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

TEST(CopyWeights, TheOwnerOfASharedParameterDecides) {
  NetParameter net = TwoLayers();
  LayerParameter* twin = net.add_layer();
  twin->set_name("twin");
  AddBlob(twin->add_blobs(), {3, 4}, 900);
  TinyNet tiny;
  tiny.Layer("ip", "InnerProduct", {{3, 4}, {3}});
  tiny.Sharer("twin", {0});
  tiny.Allocate();
  tiny.Place();
  CopyWeights(ReadWeights(Saved(net)), tiny.graph, tiny.index, tiny.store.get());
  EXPECT_EQ(tiny.Floats(0)[0], 30);
  // If the file lacks the owner, the values of the layer that shares the parameter are used.
  net.mutable_layer(1)->set_name("gone");
  CopyWeights(ReadWeights(Saved(net)), tiny.graph, tiny.index, tiny.store.get());
  EXPECT_EQ(tiny.Floats(0)[0], 900);
}

TEST(WriteWeights, IsWhatProtobufReads) {
  TinyNet tiny = TwoLayerNet();
  for (int p = 0; p < 4; ++p) tiny.Number(p, static_cast<float>(100 * p));
  tiny.graph.spec.layers[0].param.mutable_convolution_param()->set_num_output(2);
  const std::string path = Temporary("written.caffemodel");
  WriteWeights(path, false, tiny.graph, tiny.index, *tiny.store);
  NetParameter net;
  ASSERT_TRUE(net.ParseFromString(ReadFile(path)));
  EXPECT_EQ(net.name(), "tiny");
  ASSERT_EQ(net.layer_size(), 2);
  EXPECT_EQ(net.layer(0).type(), "Convolution");
  EXPECT_EQ(net.layer(0).convolution_param().num_output(), 2u);
  ASSERT_EQ(net.layer(1).blobs_size(), 2);
  EXPECT_EQ(net.layer(1).blobs(0).shape().DebugString(), "dim: 3\ndim: 4\n");
  EXPECT_EQ(net.layer(1).blobs(0).data_size(), 12);
  EXPECT_EQ(net.layer(1).blobs(0).data(11), 211);
  EXPECT_EQ(net.layer(1).blobs(0).diff_size(), 0);
}

Preprocessing RedFirst() {
  Preprocessing preprocessing;
  preprocessing.set_channels(Preprocessing::RGB);
  preprocessing.add_mean(125.5f);
  preprocessing.add_class_name("cat");
  return preprocessing;
}

TEST(WriteWeights, KeepsThePreprocessingInBothForms) {
  TinyNet tiny = TwoLayerNet();
  for (const std::string& path : {Temporary("told.caffemodel"), Temporary("told.caffemodel.h5")}) {
    const bool hdf5 = EndsWith(path, ".h5");
    WriteWeights(path, hdf5, tiny.graph, tiny.index, *tiny.store);
    EXPECT_FALSE(ReadWeights(path).preprocessing);
    tiny.graph.preprocessing = RedFirst();
    WriteWeights(path, hdf5, tiny.graph, tiny.index, *tiny.store);
    const WeightsFile file = ReadWeights(path);
    EXPECT_EQ(file.layers.size(), 2u);
    ASSERT_TRUE(file.preprocessing);
    EXPECT_EQ(
        file.preprocessing->ShortDebugString(),
        "channels: RGB mean: 125.5 class_name: \"cat\" doppio_version: \"" + Version() + "\"");
    tiny.graph.preprocessing.reset();
  }
}

// Returns the part of BVLC Caffe's NetParameter schema that this test needs.
google::protobuf::FileDescriptorProto BvlcSchema() {
  google::protobuf::FileDescriptorProto file;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
    name: "caffe.proto" package: "caffe"
    message_type {
      name: "LayerParameter"
      field { name: "name" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }
    }
    message_type {
      name: "NetParameter"
      field { name: "name" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }
      field {
        name: "layer" number: 100 label: LABEL_REPEATED type: TYPE_MESSAGE
        type_name: ".caffe.LayerParameter"
      }
    })",
                                                            &file));
  return file;
}

TEST(WriteWeights, LetsBvlcCaffePassOverThePreprocessing) {
  TinyNet tiny = TwoLayerNet();
  tiny.graph.preprocessing = RedFirst();
  const std::string path = Temporary("told.caffemodel");
  WriteWeights(path, false, tiny.graph, tiny.index, *tiny.store);
  google::protobuf::DescriptorPool pool;
  const auto* schema = pool.BuildFile(BvlcSchema());
  ASSERT_NE(schema, nullptr);
  const auto* type = schema->FindMessageTypeByName("NetParameter");
  google::protobuf::DynamicMessageFactory factory;
  const std::unique_ptr<google::protobuf::Message> bvlc(factory.GetPrototype(type)->New());
  ASSERT_TRUE(bvlc->ParseFromString(ReadFile(path)));
  const auto* reflection = bvlc->GetReflection();
  EXPECT_EQ(reflection->GetString(*bvlc, type->FindFieldByName("name")), "tiny");
  EXPECT_EQ(reflection->FieldSize(*bvlc, type->FindFieldByName("layer")), 2);
  EXPECT_EQ(reflection->GetUnknownFields(*bvlc).field_count(), 1);
  NetParameter back;  // the net as a program with BVLC's schema writes it back
  ASSERT_TRUE(back.ParseFromString(bvlc->SerializeAsString()));
  EXPECT_EQ(back.preprocessing().channels(), Preprocessing::RGB);
}

TEST(WriteWeights, WritesGradientsOnRequest) {
  TinyNet tiny = TwoLayerNet();
  const Param& param = tiny.store->params()[static_cast<size_t>(tiny.index[3])];
  WriteTensor({7, 8, 9}, param.grad, tiny.device.get());
  WriteWeights(Temporary("diff.caffemodel"), false, tiny.graph, tiny.index, *tiny.store, true);
  NetParameter net;
  ASSERT_TRUE(net.ParseFromString(ReadFile(Temporary("diff.caffemodel"))));
  EXPECT_EQ(net.layer(1).blobs(1).diff(2), 9);
  WriteWeights(Temporary("diff.caffemodel.h5"), true, tiny.graph, tiny.index, *tiny.store, true);
  Hdf5BlobReader in(Temporary("diff.caffemodel.h5"), "file");
  EXPECT_EQ(in.Blob("/diff/ip/1").data, (std::vector<float>{7, 8, 9}));
}

TEST(WriteWeights, RoundTripsOpaqueLayoutsInBothForms) {
  const Shape shape{5, 3, 3, 3};  // odd, so that blocks have padding
  const dnnl::memory::desc any = AnyDesc(shape);
  const dnnl::memory::dims ones{1, 1}, zeros{0, 0};
  const auto conv = DescribeForward<dnnl::convolution_forward>(
      DnnlAttr(), dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct,
      AnyDesc({2, 3, 8, 8}), any, AnyDesc({2, 5, 6, 6}), ones, zeros, zeros);
  // oneDNN splits the first axis of grouped weights: 4x3x3x3 in two groups is 2x2x3x3x3.
  const dnnl::memory::desc grouped({2, 2, 3, 3, 3}, dnnl::memory::data_type::f32,
                                   dnnl::memory::format_tag::gOIhw8o8i);
  const Layout layout = LayoutOf(conv.weights_desc()), group_layout = LayoutOf(grouped);
  for (const bool hdf5 : {false, true}) {
    const std::string path = Temporary(hdf5 ? "opaque.caffemodel.h5" : "opaque.caffemodel");
    const auto make = [&](bool opaque) {
      TinyNet tiny;
      tiny.Layer("block/conv", "Convolution",
                 {shape, {5}});  // the name has a slash, as in GoogLeNet
      tiny.Layer("block/conv/grouped", "Convolution", {{4, 3, 3, 3}});
      tiny.Allocate();
      if (opaque) tiny.store->SetLayout(tiny.index[0], layout);
      if (opaque) tiny.store->SetLayout(tiny.index[2], group_layout);
      tiny.Place();
      return tiny;
    };
    TinyNet from = make(true), to = make(false), back = make(true);
    ASSERT_FALSE(group_layout.plain());
    from.Number(0, 1);
    from.Number(1, 500);
    from.Number(2, 700);
    WriteWeights(path, hdf5, from.graph, from.index, *from.store);
    for (TinyNet* tiny : {&to, &back}) {
      const WeightsReport report =
          CopyWeights(ReadWeights(path), tiny->graph, tiny->index, tiny->store.get());
      EXPECT_EQ(report.copied.size(), 2u);
      for (int p = 0; p < 3; ++p) EXPECT_EQ(tiny->Floats(p), from.Floats(p));
    }
    EXPECT_EQ(to.Value(0).data<float>()[134], 135);
    EXPECT_EQ(to.Value(2).data<float>()[107], 807);
    EXPECT_EQ(ReadWeights(path).layers.size(), 2u);
  }
}

TEST(WriteWeights, HoldsASharedParameterAsCaffeDoes) {
  TinyNet tiny;
  tiny.Layer("a", "InnerProduct", {{2, 2}});
  tiny.Layer("own", "InnerProduct", {{3}});
  tiny.Sharer("b", {0, 1});
  tiny.Allocate();
  tiny.Place();
  tiny.Number(0, 4);
  // In the binary format, every layer that uses the blob has it. In HDF5, only its owner does.
  WriteWeights(Temporary("shared.caffemodel"), false, tiny.graph, tiny.index, *tiny.store);
  EXPECT_EQ(ReadWeights(Temporary("shared.caffemodel")).layers[2].blobs.size(), 2u);
  WriteWeights(Temporary("shared.caffemodel.h5"), true, tiny.graph, tiny.index, *tiny.store);
  const WeightsFile file = ReadWeights(Temporary("shared.caffemodel.h5"));
  ASSERT_EQ(file.layers.size(), 3u);  // sorted by name: a, b, own
  EXPECT_EQ(file.layers[0].blobs[0].data, (std::vector<float>{4, 5, 6, 7}));
  EXPECT_TRUE(file.layers[1].blobs.empty());
  tiny.Number(0, 0);
  CopyWeights(file, tiny.graph, tiny.index, tiny.store.get());
  EXPECT_EQ(tiny.Floats(0)[3], 7);
}

TEST(WriteWeights, SaysWhereItCannotWrite) {
  TinyNet tiny = TwoLayerNet();
  ExpectContains(FileErrorOf([&] {
                   WriteWeights("/no/folder/x.caffemodel", false, tiny.graph, tiny.index,
                                *tiny.store);
                 }),
                 "cannot write '/no/folder/x.caffemodel");
}

TEST(WriteWeights, ProtobufHoldsLessThanTwoGibibytes) {
  WireWriter out(Temporary("large.caffemodel"));
  out.MessageHead(100, 1000);
  ExpectContains(FileErrorOf([&] { out.MessageHead(100, int64_t{1} << 31); }),
                 "snapshot_format: HDF5");
}

// ---- Files that other Caffes wrote -------------------------------------------------------------

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
  ExpectContains(FileErrorOf([] {
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
