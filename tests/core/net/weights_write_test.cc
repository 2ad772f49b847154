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
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

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
      if (opaque) tiny.store->param(tiny.index[0]).value.layout = layout;
      if (opaque) tiny.store->param(tiny.index[2]).value.layout = group_layout;
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

// Returns a net with one parameter {i} and gradient {100 + i} for each layer i.
TinyNet NetOfNames(const std::vector<std::string>& names) {
  TinyNet tiny;
  for (const std::string& name : names) tiny.Layer(name, "Bias", {{1}});
  tiny.Allocate();
  tiny.Place();
  for (size_t i = 0; i < names.size(); ++i) {
    tiny.Number(static_cast<int>(i), static_cast<float>(i));
    WriteTensor({100.0f + static_cast<float>(i)}, tiny.store->params()[i].grad, tiny.device.get());
  }
  return tiny;
}

TEST(WriteWeights, KeepsNamesThatAreNoPathsOfHdf5) {
  const std::vector<std::string> names = {"/fc/Gemm",
                                          "fc/Gemm",
                                          "a//b",
                                          "a/b",
                                          "a/",
                                          "a",
                                          "a/0",
                                          "a/0/c",
                                          "a/0/0",
                                          "x/./y",
                                          "x/y",
                                          "./z",
                                          ".",
                                          "..",
                                          "/",
                                          "//",
                                          "",
                                          "%2Ffc%2FGemm",
                                          "%",
                                          "%00",
                                          "../..",
                                          "é\xe9",
                                          std::string("n\0l", 3),
                                          std::string(99999, 'x'),
                                          "1" + std::string(300, '/'),
                                          std::string(1200, 'a') + "/b"};
  std::string deep = "d";
  for (int i = 0; i < 120; ++i) deep += "/d";
  for (const std::string& more : {std::string(), deep}) {  // without and with a name that is deep
    std::vector<std::string> all = names;
    if (!more.empty()) all.push_back(more);
    const TinyNet from = NetOfNames(all);
    TinyNet to = NetOfNames(std::vector<std::string>(all.rbegin(), all.rend()));
    const std::string path = Temporary("names.caffemodel.h5");
    WriteWeights(path, true, from.graph, from.index, *from.store, true);
    const WeightsReport report = CopyWeights(ReadWeights(path), to.graph, to.index, to.store.get());
    EXPECT_EQ(report.copied.size(), all.size());
    EXPECT_TRUE(report.missing.empty() && report.ignored.empty());
    for (size_t i = 0; i < all.size(); ++i)
      EXPECT_EQ(to.Floats(static_cast<int>(all.size() - 1 - i))[0], static_cast<float>(i))
          << all[i];
  }
}

TEST(WriteWeights, KeepsCaffesGroupsForNamesThatArePaths) {
  const TinyNet tiny = NetOfNames({"block/conv", "block", "..", "../b", "%2Fa", "block/10"});
  const std::string path = Temporary("paths.caffemodel.h5");
  WriteWeights(path, true, tiny.graph, tiny.index, *tiny.store, true);
  Hdf5BlobReader in(path, "file");
  for (const char* name : {"block/conv", "block", "..", "../b", "%2Fa", "block/10"}) {
    EXPECT_TRUE(in.Has(std::string("/data/") + name + "/0")) << name;
    EXPECT_TRUE(in.Has(std::string("/diff/") + name + "/0")) << name;
  }
  EXPECT_EQ(in.RootBytes("encoded_names"), "");
  EXPECT_EQ(ReadWeights(path).layers.size(), 6u);
}

TEST(WriteWeights, KeepsMoreGroupsThanOtherFilesMayHave) {
  std::vector<std::string> names;
  for (int i = 0; i < 230; ++i) {
    names.push_back(std::to_string(i));
    for (int depth = 1; depth < 90; ++depth) names.back() += "/d";
  }
  const TinyNet tiny = NetOfNames(names);
  const std::string path = Temporary("groups.caffemodel.h5");
  WriteWeights(path, true, tiny.graph, tiny.index, *tiny.store);
  EXPECT_EQ(ReadWeights(path).layers.size(), names.size());
}

TEST(WriteWeights, SaysWhereItCannotWrite) {
  TinyNet tiny = TwoLayerNet();
  ExpectContains(Mistake<FileError>([&] {
                   WriteWeights("/no/folder/x.caffemodel", false, tiny.graph, tiny.index,
                                *tiny.store);
                 }),
                 "cannot write '/no/folder/x.caffemodel");
}

TEST(WriteWeights, ProtobufHoldsLessThanTwoGibibytes) {
  WireWriter out(Temporary("large.caffemodel"));
  out.MessageHead(100, 1000);
  ExpectContains(Mistake<FileError>([&] { out.MessageHead(100, int64_t{1} << 31); }),
                 "snapshot_format: HDF5");
}

}  // namespace
}  // namespace doppio
