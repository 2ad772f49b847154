#include "core/net/spec/overrides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/mistake.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

SolverParameter Solver(const std::string& text, const std::vector<std::string>& sets,
                       const std::vector<std::string>& unsets = {}) {
  SolverParameter solver;
  FieldPlaces places = ParseText(text, "f", &solver);
  const Overrides overrides = ParseOverrides(sets, unsets);
  overrides.ApplyToSolver(&solver, &places);
  overrides.CheckAllUsed();
  return solver;
}

NetParameter Net(const std::string& text, const std::vector<std::string>& sets,
                 const std::vector<std::string>& unsets = {}) {
  NetParameter net;
  const Overrides overrides = ParseOverrides(sets, unsets);
  FieldPlaces places = ParseText(text, "f", &net);
  overrides.ApplyToNet(&net, &places);
  overrides.CheckAllUsed();
  return net;
}

constexpr char kNet[] = R"(
  layer { name: "mnist" type: "Data" include { phase: TRAIN } data_param { batch_size: 64 } }
  layer { name: "mnist" type: "Data" include { phase: TEST } data_param { batch_size: 100 } }
  layer { name: "conv1" type: "Convolution" convolution_param { num_output: 20 } }
  layer { name: "inception/1x1" type: "Convolution" param { lr_mult: 2 } param { lr_mult: 3 } }
  layer { name: "relu" type: "ReLU" }
)";

std::string OverrideMistake(const std::vector<std::string>& sets,
                            const std::vector<std::string>& unsets = {}) {
  SolverParameter solver;
  NetParameter net;
  ParseText(kNet, "f", &net);
  const Error error = Thrown([&] {
    const Overrides overrides = ParseOverrides(sets, unsets);
    overrides.ApplyToSolver(&solver, nullptr);
    overrides.ApplyToNet(&net, nullptr);
    overrides.CheckAllUsed();
  });
  EXPECT_EQ(error.code(), ExitCode::kConfig);
  return error.what();
}

TEST(Overrides, SetScalarsOfTheSolver) {
  const SolverParameter solver = Solver(
      "base_lr: 1 type: \"SGD\"",
      {"base_lr=0.05", "type=Adam", " lr_policy = \"step\" ", "solver_mode=CPU",
       "test_initialization=false", "random_seed=-5", "snapshot_prefix=", "net=other.prototxt"});
  EXPECT_FLOAT_EQ(solver.base_lr(), 0.05f);
  EXPECT_EQ(solver.type(), "Adam");
  EXPECT_EQ(solver.lr_policy(), "step");
  EXPECT_EQ(solver.solver_mode(), SolverParameter::CPU);
  EXPECT_FALSE(solver.test_initialization());
  EXPECT_EQ(solver.random_seed(), -5);
  EXPECT_TRUE(solver.has_snapshot_prefix());
  EXPECT_EQ(solver.net(), "other.prototxt");
}

TEST(Overrides, ReplaceAndAppendToRepeatedFields) {
  const std::string steps = "stepvalue: 1 stepvalue: 2";
  EXPECT_THAT(Solver(steps, {"stepvalue=[1000,2000, 3000]"}).stepvalue(),
              ElementsAre(1000, 2000, 3000));
  EXPECT_THAT(Solver(steps, {"stepvalue=7"}).stepvalue(), ElementsAre(7));
  EXPECT_THAT(Solver(steps, {"stepvalue+=3"}).stepvalue(), ElementsAre(1, 2, 3));
  EXPECT_THAT(Solver(steps, {"stepvalue=[]", "stepvalue+=[4,5]"}).stepvalue(), ElementsAre(4, 5));
  EXPECT_THAT(Solver("", {"train_state.stage=[a, b]"}).train_state().stage(),
              ElementsAre("a", "b"));
  EXPECT_THAT(Solver("", {"train_state.stage=['a', \"b,\"]"}).train_state().stage(),
              ElementsAre("a", "b,"));
}

TEST(Overrides, UnsetFields) {
  EXPECT_FALSE(Solver("momentum: 0.9", {}, {"momentum"}).has_momentum());
  EXPECT_FALSE(Net(kNet, {}, {"net.layer[conv1].convolution_param.num_output"})
                   .layer(2)
                   .convolution_param()
                   .has_num_output());
}

TEST(Overrides, ChooseALayerByNameAndIndex) {
  const NetParameter net = Net(kNet, {"net.layer[conv1].convolution_param.num_output=32",
                                      "net.layer[inception/1x1].convolution_param.pad=1",
                                      "net.layer[4].relu_param.negative_slope=0.1"});
  EXPECT_EQ(net.layer(2).convolution_param().num_output(), 32);
  EXPECT_EQ(net.layer(3).convolution_param().pad(0), 1);
  EXPECT_FLOAT_EQ(net.layer(4).relu_param().negative_slope(), 0.1f);
}

TEST(Overrides, ChooseLayersByTheirFields) {
  const NetParameter net =
      Net(kNet, {"net.layer[type=Data,phase=TRAIN].data_param.batch_size=128"});
  EXPECT_EQ(net.layer(0).data_param().batch_size(), 128);
  EXPECT_EQ(net.layer(1).data_param().batch_size(), 100);
  const NetParameter both = Net(kNet, {"net.layer[mnist].data_param.batch_size=8"});
  EXPECT_EQ(both.layer(0).data_param().batch_size(), 8);
  EXPECT_EQ(both.layer(1).data_param().batch_size(), 8);
}

TEST(Overrides, ChooseALayerByNameAndPhase) {
  const NetParameter net = Net(kNet, {"net.layer[mnist,phase=TEST].data_param.batch_size=8"});
  EXPECT_EQ(net.layer(0).data_param().batch_size(),
            Net(kNet, {}).layer(0).data_param().batch_size());
  EXPECT_EQ(net.layer(1).data_param().batch_size(), 8);
  EXPECT_EQ(OverrideMistake({"net.layer[conv1,phase=TEST].name=x"}),
            "--set net.layer[conv1,phase=TEST].name=x: no layer[conv1,phase=TEST]");
}

TEST(Overrides, ChooseALayerThatIsExcludedFromTheOtherPhase) {
  const char* const net =
      "layer { name: 'd' exclude { phase: TEST } } layer { name: 'd' exclude { phase: TRAIN } }";
  const NetParameter changed = Net(net, {"net.layer[d,phase=TEST].name=x"});
  EXPECT_EQ(changed.layer(0).name(), "d");
  EXPECT_EQ(changed.layer(1).name(), "x");
}

std::string NotesOn(const std::string& set) {
  NetParameter net;
  ParseText(kNet, "f", &net);
  const Overrides overrides = ParseOverrides({set});
  overrides.ApplyToNet(&net, nullptr);
  std::string text;
  for (const Warning& note : overrides.Notes()) text += note.at.ToString() + ": " + note.message;
  return text;
}

TEST(Overrides, ReportANameThatChangesSeveralLayers) {
  EXPECT_EQ(NotesOn("net.layer[mnist].data_param.batch_size=8"),
            "--set net.layer[mnist].data_param.batch_size=8: 2 layers changed: mnist (TRAIN), "
            "mnist (TEST); net.layer[mnist,phase=TRAIN] chooses one");
  EXPECT_EQ(NotesOn("net.layer[mnist,phase=TRAIN].data_param.batch_size=8"), "");
  EXPECT_EQ(NotesOn("net.layer[conv1].convolution_param.num_output=8"), "");
  EXPECT_EQ(NotesOn("net.layer[*].param[0].lr_mult=0"), "");
  EXPECT_EQ(NotesOn("net.layer[type=Data].data_param.batch_size=8"), "");
}

TEST(Overrides, StarGivesAParamOnlyToLayersThatHaveParameters) {
  const NetParameter net = Net(kNet, {"net.layer[*].param[0].lr_mult=0"});
  EXPECT_EQ(net.layer(0).param_size(), 0);
  ASSERT_EQ(net.layer(2).param_size(), 1);
  EXPECT_EQ(net.layer(2).param(0).lr_mult(), 0);
  EXPECT_EQ(net.layer(3).param(0).lr_mult(), 0);
  EXPECT_EQ(net.layer(3).param(1).lr_mult(), 3);
  EXPECT_EQ(net.layer(4).param_size(), 0);
}

TEST(Overrides, StarOfParamMakesThoseThatALayerHas) {
  const NetParameter net = Net(kNet, {"net.layer[type=Convolution].param[*].lr_mult=0"});
  for (const int layer : {2, 3}) {
    ASSERT_EQ(2, net.layer(layer).param_size());
    for (const ParamSpec& param : net.layer(layer).param()) EXPECT_EQ(0, param.lr_mult());
  }
  EXPECT_EQ(0, Net(kNet, {"net.layer[*].param[*].lr_mult=0"}).layer(4).param_size());
  EXPECT_THAT(OverrideMistake({"net.layer[relu].param[*].lr_mult=0"}),
              HasSubstr("no param[*]; name one by its number: param[0]"));
}

TEST(Overrides, StarPassesOverLayersWithoutTheMessage) {
  const NetParameter net = Net(kNet, {"net.layer[*].data_param.batch_size=5"});
  EXPECT_EQ(net.layer(1).data_param().batch_size(), 5);
  EXPECT_FALSE(net.layer(4).has_data_param());
}

TEST(Overrides, CreateTheMessagesOnTheWay) {
  const NetParameter net =
      Net(kNet, {"net.layer[conv1].convolution_param.weight_filler.type=xavier",
                 "net.layer[conv1].param[1]={ lr_mult: 2 decay_mult: 0 }",
                 "net.layer[relu].transform_param={scale: 0.5}"});
  EXPECT_EQ(net.layer(2).convolution_param().weight_filler().type(), "xavier");
  EXPECT_EQ(net.layer(2).param(1).lr_mult(), 2);
  EXPECT_EQ(net.layer(4).transform_param().scale(), 0.5);
}

TEST(Overrides, BecomeThePlaceOfWhatTheyChange) {
  NetParameter net;
  FieldPlaces places = ParseText(kNet, "f", &net);
  ParseOverrides({"net.layer[conv1].convolution_param.num_output=0"}).ApplyToNet(&net, &places);
  const FieldPlaces layer = places.Nested(net, "layer", 2);
  EXPECT_EQ(layer.At("convolution_param.num_output").ToString(),
            "--set net.layer[conv1].convolution_param.num_output=0");
  EXPECT_EQ(layer.At("name").ToString(), "f:4:11");
}

TEST(Overrides, NameTheNearestOfUnknownNames) {
  EXPECT_EQ(
      OverrideMistake({"base_lrr=1"}),
      "--set base_lrr=1: unknown field 'base_lrr' in SolverParameter; did you mean 'base_lr'?");
  EXPECT_EQ(OverrideMistake({"layer[a].name=b"}),
            "--set layer[a].name=b: unknown field 'layer' in SolverParameter; for the net's field, "
            "write net.layer");
  EXPECT_EQ(OverrideMistake({"net.layer[conv2].name=b"}),
            "--set net.layer[conv2].name=b: no layer is 'conv2'; did you mean 'conv1'?");
  EXPECT_THAT(OverrideMistake({"net.layer[typ=Data].name=b"}), HasSubstr("did you mean 'type'?"));
}

TEST(Overrides, SayWhatAFieldWants) {
  EXPECT_EQ(OverrideMistake({"max_iter=ten"}),
            "--set max_iter=ten: max_iter must be an integer, got ten");
  EXPECT_THAT(OverrideMistake({"solver_mode=GPUU"}), HasSubstr("did you mean 'GPU'?"));
  EXPECT_THAT(OverrideMistake({"base_lr="}), HasSubstr("'base_lr' has no value"));
  EXPECT_THAT(OverrideMistake({"base_lr=1 momentum: 2"}), HasSubstr("expected one value"));
  EXPECT_THAT(OverrideMistake({"base_lr=[1,2]"}),
              HasSubstr("base_lr must be a number, got a list"));
}

TEST(Overrides, RefusePathsThatLeadNowhere) {
  EXPECT_THAT(OverrideMistake({"base_lr"}), HasSubstr("expected path=value"));
  EXPECT_THAT(OverrideMistake({"base_lr.x=1"}), HasSubstr("'base_lr' has no fields of its own"));
  EXPECT_THAT(OverrideMistake({"net.layer.name=a"}), HasSubstr("'layer' is repeated: say which"));
  EXPECT_THAT(OverrideMistake({"base_lr[0]=1"}), HasSubstr("'base_lr' is not repeated"));
  EXPECT_THAT(OverrideMistake({"stepvalue[0]=1"}), HasSubstr("can only be set as a whole"));
  EXPECT_THAT(OverrideMistake({"net.layer[conv1.name=a"}), HasSubstr("expected path=value"));
  EXPECT_THAT(OverrideMistake({"base_lr+=1"}), HasSubstr("use = instead of +="));
  EXPECT_THAT(OverrideMistake({}, {"net.layer[conv1]"}),
              HasSubstr("only a whole field can be unset"));
  EXPECT_THAT(OverrideMistake({"net.layer[type=LRN].name=a"}), HasSubstr("no layer[type=LRN]"));
  EXPECT_THAT(OverrideMistake({"net.layer[*].lrn_param.alpha=1"}),
              HasSubstr("no layer has a field that it changes"));
}

TEST(Overrides, ReportThatNoFileTookThem) {
  const Overrides overrides = ParseOverrides({"base_lr=1"});
  EXPECT_THAT(Mistake([&] { overrides.CheckAllUsed(); }),
              HasSubstr("this command reads no solver"));
}

}  // namespace
}  // namespace doppio
