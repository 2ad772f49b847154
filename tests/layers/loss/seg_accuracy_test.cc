#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/net/contract/carried_state.h"
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

// Batches of one position with two classes.
struct OnePosition {
  explicit OnePosition(const std::string& param)
      : device(MakeCpuDevice()), store(device.get(), DType::kFloat32, 1) {
    NetParameter parsed;
    const FieldPlaces places = ParseText(
        "layer { name: 'scores' type: 'Input' top: 'scores' input_param { shape { dim: 1 dim: 2 } "
        "} } layer { name: 'label' type: 'Input' top: 'label' input_param { shape { dim: 1 } } }"
        "layer { name: 'accuracy' type: 'SegAccuracy' bottom: 'scores' bottom: 'label' top: 'top'\n"
        "  seg_accuracy_param { " +
            param + " } }",
        "net.prototxt", &parsed);
    PlanOptions options;
    options.device = device.get();
    options.keep_all = true;
    net = std::make_unique<Net>(MakeGraph(MakeNetSpec(parsed, places, NetState(), NetOptions())),
                                options, &store);
  }

  // Returns the first value of the top after a batch whose class is found or not.
  float After(bool found) {
    net->Blob("scores").data<float>()[0] = found ? 1.f : -1.f;
    net->Blob("scores").data<float>()[1] = 0;
    net->Blob("label").data<float>()[0] = 0;
    net->Forward();
    return net->Blob("top").data<float>()[0];
  }
  CarriesState* state() { return StateOf(net->plan().kernel(2)); }

  std::unique_ptr<Device> device;
  ParamStore store;
  std::unique_ptr<Net> net;
};

TEST(SegAccuracy, CountsAllBatchesWithoutReset) {
  OnePosition resets("reset: true"), counts("reset: false");
  EXPECT_EQ(resets.After(true), 1);
  EXPECT_EQ(resets.After(false), 0);
  EXPECT_EQ(counts.After(true), 1);
  EXPECT_EQ(counts.After(false), 0.5f);
}

TEST(SegAccuracy, ContinuesItsCounts) {
  OnePosition whole("reset: false"), resumed("reset: false");
  whole.After(true);
  whole.After(true);
  resumed.state()->SetState(whole.state()->State());
  EXPECT_EQ(resumed.After(false), whole.After(false));
  EXPECT_TRUE(OnePosition("reset: true").state()->State().empty());
}

TEST(SegAccuracy, CarriesCountsThatOneFloatDoesNotHold) {
  OnePosition c("reset: false");
  // 3 * 2^24 + 1 positions of class 0 are found.
  c.state()->SetState({{Shape{2, 2, 2}, {3, 0, 0, 0, 1, 0, 0, 0}}});
  c.After(true);
  EXPECT_EQ(c.state()->State()[0].data, (std::vector<float>{3, 0, 0, 0, 2, 0, 0, 0}));
}

TEST(SegAccuracy, RejectsWhatItCannotCompute) {
  Positions("", {0, 1, 3, 0}).ExpectMistake({"label 3 at sample 0, position 2, is outside 0..2"});
  Positions("top_k: 2", {0, 1, 0, 0}).ExpectMistake({"SegAccuracy computes only top_k: 1"});
}

}  // namespace
}  // namespace doppio
