// Tests the layers Data, ImageData, WindowData, AnnotatedData and HDF5Data in a net.
#include <hdf5.h>

#include <cstdio>

#include "proto/detection.pb.h"
#include "tests/data/data_net.h"

namespace doppio {
namespace {

using testing::Each;
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
  for (const char* transform : {"", "scale: 0.5 mirror: true crop_size: 20 mean_value: 3",
                                "mean_value: 128 scale: 0.0078125"}) {
    layers.push_back(
        "type: 'Data' top: 'x' top: 'y' data_param { backend: DIGITS size: 20 batch_size: 7 "
        "shuffle: true } transform_param { " +
        std::string(transform) + " }");
  }
  layers.push_back(ColourImages("mirror: true"));
  layers.push_back(
      ColourImages("mirror: true crop_h: 4 crop_w: 3 mean_value: [1, 2.5, 7] scale: 0.1"));
  layers.push_back(ColourImages("mirror: true crop_size: 3", true));
  return layers;
}

TEST(DataLayers, GiveAGpuTheSameBatches) {
  if (TestGpu() == nullptr) GTEST_SKIP() << kNoTestGpu;
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
TEST(DataLayers, GiveTheSameBatchesWhereTheNextIsStaged) {
  for (bool on_gpu : {false, true}) {
    if (on_gpu && TestGpu() == nullptr) continue;
    for (const std::string& layer : ManyLayers()) {
      DataNet plain(layer),
          net(layer, DataMode::kOpen, TRAIN, DType::kFloat32, on_gpu ? TestGpu() : MakeCpuDevice());
      for (int pass = 0; pass < 6; ++pass) {
        plain->Forward();
        net->Forward();
        EXPECT_EQ(net.Values("x"), plain.Values("x")) << layer;
        EXPECT_EQ(net.Values("y"), plain.Values("y"));
        // Staging must change neither this pass's tops nor the position in the data.
        for (int i = 0; i < pass % 3; ++i) net->StageNext();
        EXPECT_EQ(net.Values("x"), plain.Values("x")) << layer;
        EXPECT_EQ(net.kernel()->position(), plain.kernel()->position());
      }
      net->StageNext();
      for (DataNet* one : {&plain, &net}) one->kernel()->Seek(1);
      for (int pass = 0; pass < 2; ++pass) {
        plain->Forward();
        net->Forward();
        EXPECT_EQ(net.Values("x"), plain.Values("x")) << layer;
        EXPECT_EQ(net.Values("y"), plain.Values("y"));
      }
    }
  }
}

TEST(DataLayers, FailInTheForwardWhoseBatchWasStaged) {
  if (TestGpu() == nullptr) GTEST_SKIP() << kNoTestGpu;
  const std::string path = ScratchPath("broken");
  WriteLmdb(path, {{"0", RawDatum(1, 1, 2, {1, 2}, 0)}, {"1", "no record"}});
  DataNet net("type: 'Data' top: 'x' top: 'y' data_param { backend: LMDB source: '" + path +
                  "' batch_size: 1 }",
              DataMode::kOpen, TRAIN, DType::kFloat32, TestGpu());
  net->Forward();
  net->StageNext();
  EXPECT_EQ(net.kernel()->position(), 1);
  EXPECT_THROW(net->Forward(), Error);
  net.kernel()->Seek(0);
  net->Forward();
  EXPECT_EQ(net.kernel()->position(), 1);
}

TEST(DataLayers, RoundImagesWhereTheyAreStoredIn16BitsAndNoLabels) {
  for (const std::string& layer : ManyLayers()) {
    for (DType type : {DType::kFloat16, DType::kBFloat16}) {
      for (bool on_gpu : {false, true}) {
        if (on_gpu && TestGpu() == nullptr) continue;
        const auto device = [&] { return on_gpu ? TestGpu() : MakeCpuDevice(); };
        DataNet exact(layer);
        DataNet net(layer, DataMode::kOpen, TRAIN, DType::kFloat32, device(), type);
        EXPECT_EQ(net.Top(0).dtype, type);
        EXPECT_EQ(net.Top(0).layout.channels_last(), on_gpu);
        EXPECT_EQ(net.Top(1).dtype, DType::kFloat32);
        EXPECT_EQ(net.kernel()->source_size(), exact.kernel()->source_size());
        for (int pass = 0; pass < 3; ++pass) {
          exact->Forward();
          net->Forward();
          EXPECT_EQ(net.Values("x"), Rounded(exact.Values("x"), type)) << layer;
          EXPECT_EQ(net.Values("y"), exact.Values("y"));
          EXPECT_EQ(net.kernel()->position(), exact.kernel()->position());
        }
        exact.kernel()->Seek(1);
        net.kernel()->Seek(1);
        exact->Forward();
        net->Forward();
        EXPECT_EQ(net.Values("x"), Rounded(exact.Values("x"), type)) << layer;
        EXPECT_GE(net.kernel()->wait_seconds(), 0);
      }
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
    EXPECT_EQ(net.kernel()->source_size(), 3);
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
  EXPECT_EQ(first.kernel(0)->position(), 2);
  const auto make_second = [&] { Net(graph, options, &store); };
  EXPECT_THAT(MessageOf(make_second), HasSubstr(path));
  ASSERT_EQ(std::rename((path + "_moved").c_str(), path.c_str()), 0);
  Net second(graph, options, &store);
  second.Forward();
  EXPECT_EQ(second.kernel(0)->position(), 2);
  EXPECT_EQ(first.kernel(0)->position(), 2);
}

TEST(DataLayer, GoesOnFromItsPosition) {
  DataNet first(ThreeRecords()), second(ThreeRecords());
  EXPECT_EQ(first.kernel()->position(), 0);
  first->Forward();
  EXPECT_EQ(first.kernel()->position(), 2);
  second.kernel()->Seek(first.kernel()->position());
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
  EXPECT_EQ(DataNet(layer, DataMode::kOpen, TRAIN).kernel()->source_size(), 60000);
  EXPECT_EQ(DataNet(layer, DataMode::kOpen, TEST).kernel()->source_size(), 10000);
}

TEST(DataLayer, SaysWhereTheMistakeIs) {
  EXPECT_EQ(
      Mistake(
          "type: 'Data' top: 'd'\ndata_param { backend: LMDB\n  source: 'none' batch_size: 1 }"),
      "4: net.prototxt:3:3: layer 'input': no LMDB database at 'none': there is no such file");
  EXPECT_EQ(Mistake("type: 'Data' top: 'd'\ndata_param { backend: DIGITS }"),
            "3: net.prototxt:2:1: layer 'input': batch_size must be at least 1");
  EXPECT_EQ(Mistake("type: 'Data' top: 'd' data_param { backend: DIGITS batch_size: 1 }\n"
                    "transform_param { crop_size: 99 }"),
            "3: net.prototxt:2:1: layer 'input': generated digit 0 (train): the crop 99x99 is "
            "larger than the "
            "image 28x28");
  EXPECT_EQ(Mistake("type: 'Data' top: 'd' data_param { backend: DIGITS batch_size: 1 }\n"
                    "transform_param { scale: 2\n  mean_file: 'none' }"),
            "4: net.prototxt:3:3: layer 'input': cannot read 'none': No such file or directory");
  EXPECT_EQ(Mistake("type: 'Data' top: 'd' data_param { backend: DIGITS batch_size: 1\n"
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
      EXPECT_THAT(Mistake(text),
                  testing::AllOf(testing::StartsWith("3: net.prototxt:3:3: layer 'input': "),
                                 HasSubstr("but the image is 1x28x28")));
    }
  }
  EXPECT_THAT(
      Mistake(
          "type: 'Data' top: 'd' top: 'a' top: 'b' data_param { backend: DIGITS batch_size: 1 }"),
      HasSubstr("2 tops for labels, but each record has 1"));
}

std::string TwoLabels(const std::string& tops, const std::string& more = "") {
  WriteFile(ScratchPath("a.png"), Png(1, 1, 3, {1, 2, 3}));
  WriteFile(ScratchPath("list.txt"), ScratchPath("a.png") + " 4 0.5\n");
  return "type: 'ImageData' " + tops + " image_data_param { source: '" + ScratchPath("list.txt") +
         "' batch_size: 2 " + more + " } ";
}

TEST(ImageDataLayer, DeliversSeveralLabelsInOneTopOrOneEach) {
  DataNet one(TwoLabels("top: 'd' top: 'l'"));
  one->Forward();
  EXPECT_THAT(one.Values("d"), ElementsAre(3, 2, 1, 3, 2, 1));
  EXPECT_EQ(one.ShapeOf("l"), (Shape{2, 2}));
  EXPECT_THAT(one.Values("l"), ElementsAre(4, 0.5, 4, 0.5));
  DataNet each(TwoLabels("top: 'd' top: 'a' top: 'b'"));
  each->Forward();
  EXPECT_EQ(each.ShapeOf("b"), Shape{2});
  EXPECT_THAT(each.Values("a"), ElementsAre(4, 4));
  EXPECT_THAT(each.Values("b"), ElementsAre(0.5, 0.5));
}

TEST(ImageDataLayer, NamesTheImageThatIsBroken) {
  const std::string layer = TwoLabels("top: 'd' top: 'l'");
  WriteFile(ScratchPath("a.png"), "no image");
  EXPECT_THAT(Mistake(layer),
              HasSubstr("layer 'input': image '" + ScratchPath("a.png") + "' (" +
                        ScratchPath("list.txt") + ":1): it is not a JPEG, PNG, BMP or PNM image"));
}

// Returns a layer with one 2 x 2 image and two windows: an object and background.
std::string TwoWindows(const std::string& more = "") {
  WriteFile(ScratchPath("a.png"), Png(2, 2, 3, {3, 2, 1, 6, 5, 4, 9, 8, 7, 12, 11, 10}));
  WriteFile(ScratchPath("windows.txt"),
            "# 0 " + ScratchPath("a.png") + " 3 2 2 2\n5 0.9 0 0 0 0\n5 0.1 1 1 1 1\n");
  return "type: 'WindowData' top: 'x' top: 'y' window_data_param { source: '" +
         ScratchPath("windows.txt") + "' batch_size: 4 " + more +
         " } transform_param { crop_size: 1 mirror: true mean_value: 1 } ";
}

TEST(WindowDataLayer, DeliversWindowsAndTheirClasses) {
  for (bool on_gpu : {false, true}) {
    if (on_gpu && TestGpu() == nullptr) continue;
    DataNet net(TwoWindows(), DataMode::kOpen, TRAIN, DType::kFloat32,
                on_gpu ? TestGpu() : MakeCpuDevice());
    EXPECT_EQ(net.ShapeOf("x"), (Shape{4, 3, 1, 1}));
    EXPECT_EQ(net.ShapeOf("y"), Shape{4});
    EXPECT_EQ(net.kernel()->source_size(), 0);
    net->Forward();
    EXPECT_THAT(net.Values("x"), ElementsAre(9, 10, 11, 9, 10, 11, 9, 10, 11, 0, 1, 2));
    EXPECT_THAT(net.Values("y"), ElementsAre(0, 0, 0, 5));
    EXPECT_EQ(net.kernel()->position(), 4);
  }
}

// Returns a layer with two 2 x 2 images; the second one has one object more.
std::string TwoAnnotated(const std::string& more = "") {
  const std::string path = ScratchPath("annotated");
  KeysAndValues records;
  for (int i = 0; i < 2; ++i) {
    AnnotatedDatum annotated;
    annotated.mutable_datum()->ParseFromString(RawDatum(1, 2, 2, {i, i, i, i}, 0));
    for (int group = 0; group <= i; ++group) {
      annotated.add_annotation_group()->set_group_label(10 * i + group);
      NormalizedBBox* box =
          annotated.mutable_annotation_group(group)->add_annotation()->mutable_bbox();
      for (auto set : {&NormalizedBBox::set_xmin, &NormalizedBBox::set_ymin}) (box->*set)(0);
      for (auto set : {&NormalizedBBox::set_xmax, &NormalizedBBox::set_ymax}) (box->*set)(0.5f);
    }
    records.push_back({std::to_string(i), annotated.SerializeAsString()});
  }
  WriteLmdb(path, records);
  return "type: 'AnnotatedData' top: 'x' top: 'y' data_param { backend: LMDB source: '" + path +
         "' batch_size: 2 } annotated_data_param { " + more + " } ";
}

TEST(AnnotatedDataLayer, DeliversBoxesInOrderAndThenRowsThatAreNone) {
  for (bool on_gpu : {false, true}) {
    if (on_gpu && TestGpu() == nullptr) continue;
    DataNet net(TwoAnnotated("max_boxes: 2"), DataMode::kOpen, TRAIN, DType::kFloat32,
                on_gpu ? TestGpu() : MakeCpuDevice());
    EXPECT_EQ(net.ShapeOf("x"), (Shape{2, 1, 2, 2}));
    EXPECT_EQ(net.ShapeOf("y"), (Shape{1, 1, 4, 8}));
    EXPECT_EQ(net.kernel()->source_size(), 2);
    net->Forward();
    EXPECT_THAT(net.Values("x"), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
    EXPECT_THAT(net.Values("y"), ElementsAre(0, 0, 0, 0, 0, 0.5, 0.5, 0,   //
                                             1, 10, 0, 0, 0, 0.5, 0.5, 0,  //
                                             1, 11, 0, 0, 0, 0.5, 0.5, 0,  //
                                             -1, -1, -1, -1, -1, -1, -1, -1));
  }
}

TEST(AnnotatedDataLayer, SaysWhatIsWrong) {
  EXPECT_THAT(Mistake(TwoAnnotated("max_boxes: 0")), HasSubstr("max_boxes must be at least 1"));
  EXPECT_THAT(Mistake(TwoAnnotated() + "transform_param { resize_param { height: 1 } }"),
              HasSubstr("layer 'input': resize_param needs height and width"));
  EXPECT_THAT(Mistake(TwoAnnotated() + "transform_param { cutout_param { size: 1 } }"),
              HasSubstr("cutout_param is for layers Data and ImageData"));
}

TEST(WindowDataLayer, SaysWhatIsWrong) {
  EXPECT_THAT(Mistake(TwoWindows("crop_mode: 'none'")), HasSubstr("layer 'input': crop_mode is"));
  EXPECT_THAT(Mistake("type: 'WindowData' top: 'x' transform_param { crop_size: 3 }"),
              HasSubstr("batch_size must be at least 1"));
  EXPECT_THAT(Mistake("type: 'WindowData' top: 'x' window_data_param { batch_size: 1 }"),
              HasSubstr("window_data_param needs a source"));
}

std::string FourRows() {
  const std::string path = ScratchPath("a.h5");
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const float values[] = {1, 2, 3, 4, 5, 6, 7, 8};
  for (const char* name : {"d", "l"}) {
    const hsize_t shape[] = {4, 2};
    const hid_t space = H5Screate_simple(name[0] == 'd' ? 2 : 1, shape, nullptr);
    const hid_t data =
        H5Dcreate2(file, name, H5T_NATIVE_FLOAT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(data);
    H5Sclose(space);
  }
  H5Fclose(file);
  WriteFile(ScratchPath("list.txt"), path);
  return "type: 'HDF5Data' top: 'd' top: 'l' hdf5_data_param { source: '" +
         ScratchPath("list.txt") + "' batch_size: 3 } ";
}

TEST(Hdf5DataLayer, DeliversTheDataSetsNamedLikeItsTops) {
  DataNet net(FourRows(), DataMode::kOpen, TRAIN, DType::kFloat64);
  EXPECT_EQ(net.ShapeOf("d"), (Shape{3, 2}));
  EXPECT_EQ(net.ShapeOf("l"), Shape{3});
  EXPECT_EQ(net.kernel()->source_size(), 4);
  net->Forward();
  EXPECT_THAT(net.Values("d"), ElementsAre(1, 2, 3, 4, 5, 6));
  net->Forward();
  EXPECT_THAT(net.Values("l"), ElementsAre(4, 1, 2));
  EXPECT_EQ(net.kernel()->position(), 6);
}

TEST(Hdf5DataLayer, SaysWhatIsWrong) {
  EXPECT_THAT(Mistake(FourRows() + "transform_param { scale: 2 }"),
              HasSubstr("HDF5Data does not transform its data"));
  EXPECT_THAT(Mistake("type: 'HDF5Data' top: 'd'"), HasSubstr("batch_size must be at least 1"));
  EXPECT_THAT(Mistake("type: 'HDF5Data' top: 'd' hdf5_data_param { batch_size: 1 }"),
              HasSubstr("needs a source"));
  EXPECT_THAT(Mistake("type: 'HDF5Data' top: 'd' hdf5_data_param { source: 'none' batch_size: 1 }"),
              HasSubstr("layer 'input': cannot read 'none'"));
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

TEST(AnnotatedDataLayer, ScalesBoxesOfCoveredSizes) {
  DataNet net(TwoAnnotated("max_boxes: 2") +
              "transform_param { resize_param { height: 2 width: 2 resize_mode: FIT_SMALL_SIZE "
              "height_scale: 1 width_scale: 2 } }");
  net->Forward();
  // Samples have 2 x 2 pixels.
  const auto rows = net.Values("y");
  EXPECT_THAT(std::vector<double>(rows.begin(), rows.begin() + 8),
              ElementsAre(0, 0, 0, 0, 0, 0.5, 1, 0));
}

TEST(Hdf5DataLayer, NeedsNoHostWithoutItsSource) {
  if (TestGpu() == nullptr) GTEST_SKIP() << kNoTestGpu;
  DataNet cpu(FourRows(), DataMode::kSynthetic);
  DataNet gpu(FourRows(), DataMode::kSynthetic, TRAIN, DType::kFloat32, TestGpu());
  DataNet open(FourRows(), DataMode::kOpen, TRAIN, DType::kFloat32, TestGpu());
  EXPECT_EQ(gpu->plan().kernel_types[0]->engine, "cuda");
  EXPECT_EQ(open->plan().kernel_types[0]->engine, "host");
  cpu->Forward();
  gpu->Forward();
  EXPECT_EQ(gpu.Values("d"), cpu.Values("d"));
  EXPECT_EQ(gpu.Values("l"), cpu.Values("l"));
}

}  // namespace
}  // namespace doppio
