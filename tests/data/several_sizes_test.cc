// Tests sources whose samples have several sizes, with a batch of 1, and the plans of a net that
// reads them.
#include <algorithm>
#include <map>

#include "core/math/tensor_ops.h"
#include "tests/data/source_groups.h"
#include "tests/testing/log_lines.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A net with a plan as in training, and the gradient of each parameter.
class TrainNet {
 public:
  explicit TrainNet(const std::string& text, MemorySaving saving = {},
                    std::unique_ptr<Device> device = MakeCpuDevice())
      : device_(std::move(device)), store_(device_.get(), DType::kFloat32, 1) {
    PlanOptions options;
    options.device = device_.get();
    options.backward = true;
    options.saving = saving;
    net_ = std::make_unique<Net>(MakeTestGraph(text, DataMode::kOpen), options, &store_);
  }

  Net* operator->() { return net_.get(); }

  // Runs a pass. Returns the loss and all gradients.
  std::vector<double> Pass() {
    std::vector<double> numbers = {net_->Forward()};
    net_->Backward(false);
    for (const Param& param : store_.params()) {
      const std::vector<double> gradient = ReadPlain(param.grad, device_.get());
      numbers.insert(numbers.end(), gradient.begin(), gradient.end());
    }
    return numbers;
  }

 private:
  std::unique_ptr<Device> device_;
  ParamStore store_;
  std::unique_ptr<Net> net_;
};

struct Size {
  int height, width;
};

std::string NameOf(const std::string& what, const Size& size) {
  return what + std::to_string(size.height) + "x" + std::to_string(size.width) + ".png";
}

// Writes an image of each size and one of its labels, 0 or 1. Returns the list's path.
std::string WritePairs(const std::vector<Size>& sizes, bool labels = true) {
  std::string list;
  for (const Size& size : sizes) {
    std::vector<int> pixels, classes;
    for (int i = 0; i < size.height * size.width; ++i) {
      pixels.push_back((i * 37 + size.width) % 256);
      classes.push_back(pixels.back() > 100 ? 1 : 0);
    }
    WriteFile(ScratchPath(NameOf("i", size)), Png(size.height, size.width, 1, pixels));
    WriteFile(ScratchPath(NameOf("l", size)), Png(size.height, size.width, 1, classes));
    list += NameOf("i", size) + (labels ? " " + NameOf("l", size) : " 0") + "\n";
  }
  const std::string path = NewPath("list");
  WriteFile(path, list);
  return path;
}

std::string PairsLayer(const std::string& list, const std::string& more = "") {
  return "layer { name: 'pairs' type: 'ImageSegData' top: 'data' top: 'label' image_data_param { "
         "source: '" +
         list + "' root_folder: '" + ScratchPath("") + "' is_color: false batch_size: 1 " + more +
         " } transform_param { scale: 0.01 mean_value: 100 } }\n";
}

// A small net of the form of segmentation: down, up, a skip, an in-place layer.
constexpr char kSegmentation[] = R"(
layer { name: 'c1' type: 'Convolution' bottom: 'data' top: 'c1'
  convolution_param { num_output: 16 kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }
layer { name: 'r1' type: 'ReLU' bottom: 'c1' top: 'c1' }
layer { name: 'p' type: 'Pooling' bottom: 'c1' top: 'p' pooling_param { kernel_size: 2 stride: 2 } }
layer { name: 'c2' type: 'Convolution' bottom: 'p' top: 'c2'
  convolution_param { num_output: 16 kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }
layer { name: 'r2' type: 'ReLU' bottom: 'c2' top: 'c2' }
layer { name: 'up' type: 'Deconvolution' bottom: 'c2' top: 'up'
  convolution_param { num_output: 2 kernel_size: 4 stride: 2 pad: 1 weight_filler { type: 'xavier' } } }
layer { name: 'crop' type: 'Crop' bottom: 'up' bottom: 'label' top: 'crop' }
layer { name: 'side' type: 'Convolution' bottom: 'c1' top: 'side'
  convolution_param { num_output: 2 kernel_size: 1 weight_filler { type: 'xavier' } } }
layer { name: 'sum' type: 'Eltwise' bottom: 'crop' bottom: 'side' top: 'sum' }
layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'sum' bottom: 'label' top: 'loss' }
)";

const std::vector<Size> kSizes = {{8, 12}, {12, 8}, {10, 10}, {32, 20}, {8, 12}, {6, 4}};

// Expects that each pass of the net gives what a net with only this image gives.
void ExpectAsAlone(TrainNet* net, const std::function<std::string(const Size&)>& alone,
                   MemorySaving saving = {}) {
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (const Size& size : kSizes) {
      TrainNet one(alone(size), saving);
      const std::vector<double> expected = one.Pass(), numbers = net->Pass();
      ASSERT_EQ(numbers.size(), expected.size());
      for (size_t i = 0; i < numbers.size(); ++i) {
        ASSERT_NEAR(numbers[i], expected[i], 1e-5 * std::max(1.0, std::abs(expected[i])))
            << "epoch " << epoch << ", " << size.height << "x" << size.width << ", number " << i;
      }
    }
  }
}

TEST(SeveralSizes, TrainAsEachImageAloneWithAnyNumberOfThreads) {
  for (int threads : {1, 2, 3}) {
    const ThreadCount count(threads);
    TrainNet net(PairsLayer(WritePairs(kSizes)) + kSegmentation);
    ExpectAsAlone(&net,
                  [](const Size& size) { return PairsLayer(WritePairs({size})) + kSegmentation; });
  }
}

TEST(SeveralSizes, TrainWithRecomputationAndOffload) {
  MemorySaving recompute, offload;
  recompute.segments = 3;
  offload.activation_bytes = 0;
  offload.min_offloaded_bytes = 1;
  for (const MemorySaving& saving : {recompute, offload}) {
    TrainNet net(PairsLayer(WritePairs(kSizes)) + kSegmentation, saving);
    ExpectAsAlone(
        &net, [](const Size& size) { return PairsLayer(WritePairs({size})) + kSegmentation; },
        saving);
  }
}

TEST(SeveralSizes, KeepPlansInOneMemory) {
  TrainNet net(PairsLayer(WritePairs(kSizes)) + kSegmentation);
  std::map<std::vector<int64_t>, const Plan*> plans;
  LogLines log;
  for (size_t i = 0; i < kSizes.size(); ++i) net.Pass();
  EXPECT_GE(log.Count("For larger samples, activations and scratch of the train net"), 1);
  const std::shared_ptr<void> memory = net->plan().buffers;
  for (size_t i = 0; i < 2 * kSizes.size(); ++i) {
    net.Pass();
    const Plan*& kept = plans[net->Blob("sum").shape.dims()];
    if (kept == nullptr) kept = &net->plan();
    EXPECT_EQ(&net->plan(), kept);
    EXPECT_EQ(net->plan().buffers, memory);
  }
  EXPECT_EQ(plans.size(), 5u);
}

// The rows of images are the steps of sequences, which continue from image to image.
TEST(SeveralSizes, CarryTheStateOfARecurrentLayer) {
  constexpr int kWidth = 6;
  const auto write = [](int first_row, int rows) {
    std::vector<int> pixels, continues;
    for (int row = first_row; row < first_row + rows; ++row) {
      for (int column = 0; column < kWidth; ++column) {
        pixels.push_back((row * 37 + column * 91) % 256);
        continues.push_back(row % 7 == 3 ? 0 : 1);
      }
    }
    const std::string name = std::to_string(first_row) + "_" + std::to_string(rows) + ".png";
    WriteFile(ScratchPath("i" + name), Png(rows, kWidth, 1, pixels));
    WriteFile(ScratchPath("l" + name), Png(rows, kWidth, 1, continues));
    return "i" + name + " l" + name + "\n";
  };
  const auto net_of = [](const std::string& lines) {
    const std::string list = NewPath("list");
    WriteFile(list, lines);
    return PairsLayer(list) + R"(
layer { name: 'columns' type: 'Slice' bottom: 'label' top: 'first' top: 'others'
  slice_param { axis: 3 slice_point: 1 } }
layer { name: 'rest' type: 'Silence' bottom: 'others' }
layer { name: 'cont' type: 'Reshape' bottom: 'first' top: 'cont'
  reshape_param { shape { dim: -1 dim: 1 } } }
layer { name: 'x' type: 'Reshape' bottom: 'data' top: 'x'
  reshape_param { shape { dim: -1 dim: 1 dim: 6 } } }
layer { name: 'lstm' type: 'LSTM' bottom: 'x' bottom: 'cont' top: 'h' loss_weight: 1
  recurrent_param { num_output: 3 weight_filler { type: 'uniform' min: -1 max: 1 } } })";
  };
  std::string lines;
  std::vector<double> carried;
  const std::vector<int> heights = {8, 12, 8, 12, 5};  // each begins with a row that continues
  int rows = 0;
  for (int height : heights) {
    lines += write(rows, height);
    rows += height;
  }
  TrainNet several(net_of(lines)), whole(net_of(write(0, rows)));
  const auto states = [](TrainNet* net) {
    net->Pass();
    return ReadPlain((*net)->Blob("h"), (*net)->params().device());
  };
  for (size_t i = 0; i < heights.size(); ++i) {
    for (double value : states(&several)) carried.push_back(value);
  }
  const std::vector<double> expected = states(&whole);
  ASSERT_EQ(carried.size(), expected.size());
  for (size_t i = 0; i < carried.size(); ++i) EXPECT_NEAR(carried[i], expected[i], 1e-6) << i;
}

TEST(SeveralSizes, ForgetThePlansThatWereNotUsedForLongest) {
  std::vector<Size> sizes;
  for (int i = 0; i < ShapePlans::kMost + 8; ++i)
    sizes.push_back({4 + 2 * (i % 8), 4 + 2 * (i / 8)});
  TrainNet net(PairsLayer(WritePairs(sizes)) + kSegmentation);
  std::vector<std::vector<double>> first;
  for (size_t i = 0; i < sizes.size(); ++i) first.push_back(net.Pass());
  for (const std::vector<double>& numbers : first) EXPECT_EQ(net.Pass(), numbers);
}

// Images and labels come from two sources, whose sizes change together; a third one has one size.
TEST(SeveralSizes, ChangeTogetherInTwoSources) {
  const auto layer = [](const std::string& name, const std::string& tops, const std::string& list,
                        const std::string& fields, const std::string& transform) {
    return "layer { name: '" + name + "' type: 'ImageData' " + tops +
           " image_data_param { source: '" + list + "' root_folder: '" + ScratchPath("") +
           "' is_color: false batch_size: 1 " + fields + " } transform_param { " + transform +
           " } }\n";
  };
  const auto text = [&](const std::vector<Size>& sizes) {
    std::string labels;
    for (const Size& size : sizes) labels += NameOf("l", size) + " 0\n";
    const std::string images = WritePairs(sizes, false), path = NewPath("labels");
    WriteFile(path, labels);
    std::string net = kSegmentation;
    const std::string first = "layer { name: 'crop'";
    net.insert(net.find(first), layer("labels", "top: 'label'", path, "", ""));
    return layer("one size", "top: 'fixed' top: 'class'", images, "new_height: 6 new_width: 6",
                 "scale: 0.01") +
           layer("images", "top: 'data'", images, "", "scale: 0.01 mean_value: 100") + net + R"(
layer { name: 'fc' type: 'InnerProduct' bottom: 'fixed' top: 'fc'
  inner_product_param { num_output: 3 weight_filler { type: 'xavier' } } }
layer { name: 'other loss' type: 'SoftmaxWithLoss' bottom: 'fc' bottom: 'class' top: 'other loss' }
)";
  };
  TrainNet net(text(kSizes));
  ExpectAsAlone(&net, [&](const Size& size) { return text({size}); });
}

TEST_ON_DEVICES(SeveralSizes, ComeFromEverySourceOfImages) {
  WriteFile(ScratchPath("a.png"), Png(2, 3, 1, {10, 20, 30, 40, 50, 60}));
  WriteFile(ScratchPath("b.png"), Png(3, 1, 1, {70, 80, 90}));
  WriteFile(ScratchPath("list.txt"), "a.png 1\nb.png 2\n");
  const std::string list = "source: '" + ScratchPath("list.txt") + "' root_folder: '" +
                           ScratchPath("") + "' is_color: false batch_size: 1 ";
  const std::string database = NewPath("db");
  WriteLmdb(database, {{"0", RawDatum(1, 2, 3, {10, 20, 30, 40, 50, 60}, 1)},
                       {"1", RawDatum(1, 3, 1, {70, 80, 90}, 2)}});
  const std::vector<std::string> layers = {
      "type: 'ImageData' top: 'd' top: 'l' image_data_param { " + list + "}",
      "type: 'ImageSegData' top: 'd' top: 'l' image_data_param { label_type: IMAGE " + list + "}",
      "type: 'Data' top: 'd' top: 'l' data_param { backend: LMDB batch_size: 1 source: '" +
          database + "' }"};
  for (const std::string& layer : layers) {
    DataNet net(layer, DataMode::kOpen, TRAIN, DType::kFloat32, TestDevice());
    for (int epoch = 0; epoch < 2; ++epoch) {
      net->Forward();
      EXPECT_EQ(net.ShapeOf("d"), (Shape{1, 1, 2, 3})) << layer;
      EXPECT_THAT(net.Values("d"), ElementsAre(10, 20, 30, 40, 50, 60)) << layer;
      EXPECT_EQ(net.Values("l")[0], 1) << layer;
      net->Forward();
      EXPECT_EQ(net.ShapeOf("d"), (Shape{1, 1, 3, 1})) << layer;
      EXPECT_THAT(net.Values("d"), ElementsAre(70, 80, 90)) << layer;
      EXPECT_EQ(net.Values("l")[0], 2) << layer;
    }
    net.source()->Seek(1);
    net->Forward();
    EXPECT_EQ(net.ShapeOf("d"), (Shape{1, 1, 3, 1})) << layer;
  }
}

TEST(SeveralSizes, ComeFromScaleFactors) {
  TrainNet net(PairsLayer(WritePairs({{8, 12}})) + kSegmentation);
  std::string layer = PairsLayer(WritePairs({{8, 12}}));
  layer.insert(layer.find("scale: 0.01"), "scale_factors: [0.5, 1, 2] ");
  TrainNet scaled(layer + kSegmentation);
  std::map<std::vector<int64_t>, int> seen;
  for (int i = 0; i < 40; ++i) {
    scaled.Pass();
    ++seen[scaled->Blob("sum").shape.dims()];
  }
  EXPECT_EQ(seen.size(), 3u);
}

TEST(SeveralSizes, NeedABatchOfOne) {
  const std::string list = WritePairs(kSizes);
  std::string layer = PairsLayer(list);
  layer.replace(layer.find("batch_size: 1"), 13, "batch_size: 2");
  TrainNet net(layer + kSegmentation);
  EXPECT_THAT(MessageOf([&] { net.Pass(); }),
              HasSubstr("i12x8.png' (" + list +
                        ":2): it is 12x8 (height x width), but the first one is 8x12: images of "
                        "one batch must be of one size"));
}

TEST(SeveralSizes, MustSuitTheParameters) {
  TrainNet net(PairsLayer(WritePairs({{8, 12}, {8, 12}, {12, 10}})) +
               "layer { name: 'fc' type: 'InnerProduct' bottom: 'data' top: 'fc' "
               "inner_product_param { num_output: 2 } }\n"
               "layer { name: 's' type: 'Silence' bottom: 'label' }");
  net.Pass();
  net.Pass();
  EXPECT_THAT(MessageOf([&] { net.Pass(); }),
              HasSubstr("layer 'fc': its parameter 0 is 2x96 and would have to be 2x120"));
}

}  // namespace
}  // namespace doppio
