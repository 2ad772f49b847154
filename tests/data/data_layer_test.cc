// Tests the layer Data in a net.
#include <cstdio>

#include "tests/data/data_net.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Returns a layer with seven images of 3 x 5 x 4 whose mean is a ramp.
std::string ColourImages(const std::string& transform, bool less_mean = false) {
  const std::string path = ScratchPath("colour"), mean = ScratchPath("mean.binaryproto");
  KeysAndValues records;
  for (int i = 0; i < 7; ++i) {
    std::vector<int> pixels(60);
    for (int p = 0; p < 60; ++p) pixels[static_cast<size_t>(p)] = (i * 71 + p * 37) % 256;
    records.push_back({std::to_string(i), RawDatum(3, 5, 4, pixels, i)});
  }
  WriteLmdb(path, records);
  std::string blob = "num: 1 channels: 3 height: 5 width: 4";
  for (int p = 0; p < 60; ++p) blob += " data: " + std::to_string(p % 23);
  WriteFile(mean, Parse<BlobProto>(blob).SerializeAsString());
  return "type: 'Data' top: 'x' top: 'y' data_param { backend: LMDB source: '" + path +
         "' batch_size: 3 } transform_param { " + transform +
         (less_mean ? " mean_file: '" + mean + "'" : "") + " }";
}

// Returns layers that cover every code path from an image to a batch.
std::vector<std::string> ManyLayers() {
  std::vector<std::string> layers;
  for (const char* transform :
       {"", "scale: 0.5 mirror: true crop_size: 20 mean_value: 3",
        "mean_value: 128 scale: 0.0078125", "mean_value: 33 std_value: 78.5"}) {
    layers.push_back(
        "type: 'Data' top: 'x' top: 'y' data_param { backend: DIGITS size: 20 batch_size: 7 "
        "shuffle: true } transform_param { " +
        std::string(transform) + " }");
  }
  layers.push_back(ColourImages("mirror: true"));
  layers.push_back(
      ColourImages("mirror: true crop_h: 4 crop_w: 3 mean_value: [1, 2.5, 7] scale: 0.1"));
  layers.push_back(ColourImages("mirror: true mean_value: 9 scale: 0.7 std_value: [57, 3.5, 0.1]"));
  layers.push_back(ColourImages("mirror: true crop_size: 3", true));
  return layers;
}

TEST(DataLayers, DeliverTheSameWithAnyNumberOfThreads) {
  for (const std::string& layer : ManyLayers()) ExpectSameWithAnyThreads(layer);
}

TEST_ON_GPU(DataLayers, GiveAGpuTheSameBatches) {
  for (const std::string& layer : ManyLayers()) {
    DataNet cpu(layer), gpu(layer, DataMode::kOpen, TRAIN, DType::kFloat32, TestGpu());
    EXPECT_EQ(gpu->plan().kernel_types[0]->engine, "cuda");
    for (int pass = 0; pass < 5; ++pass) {
      cpu->Forward();
      gpu->Forward();
      EXPECT_EQ(gpu.Values("x"), cpu.Values("x")) << layer;
      EXPECT_EQ(gpu.Values("y"), cpu.Values("y"));
    }
  }
}

// On the CPU, StageNext() does nothing.
TEST_ON_DEVICES(DataLayers, GiveTheSameBatchesWhereTheNextIsStaged) {
  for (const std::string& layer : ManyLayers()) {
    DataNet plain(layer), net(layer, DataMode::kOpen, TRAIN, DType::kFloat32, TestDevice());
    for (int pass = 0; pass < 6; ++pass) {
      plain->Forward();
      net->Forward();
      EXPECT_EQ(net.Values("x"), plain.Values("x")) << layer;
      EXPECT_EQ(net.Values("y"), plain.Values("y"));
      // Staging must change neither this pass's tops nor the position in the data.
      for (int i = 0; i < pass % 3; ++i) net->StageNext();
      EXPECT_EQ(net.Values("x"), plain.Values("x")) << layer;
      EXPECT_EQ(net.source()->position(), plain.source()->position());
    }
    net->StageNext();
    for (DataNet* one : {&plain, &net}) one->source()->Seek(1);
    for (int pass = 0; pass < 2; ++pass) {
      plain->Forward();
      net->Forward();
      EXPECT_EQ(net.Values("x"), plain.Values("x")) << layer;
      EXPECT_EQ(net.Values("y"), plain.Values("y"));
    }
  }
}

TEST_ON_GPU(DataLayers, FailInTheForwardWhoseBatchWasStaged) {
  const std::string path = ScratchPath("broken");
  WriteLmdb(path, {{"0", RawDatum(1, 1, 2, {1, 2}, 0)}, {"1", "no record"}});
  DataNet net("type: 'Data' top: 'x' top: 'y' data_param { backend: LMDB source: '" + path +
                  "' batch_size: 1 }",
              DataMode::kOpen, TRAIN, DType::kFloat32, TestGpu());
  net->Forward();
  net->StageNext();
  EXPECT_EQ(net.source()->position(), 1);
  EXPECT_THROW(net->Forward(), Error);
  net.source()->Seek(0);
  net->Forward();
  EXPECT_EQ(net.source()->position(), 1);
}

TEST_ON_DEVICES(DataLayers, RoundImagesWhereTheyAreStoredIn16BitsAndNoLabels) {
  for (const std::string& layer : ManyLayers()) {
    for (DType type : {DType::kFloat16, DType::kBFloat16}) {
      const auto device = [&] { return TestDevice(); };
      DataNet exact(layer);
      DataNet net(layer, DataMode::kOpen, TRAIN, DType::kFloat32, device(), type);
      EXPECT_EQ(net.Top(0).dtype, type);
      EXPECT_EQ(net.Top(0).layout.channels_last(), OnGpu());
      EXPECT_EQ(net.Top(1).dtype, DType::kFloat32);
      EXPECT_EQ(net.source()->source_size(), exact.source()->source_size());
      for (int pass = 0; pass < 3; ++pass) {
        exact->Forward();
        net->Forward();
        EXPECT_EQ(net.Values("x"), Rounded(exact.Values("x"), type)) << layer;
        EXPECT_EQ(net.Values("y"), exact.Values("y"));
        EXPECT_EQ(net.source()->position(), exact.source()->position());
      }
      exact.source()->Seek(1);
      net.source()->Seek(1);
      exact->Forward();
      net->Forward();
      EXPECT_EQ(net.Values("x"), Rounded(exact.Values("x"), type)) << layer;
      EXPECT_GE(net.source()->wait_seconds(), 0);
    }
  }
}

TEST(DataLayers, KeepImagesInFullWhereTheFileSaysSo) {
  DataNet net(ColourImages("scale: 0.1") + " forward_type: FLOAT", DataMode::kOpen, TRAIN,
              DType::kFloat32, MakeCpuDevice(), DType::kBFloat16);
  EXPECT_EQ(net.Top(0).dtype, DType::kFloat32);
}

TEST(DataLayer, DeliversImagesAndLabels) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    DataNet net(ThreeRecords() + "transform_param { scale: 0.5 mean_value: 4 }", DataMode::kOpen,
                TRAIN, dtype);
    EXPECT_EQ(net.ShapeOf("d"), (Shape{2, 1, 1, 2}));
    EXPECT_EQ(net.ShapeOf("l"), Shape{2});
    EXPECT_EQ(net.source()->source_size(), 3);
    net->Forward();
    EXPECT_THAT(net.Values("d"), ElementsAre(-2, -1.5, 3, 3.5));
    EXPECT_THAT(net.Values("l"), ElementsAre(5, 6));
    net->Forward();
    EXPECT_THAT(net.Values("l"), ElementsAre(7, 5));
  }
}

TEST(DataLayer, OpensItsSourceOnceForTheFirstNetOfAGraph) {
  const std::string layer = ThreeRecords(), path = ScratchPath("db");
  const Graph graph = MakeTestGraph("layer { name: 'input' " + layer + " }", DataMode::kOpen);
  ASSERT_EQ(std::rename(path.c_str(), (path + "_moved").c_str()), 0);
  const std::unique_ptr<Device> cpu = MakeCpuDevice();
  PlanOptions options;
  options.device = cpu.get();
  ParamStore store(cpu.get(), DType::kFloat32, 1);
  Net first(graph, options, &store);
  first.Forward();
  EXPECT_EQ(SourceOf(first.plan().kernel(0))->position(), 2);
  const auto make_second = [&] { Net(graph, options, &store); };
  EXPECT_THAT(MessageOf(make_second), HasSubstr(path));
  ASSERT_EQ(std::rename((path + "_moved").c_str(), path.c_str()), 0);
  Net second(graph, options, &store);
  second.Forward();
  EXPECT_EQ(SourceOf(second.plan().kernel(0))->position(), 2);
  EXPECT_EQ(SourceOf(first.plan().kernel(0))->position(), 2);
}

TEST(DataLayer, GoesOnFromItsPosition) {
  DataNet first(ThreeRecords()), second(ThreeRecords());
  EXPECT_EQ(first.source()->position(), 0);
  first->Forward();
  EXPECT_EQ(first.source()->position(), 2);
  second.source()->Seek(first.source()->position());
  second->Forward();
  EXPECT_THAT(second.Values("l"), ElementsAre(7, 5));
}

TEST(DataLayer, TakesTheShareOfItsRank) {
  DataNet net(ThreeRecords());
  net->pass().rank = 1;
  net->pass().ranks = 2;
  net->Forward();
  EXPECT_THAT(net.Values("l"), ElementsAre(7, 5));
}

TEST(DataLayer, TakesTheBatchOfTheCommandLine) {
  EXPECT_EQ(Shapes(ThreeRecords(), DataMode::kOpen, 7), "d 7x1x1x2; l 7; ");
}

TEST(DataLayer, ReadsATransformWrittenInsideItsOwnMessage) {
  DataNet net(
      "type: 'Data' top: 'd' data_param { backend: DIGITS batch_size: 1 transform_param { "
      "crop_size: 7 } }");
  EXPECT_EQ(net.ShapeOf("d"), (Shape{1, 1, 7, 7}));
}

TEST(DataLayer, TakesThePartOfItsPhase) {
  const std::string layer = "type: 'Data' top: 'd' data_param { backend: DIGITS batch_size: 1 } ";
  EXPECT_EQ(DataNet(layer, DataMode::kOpen, TRAIN).source()->source_size(), 60000);
  EXPECT_EQ(DataNet(layer, DataMode::kOpen, TEST).source()->source_size(), 10000);
}

TEST(DataLayer, SaysWhereTheMistakeIs) {
  EXPECT_EQ(
      LayerMistake(
          "type: 'Data' top: 'd'\ndata_param { backend: LMDB\n  source: 'none' batch_size: 1 }"),
      "4: net.prototxt:3:3: layer 'input': no LMDB database at 'none': there is no such file");
  EXPECT_EQ(LayerMistake("type: 'Data' top: 'd'\ndata_param { backend: DIGITS }"),
            "3: net.prototxt:2:1: layer 'input': batch_size must be at least 1");
  EXPECT_EQ(LayerMistake("type: 'Data' top: 'd' data_param { backend: DIGITS batch_size: 1 }\n"
                         "transform_param { crop_size: 99 }"),
            "3: net.prototxt:2:1: layer 'input': generated digit 0 (train): the crop 99x99 is "
            "larger than the "
            "image 28x28");
  EXPECT_EQ(LayerMistake("type: 'Data' top: 'd' data_param { backend: DIGITS batch_size: 1 }\n"
                         "transform_param { scale: 2\n  mean_file: 'none' }"),
            "4: net.prototxt:3:3: layer 'input': cannot read 'none': No such file or directory");
  EXPECT_EQ(LayerMistake("type: 'Data' top: 'd' data_param { backend: DIGITS batch_size: 1\n"
                         "transform_param { scale: 2\n  mean_file: 'none' } }"),
            "4: net.prototxt:3:3: layer 'input': cannot read 'none': No such file or directory");
  // Wrong means: too small, with another number of channels, and inside data_param.
  for (const auto& [shape, values] : {std::pair("channels: 1 height: 2 width: 1", 2),
                                      std::pair("channels: 3 height: 28 width: 28", 3 * 28 * 28)}) {
    std::string blob = std::string("num: 1 ") + shape;
    for (int i = 0; i < values; ++i) blob += " data: 1";
    WriteFile(ScratchPath("m"), Parse<BlobProto>(blob).SerializeAsString());
    const std::string transform = "\ntransform_param { scale: 2\n  mean_file: '" + ScratchPath("m");
    const std::string layer = "type: 'Data' top: 'd' data_param { backend: DIGITS batch_size: 1 ";
    for (const std::string& text : {layer + "}" + transform + "' }", layer + transform + "' } }"}) {
      EXPECT_THAT(LayerMistake(text),
                  testing::AllOf(testing::StartsWith("3: net.prototxt:3:3: layer 'input': "),
                                 HasSubstr("but the image is 1x28x28")));
    }
  }
  EXPECT_THAT(
      LayerMistake(
          "type: 'Data' top: 'd' top: 'a' top: 'b' data_param { backend: DIGITS batch_size: 1 }"),
      HasSubstr("2 tops for labels, but each record has 1"));
}

TEST(DataLayer, PointsAtTheFieldThatAMistakeNames) {
  const auto starts = [](const std::string& text, const std::string& start) {
    EXPECT_THAT(LayerMistake(text), testing::StartsWith(start));
  };
  const std::string digits = "top: 'd'\ndata_param { backend: DIGITS batch_size: 1 ";
  starts("type: 'Data' " + digits + "}\ntransform_param { scale: 2\n  mean_value: [1, 2, 3] }",
         "3: net.prototxt:4:3: layer 'input': ");
  starts("type: 'Data' " + digits + "\ntransform_param { scale: 2\n  pad: 99999 } }",
         "3: net.prototxt:4:3: layer 'input': pad must be at most");
  starts("type: 'AnnotatedData' " + digits + "}\ntransform_param { scale: 2 }",
         "4: net.prototxt:2:1: layer 'input': ");  // DIGITS has no boxes
  starts("type: 'AnnotatedData' " + digits +
             "} annotated_data_param {\n batch_sampler { }\n batch_sampler { sampler {\n"
             "  min_scale: 2 } } }\ntransform_param { scale: 2 }",
         "3: net.prototxt:4:18: layer 'input': sampler: min_scale 2");
}

TEST(DataLayer, HasTheShapeThatItsImagesAreResizedTo) {
  for (DataMode mode : {DataMode::kOpen, DataMode::kAssume, DataMode::kSynthetic}) {
    const auto digits = [&](const std::string& transform) {
      return Shapes(
          "type: 'Data' top: 'd' top: 'l' data_param { batch_size: 2 backend: DIGITS } "
          "transform_param { " +
              transform + " }",
          mode);
    };
    EXPECT_EQ(digits("resize_param { height: 9 width: 6 }"), "d 2x1x9x6; l 2; ");
    EXPECT_EQ(digits("resize_param { height: 9 width: 6 resize_mode: FIT_LARGE_SIZE_AND_PAD }"),
              "d 2x1x9x6; l 2; ");
    EXPECT_EQ(digits("resize_param { height: 9 width: 6 resize_mode: FIT_SMALL_SIZE }"),
              "d 2x1x9x9; l 2; ");
    EXPECT_EQ(digits("resize_param { height: 9 width: 6 } crop_size: 5 noise_param { }"),
              "d 2x1x5x5; l 2; ");
    EXPECT_EQ(digits("expand_param { max_expand_ratio: 2 } resize_param { height: 9 width: 6 }"),
              "d 2x1x9x6; l 2; ");
  }
}

// The mean has the size that the images have before the crop.
TEST(DataLayer, TakesTheSettingsOfNvcaffesFiles) {
  const std::string path = ScratchPath("mean.binaryproto");
  BlobProto mean = Parse<BlobProto>("num: 1 channels: 1 height: 28 width: 28");
  for (int i = 0; i < 28 * 28; ++i) mean.add_data(1000);
  WriteFile(path, mean.SerializeAsString());
  DataNet net(
      "type: 'Data' top: 'd' top: 'l' data_param { batch_size: 20 backend: DIGITS } "
      "transform_param "
      "{ mean_file: '" +
      path +
      "' img_rand_resize_lower: 24 img_rand_resize_upper: 36 "
      "vertical_stretch_lower: 0.7 vertical_stretch_upper: 1.3 horizontal_stretch_lower: 0.7 "
      "horizontal_stretch_upper: 1.3 allow_upscale: true crop_size: 24 mirror: true }");
  EXPECT_EQ(net.ShapeOf("d"), (Shape{20, 1, 24, 24}));
  net->Forward();
  EXPECT_THAT(net.Values("d"),
              testing::Each(testing::AllOf(testing::Ge(-1000), testing::Le(-745))));
}

TEST(DataLayer, TakesTheSettingsOfIntelsFiles) {
  DataNet net(
      "type: 'Data' top: 'd' top: 'l' data_param { batch_size: 20 backend: DIGITS } "
      "transform_param "
      "{ random_aspect_ratio_param { min_area_ratio: 0.08 max_area_ratio: 1 aspect_ratio_change: "
      "0.75 resize_param { interp_mode: CUBIC } } crop_size: 24 mirror: true }");
  EXPECT_EQ(net.ShapeOf("d"), (Shape{20, 1, 24, 24}));
  net->Forward();
  EXPECT_THAT(net.Values("d"), testing::Contains(testing::Gt(100)));
}

}  // namespace
}  // namespace doppio
