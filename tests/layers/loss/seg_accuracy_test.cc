#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/net/run/net.h"
#include "core/net/spec/prototxt.h"
#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

// Four positions of three classes; the predictions are 0, 1, 1, 0.
LayerCase Positions(const std::string& param, const std::vector<double>& labels) {
  LayerCase c("type: 'SegAccuracy' seg_accuracy_param { " + param + " }");
  c.Bottom({1, 3, 2, 2}, {9, 1, 2, 5, 1, 8, 7, 4, 0, 0, 0, 0});
  c.Bottom({1, 1, 2, 2}, labels).NoGradient();
  return c;
}

TEST_ON_DEVICES(SegAccuracy, ShowsPositionsClassesAndIntersectionOverUnion) {
  // Class 0 has 2 labels and 1 hit, class 1 has 2 labels and 1 hit, class 2 neither labels nor
  // predictions.
  Positions("", {0, 1, 0, 1})
      .ExpectTop({1, 1, 1, 3}, {0.5, 0.5, (1.0 / 3 + 1.0 / 3 + 1) / 3})
      .ExpectBackendsAgree();
}

TEST_ON_DEVICES(SegAccuracy, WeighsClassesAlike) {
  // Class 0 has 1 hit of 1, class 1 has 2 hits of 2, class 2 has none of 1.
  Positions("", {0, 1, 1, 2})
      .ExpectTop({1, 1, 1, 3}, {0.75, 2.0 / 3, (0.5 + 1 + 0) / 3})
      .ExpectBackendsAgree();
}

TEST(SegAccuracy, LeavesIgnoredLabelsOut) {
  Positions("ignore_label: 255 ignore_label: -1", {0, 255, -1, 1})
      .ExpectTop({1, 1, 1, 3}, {0.5, 0.5, (0.5 + 0 + 1) / 3});
  Positions("ignore_label: 255", {255, 255, 255, 255}).ExpectTop({1, 1, 1, 3}, {0, 0, 1});
}

// Returns the first value of the top after two batches, each of one position: the class of the
// first is found, that of the second is not.
float AfterTwoBatches(const std::string& param) {
  NetParameter parsed;
  const FieldPlaces places = ParseText(
      "layer { name: 'scores' type: 'Input' top: 'scores' input_param { shape { dim: 1 dim: 2 } } }"
      "layer { name: 'label' type: 'Input' top: 'label' input_param { shape { dim: 1 } } }"
      "layer { name: 'accuracy' type: 'SegAccuracy' bottom: 'scores' bottom: 'label' top: 'top'\n"
      "  seg_accuracy_param { " +
          param + " } }",
      "net.prototxt", &parsed);
  const std::unique_ptr<Device> device = MakeCpuDevice();
  ParamStore store(device.get(), DType::kFloat32, 1);
  PlanOptions options;
  options.device = device.get();
  options.keep_all = true;
  Net net(MakeGraph(MakeNetSpec(parsed, places, NetState(), NetOptions())), options, &store);
  for (const float best : {1.0f, -1.0f}) {
    net.Blob("scores").data<float>()[0] = best;
    net.Blob("scores").data<float>()[1] = 0;
    net.Blob("label").data<float>()[0] = 0;
    net.Forward();
  }
  return net.Blob("top").data<float>()[0];
}

TEST(SegAccuracy, CountsAllBatchesWithoutReset) {
  EXPECT_EQ(AfterTwoBatches("reset: true"), 0);
  EXPECT_EQ(AfterTwoBatches("reset: false"), 0.5f);
}

TEST(SegAccuracy, RejectsWhatItCannotCompute) {
  Positions("", {0, 1, 3, 0}).ExpectMistake({"label 3 at sample 0, position 2, is outside 0..2"});
  Positions("top_k: 2", {0, 1, 0, 0}).ExpectMistake({"SegAccuracy computes only top_k: 1"});
}

}  // namespace
}  // namespace doppio
