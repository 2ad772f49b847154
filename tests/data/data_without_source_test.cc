// Tests data layers of nets that are built without their data, to infer shapes or to measure time.
#include "layers/source/synthetic.h"
#include "tests/data/data_net.h"

namespace doppio {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(DataWithoutSource, HasTheShapeThatItsFieldsGive) {
  for (DataMode mode : {DataMode::kAssume, DataMode::kSynthetic}) {
    const auto data = [&](const std::string& param, const std::string& transform = "") {
      return Shapes("type: 'Data' top: 'd' top: 'l' data_param { batch_size: 4 source: 'none' " +
                        param + " } transform_param { " + transform + " }",
                    mode);
    };
    EXPECT_EQ(data("backend: LMDB", "crop_size: 5"), "d 4x3x5x5; l 4; ");
    EXPECT_EQ(data("backend: LMDB", "crop_h: 5 crop_w: 6 mean_value: [1, 2]"), "d 4x2x5x6; l 4; ");
    EXPECT_EQ(data("backend: IDX"), "d 4x1x28x28; l 4; ");
    EXPECT_EQ(data("backend: CIFAR", "crop_size: 28"), "d 4x3x28x28; l 4; ");
    EXPECT_EQ(data("backend: SHAPES"), "d 4x3x128x128; l 4; ");
    EXPECT_EQ(data("backend: SHAPES shapes_size: 75"), "d 4x3x75x75; l 4; ");
    EXPECT_THAT(
        MessageOf([&] { data("backend: SHAPES shapes_size: 9"); }),
        HasSubstr("layer 'input': data_param: shapes_size is 9; images have from 32 to 1024"));
    EXPECT_THAT(MessageOf([&] { data("backend: LMDB"); }),
                HasSubstr("without it, the shape is known only if crop_size is set"));
    EXPECT_EQ(
        Shapes(
            "type: 'ImageData' top: 'd' top: 'l' image_data_param { source: 'none' new_height: 6 "
            "new_width: 7 is_color: false }",
            mode),
        "d 1x1x6x7; l 1; ");
    EXPECT_EQ(Shapes("type: 'WindowData' top: 'd' top: 'l' window_data_param { source: 'none' "
                     "batch_size: 2 } transform_param { crop_size: 9 }",
                     mode),
              "d 2x3x9x9; l 2; ");
    EXPECT_EQ(Shapes("type: 'AnnotatedData' top: 'd' top: 'l' data_param { source: 'none' backend: "
                     "LMDB batch_size: 2 } transform_param { resize_param { height: 4 width: 5 } }",
                     mode),
              "d 2x3x4x5; l 1x1x200x8; ");
    EXPECT_EQ(Shapes("type: 'BoxData' top: 'd' top: 'l' data_param { source: 'none' backend: LMDB "
                     "batch_size: 2 } transform_param { resize_param { height: 4 width: 5 } }",
                     mode),
              "d 2x3x4x5; l 2x150; ");
  }
}

// Six mean_value may be those of two images, or a mistake.
TEST(DataWithoutSource, SaysThatAnUnusualNumberOfChannelsIsAssumed) {
  const auto shape = [](const std::string& means) {
    return MakeTestGraph(
               "layer { name: 'input' type: 'Data' top: 'd' data_param { batch_size: 4 source: "
               "'none' backend: LMDB } transform_param { crop_size: 5 mean_value: " +
                   means + " } }",
               DataMode::kAssume)
        .nodes[0]
        .shape;
  };
  EXPECT_FALSE(shape("[1, 2, 3]").guessed);
  const LayerShape six = shape("[1, 2, 3, 4, 5, 6]");
  EXPECT_TRUE(six.guessed);
  EXPECT_EQ(six.tops[0], (Shape{4, 6, 5, 5}));
  EXPECT_THAT(six.missing.value().message(), HasSubstr("; its samples are assumed to be 6x5x5"));
}

// Mistakes are also found without the data, so that `check` reports them.
TEST(DataWithoutSource, SaysWhatIsWrongWithItsTransforms) {
  for (DataMode mode : {DataMode::kAssume, DataMode::kSynthetic}) {
    const auto shapes = [&](const std::string& type, const std::string& transform) {
      return Shapes("type: '" + type +
                        "' top: 'd' top: 'l' data_param { batch_size: 4 backend: "
                        "LMDB source: 'none' } transform_param { crop_size: 5 " +
                        transform + " }",
                    mode);
    };
    const auto mistake = [&](const std::string& type, const std::string& transform) {
      return MessageOf([&] { shapes(type, transform); });
    };
    EXPECT_THAT(mistake("Data", "pad: 20000"), HasSubstr("pad must be at most 16384 pixels"));
    EXPECT_THAT(mistake("AnnotatedData", "pad: 4"), HasSubstr("pad is for layers Data"));
    EXPECT_THAT(mistake("Data", "resize_param { height: 5 }"), HasSubstr("height and width"));
    EXPECT_THAT(mistake("AnnotatedData", "noise_param { prob: 2 }"), HasSubstr("from 0 to 1"));
    EXPECT_THAT(mistake("AnnotatedData", "rotation_param { }"), HasSubstr("is for layers Data"));
    EXPECT_THAT(mistake("Data", "mean_file: 'm' mean_value: 1"), HasSubstr("set only one of"));
    EXPECT_NO_THROW(shapes("Data", "vertical_stretch_lower: 0.7"));
  }
  EXPECT_THAT(
      LayerMistake("type: 'WindowData' top: 'd' top: 'l' window_data_param { source: 'none' "
                   "batch_size: 2 } transform_param { crop_size: 9 noise_param { } }",
                   DataMode::kAssume),
      HasSubstr("noise_param is for layers Data, ImageData and AnnotatedData"));
}

TEST(DataWithoutSource, IsOpenedWhereItIsTheOnlyOneToKnow) {
  EXPECT_EQ(Shapes(ThreeRecords(), DataMode::kSynthetic), "d 2x1x1x2; l 2; ");
  EXPECT_EQ(Shapes(ThreeRecords() + "transform_param { crop_size: 1 }", DataMode::kSynthetic),
            "d 2x1x1x1; l 2; ");
}

TEST(DataWithoutSource, IsRandomAndWithLabelsInRange) {
  DataNet net(
      "type: 'Data' top: 'd' top: 'l' data_param { backend: LMDB source: 'none' batch_size: 3 } "
      "transform_param { crop_size: 8 }",
      DataMode::kSynthetic);
  net->Forward();
  const std::vector<double> data = net.Values("d");
  EXPECT_THAT(data, Each(testing::AllOf(testing::Gt(-1), testing::Le(1))));
  EXPECT_NE(data[0], data[1]);
  EXPECT_THAT(net.Values("l"), ElementsAre(0, 1, 0));
  net->Forward();
  EXPECT_EQ(net.Values("d"), data);
  EXPECT_EQ(net.source(), nullptr);
}

// -1 is no label, and a loss with a label for each pixel rejects it. With this seed, the random
// number of element 55715 is exactly 0, the end of the range.
TEST(DataWithoutSource, HasOnlyValuesThatAreLabelsOfPixels) {
  KernelArgs args;
  args.type = "Data";
  args.seed = 33;
  std::vector<float> values(60000);
  SyntheticTops(args).Fill(0, 2, {2, 1, 100, 300}, 0, values.data());
  EXPECT_THAT(values, Each(testing::AllOf(testing::Gt(-1), testing::Le(1))));
  EXPECT_EQ(values[55715], 1);
}

std::string AnnotatedLayer(int max_boxes) {
  return "type: 'AnnotatedData' top: 'd' top: 'l' data_param { backend: LMDB source: 'none' "
         "batch_size: 3 } annotated_data_param { max_boxes: " +
         std::to_string(max_boxes) + " } transform_param { resize_param { height: 4 width: 5 } }";
}

TEST(DataWithoutSource, HasObjectsThatLossesTake) {
  for (const int max_boxes : {1, 5}) {
    DataNet net(AnnotatedLayer(max_boxes), DataMode::kSynthetic);
    net->Forward();
    const std::vector<double> labels = net.Values("l");
    const size_t objects = static_cast<size_t>(3 * std::min(2, max_boxes));
    ASSERT_EQ(labels.size(), static_cast<size_t>(3 * max_boxes * 8));
    for (size_t row = 0; row < labels.size() / 8; ++row) {
      const double* label = &labels[8 * row];
      if (row >= objects) {
        EXPECT_THAT(std::vector<double>(label, label + 8), Each(-1));
        continue;
      }
      const size_t image = 3 * row / objects;
      EXPECT_EQ(label[0], static_cast<double>(image)) << "image";
      EXPECT_EQ(label[1], 1) << "class";
      EXPECT_EQ(label[7], 0) << "difficult";
      for (const size_t corner : {3, 4}) {
        EXPECT_GE(label[corner], 0);
        EXPECT_GE(label[corner + 2], label[corner] + 0.25);
        EXPECT_LE(label[corner + 2], 1);
      }
    }
  }
}

// Later passes copy nothing to the device: the data stays as it is.
TEST_ON_DEVICES(DataWithoutSource, IsWrittenOnceOnAGpuAndInAnyType) {
  const std::string layer =
      "type: 'Data' top: 'd' top: 'l' data_param { backend: LMDB source: 'none' batch_size: 3 } "
      "transform_param { crop_size: 5 }";
  DataNet exact(layer, DataMode::kSynthetic);
  exact->Forward();
  for (DType type : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    DataNet net(layer, DataMode::kSynthetic, TRAIN, DType::kFloat32, TestDevice(), type);
    EXPECT_EQ(net.Top(0).dtype, type);
    EXPECT_EQ(net.Top(0).layout.channels_last(), OnGpu() && Is16Bit(type));
    for (int pass = 0; pass < 3; ++pass) {
      net->Forward();
      EXPECT_EQ(net.Values("d"), Rounded(exact.Values("d"), type)) << pass;
      EXPECT_EQ(net.Values("l"), exact.Values("l"));
      // Plays another layer that overwrites the shared scratch memory.
      const Buffer& scratch = net->plan().buffers->scratch[0];
      const std::vector<char> noise(static_cast<size_t>(scratch.bytes()), static_cast<char>(0xff));
      net.device()->CopyFromHost(scratch.data(), noise.data(), scratch.bytes());
    }
    if (!OnGpu()) continue;
    EXPECT_EQ(net->plan().kernel_types[0]->engine, "cuda");
    const std::vector<double> others(225, 0.5);
    WritePlain(others, net.Top(0), net.device());
    net->Forward();
    EXPECT_EQ(net.Values("d"), others);
  }
}

}  // namespace
}  // namespace doppio
