#include <gtest/gtest.h>

#include "layers/loss/loss_normalizer.h"
#include "layers/shape/filter_rows.h"
#include "tests/layers/common/two_ranks.h"
#include "tests/testing/layer_case.h"
#include "tests/testing/mistake.h"
#include "tests/testing/test_layers.h"

namespace doppio {
namespace {

using Values = std::vector<double>;

// Returns a net that learns from `rows` rows of 3 inputs and 2 targets (1 label for a softmax).
std::string NetOf(int rows, const std::string& filter, const std::string& loss) {
  const std::string n = std::to_string(rows);
  const std::string x = filter.empty() ? "x" : "fx", t = filter.empty() ? "t" : "ft";
  return "layer { name: 'in' type: 'TestSource' top: 'x' top: 't' top: 'sel' param { lr_mult: 1 } "
         "input_param { "
         "shape { dim: " +
         n + " dim: 3 } shape { dim: " + n + (loss == "SoftmaxWithLoss" ? "" : " dim: 2") +
         " } shape { dim: " + n + " } } }\n" + filter +
         "layer { name: 'ip' type: 'InnerProduct' bottom: '" + x +
         "' top: 'y' inner_product_param { num_output: 2 "
         "weight_filler { type: 'uniform' min: -1 max: 1 } bias_filler { type: 'constant' value: "
         "0.3 } } }\n"
         "layer { name: 'tanh' type: 'TanH' bottom: 'y' top: 'y' }\n"
         "layer { name: 'loss' type: '" +
         loss + "' bottom: 'y' bottom: '" + t + "' top: 'loss'" +
         (loss != "EuclideanLoss" ? " propagate_down: [true, false] }\n" : " }\n");
}

constexpr char kFilter[] =
    "layer { name: 'f' type: 'Filter' bottom: 'x' bottom: 't' bottom: 'sel' top: 'fx' top: 'ft' "
    "propagate_down: [true, true, false] }\n";

struct Passed {
  double loss = 0;
  Values filtered;  // blob fx; empty without a filter
  std::vector<Values> bottom_gradients, param_gradients;
};

// Runs forward and backward for each of `batches` in turn. Returns the results of the last one.
Passed Learn(const std::string& text, const std::vector<std::vector<Values>>& batches,
             Device* device) {
  PlanOptions options;
  options.device = device;
  options.dtype = DType::kFloat32;
  options.backward = options.keep_all = true;
  ParamStore store(device, DType::kFloat32, 5);
  Net net(GraphFromText(text), options, &store);
  auto* source = dynamic_cast<TestSource*>(InnermostKernel(net.plan().kernel(0)));
  Passed passed;
  for (const std::vector<Values>& batch : batches) {
    source->values = batch;
    passed.loss = net.Forward();
    net.Backward(false);
  }
  if (net.graph().FindEdge("fx") >= 0) passed.filtered = ReadPlain(net.Blob("fx"), device);
  passed.bottom_gradients = source->gradients;
  for (const Param& param : store.params())
    passed.param_gradients.push_back(ReadPlain(param.grad, device));
  return passed;
}

void ExpectNear(const Values& got, const Values& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], want[i], 1e-6) << what << ", element " << i;
}

const Values kFilterInput = {1, 2, 3, 4, 5, 6, -1, -2, -3, 0.5, 0.25, 0};

TEST_ON_DEVICES(Filter, LearnsAsIfTheOtherRowsWereNotThere) {
  const struct {
    const char* loss;
    Values targets, some;
  } cases[] = {
      {"EuclideanLoss", {1, 0, 0, 1, 1, 1, 0, 0}, {0, 1, 0, 0}},
      {"SigmoidCrossEntropyLoss", {1, 0, 0, 1, 1, 1, 0, 0}, {0, 1, 0, 0}},
      // A label that is not a class does not matter in a row that is filtered out.
      {"SoftmaxWithLoss", {7, 1, 9, 0}, {1, 0}},
  };
  const std::unique_ptr<Device> device = TestDevice();
  {
    for (const auto& c : cases) {
      const std::string what = std::string(c.loss) + " on " + device->name();
      // A batch with another selection runs first; it must not affect the results.
      const std::vector<Values> before = {kFilterInput, Values(c.targets.size(), 1), {1, 1, 0, 1}};
      const Passed got = Learn(NetOf(4, kFilter, c.loss),
                               {before, {kFilterInput, c.targets, {0, 1, 0, -2}}}, device.get());
      const Values some = {4, 5, 6, 0.5, 0.25, 0};
      const Passed want = Learn(NetOf(2, "", c.loss), {{some, c.some, {0, 0}}}, device.get());
      EXPECT_NEAR(got.loss, want.loss, 1e-6) << what;
      ExpectNear(got.filtered, {4, 5, 6, 0.5, 0.25, 0, 4, 5, 6, 4, 5, 6}, what);
      ASSERT_EQ(got.param_gradients.size(), 3u);
      for (size_t p = 1; p < 3; ++p)
        ExpectNear(got.param_gradients[p], want.param_gradients[p], what);
      const Values& few = want.bottom_gradients[0];
      Values all(12, 0);
      std::copy_n(few.begin(), 3, all.begin() + 3);
      std::copy_n(few.begin() + 3, 3, all.begin() + 9);
      ExpectNear(got.bottom_gradients[0], all, what);
    }
  }
}

TEST_ON_DEVICES(Filter, MayTakeNothing) {
  const std::unique_ptr<Device> device = TestDevice();
  {
    const Passed got = Learn(NetOf(4, kFilter, "EuclideanLoss"),
                             {{kFilterInput, Values(8, 1), Values(4, 0)}}, device.get());
    EXPECT_EQ(got.loss, 0);
    ExpectNear(got.param_gradients[1], Values(6, 0), device->name());
    ExpectNear(got.bottom_gradients[0], Values(12, 0), device->name());
  }
}

TEST(FilterRows, AreThoseWithASelectorThatIsNotZero) {
  FilterRows rows(4);
  const float selector[] = {0, 0.5f, 0, -1};
  rows.Choose(selector);
  EXPECT_EQ(rows.taken(), 2);
  EXPECT_EQ(std::vector<int32_t>(rows.source(), rows.source() + 4),
            (std::vector<int32_t>{1, 3, 1, 1}));
  EXPECT_EQ(std::vector<int32_t>(rows.target(), rows.target() + 4),
            (std::vector<int32_t>{kNoRow, 0, kNoRow, 1}));
}

TEST(Filter, DividesByTheRowsOfAllRanks) {
  OneOfTwo group(5);
  Pass pass;
  pass.group = &group;
  const LossNormalizer of_rows(Normalization::kBatchSize, 4, 3), of_all(Normalization::kFull, 4, 3);
  // The printed loss is the mean over the ranks, hence a half of 3 + 5.
  EXPECT_EQ(of_rows.DivisorOfRows(pass, 3, 9), 4);
  EXPECT_EQ(of_all.DivisorOfRows(pass, 3, 9), 7);  // 3 x 3 positions on this rank, 5 on the other
  EXPECT_EQ(LossNormalizer(Normalization::kNone, 4, 3).DivisorOfRows(pass, 3, 9), 0.5);
  EXPECT_EQ(of_rows.DivisorOfRows(Pass(), 3, 9), 3);
}

Graph FilterGraph(const std::string& layers) {
  return GraphFromText(
      "layer { name: 'in' type: 'TestInput' top: 'x' top: 't' top: 'sel' input_param { shape { "
      "dim: 4 dim: 3 } shape { dim: 4 dim: 3 } shape { dim: 4 } } }\n" +
      layers);
}

void ExpectMistake(const std::string& layers, const std::string& part) {
  const Error e = Thrown([&] { FilterGraph(layers); });
  EXPECT_EQ(e.code(), ExitCode::kConfig);
  EXPECT_TRUE(e.at().known()) << e.what();
  EXPECT_NE(e.message().find(part), std::string::npos)
      << "'" << part << "' is not in: " << e.what();
}

TEST(Filter, IsRefusedWhereTheNumberOfRowsMatters) {
  const std::string filter =
      "layer { name: 'f' type: 'Filter' bottom: 'x' bottom: 't' bottom: 'sel' top: 'fx' top: 'ft' "
      "}\n";
  const std::string rest = "layer { name: 's' type: 'Silence' bottom: 'fx' bottom: 'ft' }\n";
  EXPECT_NO_THROW(FilterGraph(filter + rest));
  ExpectMistake(filter + "layer { name: 's' type: 'Silence' bottom: 'fx' }\n",
                "blob 'ft' has a number of rows that varies from pass to pass (layer 'f'");
  ExpectMistake(filter + rest + "layer { name: 'b' type: 'BatchNorm' bottom: 'fx' top: 'b' }\n",
                "which BatchNorm cannot take");
  ExpectMistake(filter + rest +
                    "layer { name: 'c' type: 'Concat' bottom: 'fx' bottom: 'ft' top: 'c' "
                    "concat_param { axis: -2 } }\n",
                "Concat cannot take along axis 0");
  ExpectMistake(filter + rest +
                    "layer { name: 'c' type: 'Concat' bottom: 'fx' bottom: 'ft' top: 'c' "
                    "concat_param { concat_dim: 0 } }\n",
                "Concat cannot take along axis 0");
  ExpectMistake(filter + rest +
                    "layer { name: 'c' type: 'Scale' bottom: 'fx' bottom: 'ft' top: 'c' "
                    "scale_param { axis: 0 } }\n",
                "Scale cannot take along axis 0");
  ExpectMistake(filter + rest +
                    "layer { name: 'l' type: 'EuclideanLoss' bottom: 'fx' bottom: 't' top: 'l' }\n",
                "bottom 't' does not have the same rows");
  ExpectMistake(
      filter + "layer { name: 'l' type: 'SoftmaxWithLoss' bottom: 'fx' bottom: 'ft' top: 'l' }\n",
      "labels then cannot be soft");
  const std::string classes =
      "layer { name: 'f' type: 'Filter' bottom: 'x' bottom: 'sel' bottom: 'sel' top: 'fx' top: "
      "'fl' }\n"
      "layer { name: 'l' type: 'SoftmaxWithLoss' bottom: 'fx' bottom: 'fl' top: 'l' ";
  EXPECT_NO_THROW(FilterGraph(classes + "}\n"));
  ExpectMistake(classes + "loss_param { label_smoothing: 0.1 } }\n",
                "the layer then cannot smooth its labels");
  ExpectMistake(classes +
                    "loss_param { weight_by_label_freqs: true class_weighting: 1 "
                    "class_weighting: 1 class_weighting: 2 } }\n",
                "the layer then cannot weigh its classes");
  ExpectMistake(classes + "top: 'p' }\n", "the layer can then have only one top");
  ExpectMistake(filter +
                    "layer { name: 'l' type: 'SoftmaxWithLoss' bottom: 'fx' bottom: 'ft' top: 'l' "
                    "softmax_param { axis: 0 } }\n",
                "SoftmaxWithLoss cannot take along axis 0");
  ExpectMistake(
      filter + rest + "layer { name: 'p' type: 'Power' bottom: 'fx' top: 'p' loss_weight: 1 }\n",
      "it cannot be a loss");
  ExpectMistake(
      filter + rest + "layer { name: 'g' type: 'Filter' bottom: 'fx' bottom: 'sel' top: 'g' }\n",
      "which Filter cannot take");
}

TEST(Filter, IsAcceptedBeforeLayersThatTreatEveryRowByItself) {
  const auto behind = [](const std::string& layer) {
    return "layer { name: 'images' type: 'TestInput' top: 'z' input_param { shape { dim: 4 dim: 3 "
           "dim: 5 dim: 5 } } }\n"
           "layer { name: 'f' type: 'Filter' bottom: 'z' bottom: 'sel' top: 'fz' }\n"
           "layer { name: 'l' bottom: 'fz' top: 'y' " +
           layer +
           " }\n"
           "layer { name: 's' type: 'Silence' bottom: 'y' }\n";
  };
  const std::string convolution = "convolution_param { num_output: 3 kernel_size: 3 }";
  for (const char* type : {"'Threshold'", "'Mish'", "'SpatialDropout'"})
    EXPECT_NO_THROW(FilterGraph(behind("type: " + std::string(type)))) << type;
  for (const char* type : {"'Convolution'", "'ConvolutionDepthwise'", "'DepthwiseConvolution'"})
    EXPECT_NO_THROW(FilterGraph(behind("type: " + std::string(type) + " " + convolution))) << type;
  ExpectMistake(behind("type: 'Deconvolution' " + convolution), "which Deconvolution cannot take");
}

TEST(Filter, ExplainsMistakes) {
  ExpectMistake(
      "layer { name: 'f' type: 'Filter' bottom: 'x' bottom: 't' bottom: 'sel' top: 'a' }\n",
      "one top for each bottom except the last, the selector: 2, got 1");
  ExpectMistake("layer { name: 'f' type: 'Filter' bottom: 'x' bottom: 't' top: 'a' }\n",
                "selector 't' is 4x3; it must have one number for each row");
  ExpectMistake(
      "layer { name: 'in2' type: 'TestInput' top: 'z' input_param { shape { dim: 5 } } }\n"
      "layer { name: 'f' type: 'Filter' bottom: 'z' bottom: 'sel' top: 'a' }\n",
      "bottom 'z' is 5, selector 'sel' is 4; they must have the same first extent");
}

}  // namespace
}  // namespace doppio
