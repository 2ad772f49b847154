#include "core/net/spec/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/mistake.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

NetSpec Spec(const std::string& text, const std::string& state = "phase: TRAIN",
             const NetOptions& options = NetOptions()) {
  NetParameter net;
  NetState net_state;
  const FieldPlaces places = ParseText(text, "f", &net);
  ParseText(state, "state", &net_state);
  return MakeNetSpec(net, places, net_state, options);
}

std::vector<std::string> Names(const NetSpec& spec) {
  std::vector<std::string> names;
  for (const LayerSpec& layer : spec.layers) names.push_back(layer.name());
  return names;
}

// Returns true if a layer with these rules is kept in this state.
bool Keeps(const std::string& rules, const std::string& state) {
  return !Spec("layer { " + rules + " }", state).layers.empty();
}

std::string SpecMistake(const std::string& text) {
  return Mistake([&] { Spec(text); });
}

TEST(NetSpec, KeepsLayersOfThePhase) {
  const std::string net =
      "layer { name: 'a' include { phase: TRAIN } } layer { name: 'b' include { phase: TEST } }"
      "layer { name: 'c' exclude { phase: TEST } } layer { name: 'd' }";
  EXPECT_THAT(Names(Spec(net, "phase: TRAIN")), ElementsAre("a", "c", "d"));
  EXPECT_THAT(Names(Spec(net, "phase: TEST")), ElementsAre("b", "d"));
}

TEST(NetSpec, MatchesAllFieldsOfAnyRule) {
  EXPECT_TRUE(Keeps("include { stage: 'x' stage: 'y' }", "stage: 'x' stage: 'y' stage: 'z'"));
  EXPECT_FALSE(Keeps("include { stage: 'x' stage: 'y' }", "stage: 'x'"));
  EXPECT_TRUE(Keeps("exclude { stage: 'x' stage: 'y' }", "stage: 'x'"));
  EXPECT_FALSE(Keeps("include { stage: 'x' phase: TEST }", "stage: 'x' phase: TRAIN"));
  EXPECT_TRUE(Keeps("include { phase: TEST } include { stage: 'x' }", "stage: 'x' phase: TRAIN"));
  EXPECT_FALSE(Keeps("exclude { phase: TEST } exclude { stage: 'x' }", "stage: 'x' phase: TRAIN"));
}

TEST(NetSpec, ComparesLevelsAndAbsentStages) {
  EXPECT_TRUE(Keeps("include { min_level: 2 max_level: 3 }", "level: 2"));
  EXPECT_TRUE(Keeps("include { min_level: 2 max_level: 3 }", "level: 3"));
  EXPECT_FALSE(Keeps("include { min_level: 2 max_level: 3 }", "level: 1"));
  EXPECT_FALSE(Keeps("include { min_level: 2 max_level: 3 }", "level: 4"));
  EXPECT_FALSE(Keeps("include { not_stage: 'x' not_stage: 'y' }", "stage: 'y'"));
  EXPECT_TRUE(Keeps("include { not_stage: 'x' }", "stage: 'y'"));
}

TEST(NetSpec, RefusesIncludeWithExclude) {
  EXPECT_EQ(
      SpecMistake("layer {\n name: 'a'\n include { phase: TEST }\n exclude { phase: TRAIN }\n}"),
      "f:4:2: layer 'a': has include and exclude; use only one of them");
}

TEST(NetSpec, GivesALayerItsOwnPhase) {
  const NetSpec spec = Spec("layer { name: 'a' phase: TEST } layer { name: 'b' }");
  EXPECT_EQ(spec.layers[0].phase(), TEST);
  EXPECT_EQ(spec.layers[1].phase(), TRAIN);
}

TEST(NetSpec, KnowsThePlaceOfALayerBehindOnesLeftOut) {
  const NetSpec spec = Spec("layer { name: 'a' include { phase: TEST } }\nlayer {\n top: 'x' }");
  EXPECT_EQ(spec.layers[0].At("top").ToString(), "f:3:2");
  EXPECT_STREQ(spec.layers[0].Mistake("bottom", "needs one").what(), "f:2:1: layer '': needs one");
}

TEST(NetSpec, MakesAnInputLayerOfInputDim) {
  const NetSpec spec = Spec(
      "input: 'x' input: 'y' layer { name: 'a' }\n"
      "input_dim: [1, 2, 3, 4, 5, 6, 7, 8]");
  EXPECT_THAT(Names(spec), ElementsAre("input", "a"));
  const LayerParameter& input = spec.layers[0].param;
  EXPECT_EQ(input.type(), "Input");
  EXPECT_THAT(input.top(), ElementsAre("x", "y"));
  EXPECT_THAT(input.input_param().shape(0).dim(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(input.input_param().shape(1).dim(), ElementsAre(5, 6, 7, 8));
}

TEST(NetSpec, MakesAnInputLayerOfInputShape) {
  const NetSpec spec = Spec("input: 'x' input_shape { dim: 7 dim: 2 }");
  EXPECT_THAT(spec.layers[0].param.input_param().shape(0).dim(), ElementsAre(7, 2));
}

// From a deploy.prototxt of cvjena's AlexNet: `input` only repeats the top of an Input layer.
TEST(NetSpec, IgnoresInputsThatALayerMakes) {
  const NetSpec spec = Spec(
      "name: 'AlexNet' input: 'data' layer { name: 'input' type: 'Input' top: 'data' input_param { "
      "shape { dim: 10 dim: 3 dim: 227 dim: 227 } } }");
  EXPECT_THAT(Names(spec), ElementsAre("input"));
  EXPECT_THAT(spec.layers[0].param.input_param().shape(0).dim(), ElementsAre(10, 3, 227, 227));
  EXPECT_THAT(
      SpecMistake("input: 'x' input: 'y' layer { type: 'Input' top: 'x' input_param { shape { "
                  "dim: 1 } } }"),
      testing::StartsWith("f:1:1: input 'x' has no shape"));
}

TEST(NetSpec, CountsTheShapesOfInputs) {
  EXPECT_EQ(SpecMistake("input: 'x'\ninput_dim: 1"), "f:2:1: 1 input(s) need 4 input_dim, got 1");
  EXPECT_EQ(SpecMistake("input: 'x' input: 'y'\ninput_shape { dim: 1 }"),
            "f:2:1: 2 input(s) need 2 input_shape, got 1");
  EXPECT_THAT(SpecMistake("input: 'x'"), testing::StartsWith("f:1:1: input 'x' has no shape"));
}

TEST(NetSpec, KeepsTheFlagsOfTheNet) {
  const NetSpec spec = Spec("name: 'n' force_backward: true debug_info: true", "level: 3");
  EXPECT_EQ(spec.name, "n");
  EXPECT_TRUE(spec.force_backward);
  EXPECT_TRUE(spec.debug_info);
  EXPECT_EQ(spec.state.level(), 3);
}

TEST(NetSpec, OverridesTheBatchOfEveryDataLayer) {
  NetOptions options;
  options.batch = 9;
  const NetSpec spec = Spec(
      "layer { type: 'Data' data_param { batch_size: 1 } }"
      "layer { type: 'ImageData' image_data_param { } }"
      "layer { type: 'HDF5Data' hdf5_data_param { batch_size: 1 } }"
      "layer { type: 'MemoryData' memory_data_param { batch_size: 1 } }"
      "layer { type: 'Input' input_param { shape { dim: 1 dim: 3 } } }"
      "layer { type: 'DummyData' dummy_data_param { num: 2 num: 3 } } layer { type: 'ReLU' }",
      "", options);
  EXPECT_EQ(spec.layers[0].param.data_param().batch_size(), 9);
  EXPECT_EQ(spec.layers[1].param.image_data_param().batch_size(), 9);
  EXPECT_EQ(spec.layers[2].param.hdf5_data_param().batch_size(), 9);
  EXPECT_EQ(spec.layers[3].param.memory_data_param().batch_size(), 9);
  EXPECT_THAT(spec.layers[4].param.input_param().shape(0).dim(), ElementsAre(9, 3));
  EXPECT_THAT(spec.layers[5].param.dummy_data_param().num(), ElementsAre(9, 9));
  EXPECT_FALSE(spec.layers[6].param.has_data_param());
}

TEST(NetSpec, AcceptsAnEmptyNet) { EXPECT_THAT(Spec("").layers, IsEmpty()); }

}  // namespace
}  // namespace doppio
