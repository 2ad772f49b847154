#include "core/net/spec/split_layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/net/spec/upgrade.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

NetSpec SplitSpec(const std::string& text) {
  NetParameter net;
  const FieldPlaces places = ParseText(text, "f", &net);
  return MakeNetSpec(net, places, NetState(), NetOptions());
}

// Returns the printed layers that `text` is split into.
std::string Read(const std::string& text) {
  NetParameter read;
  for (const LayerSpec& layer : SplitSpec(text).layers) *read.add_layer() = layer.param;
  return read.DebugString();
}

std::string Written(const std::string& text) {
  NetParameter net;
  ParseText(text, "written", &net);
  return net.DebugString();
}

std::string SplitMistake(const std::string& layer) {
  return Mistake([&] { SplitSpec("layer { name: 'a' bottom: 'x' top: 'y' " + layer + " }"); });
}

std::vector<std::string> Warnings(const std::string& text) {
  NetParameter net;
  FieldPlaces places = ParseText(text, "f", &net);
  std::vector<std::string> lines;
  for (const Warning& warning : UpgradeInMemory(&net, &places)) {
    lines.push_back(warning.at.ToString() + ": " + warning.message);
  }
  return lines;
}

TEST(SplitLayer, LeavesOtherLayersAlone) {
  for (const char* text :
       {"layer { name: 'a' type: 'BatchNorm' bottom: 'x' top: 'y' batch_norm_param { eps: 0.1 "
        "scale_bias: false } }",
        "layer { name: 'a' type: 'BatchNorm' top: 'y' batch_norm_param { filler { value: 1 } "
        "bias_filler { } } }",
        "layer { name: 'a' type: 'Convolution' top: 'y' top: 'z' convolution_param { relu: false } "
        "}",
        "layer { name: 'a' type: 'Python' batch_norm_param { scale_bias: true relu: true } }"}) {
    EXPECT_EQ(Read(text), Written(text));
  }
}

TEST(SplitLayer, ReadsNvidiasBatchNormAsTwoLayers) {
  EXPECT_EQ(
      Read("layer { name: 'n' type: 'BatchNorm' bottom: 'x' top: 'y' phase: TEST loss_weight: 2"
           " forward_type: FLOAT16 include { phase: TEST }"
           " batch_norm_param { eps: 0.1 scale_bias: true } }"),
      Written(
          "layer { name: 'n' type: 'BatchNorm' bottom: 'x' top: 'y' phase: TEST"
          " forward_type: FLOAT16 include { phase: TEST } batch_norm_param { eps: 0.1 } }"
          "layer { name: 'n_scale' type: 'Scale' bottom: 'y' top: 'y' phase: TEST loss_weight: 2"
          " forward_type: FLOAT16 include { phase: TEST } scale_param { bias_term: true } }"));
}

TEST(SplitLayer, GivesFillersEntriesAndBlobsToTheScale) {
  EXPECT_EQ(
      Read("layer { name: 'n' type: 'BatchNorm' bottom: 'x' top: 'x'"
           " param { lr_mult: 0 } param { lr_mult: 0 } param { lr_mult: 0 }"
           " param { name: 'g' } param { decay_mult: 0 }"
           " blobs { data: 1 } blobs { data: 2 } blobs { data: 3 } blobs { data: 4 } blobs { data: "
           "5 }"
           " batch_norm_param { scale_bias: true scale_filler { value: 2 } bias_filler { value: 3 "
           "} } }"),
      Written("layer { name: 'n' type: 'BatchNorm' bottom: 'x' top: 'x'"
              " param { lr_mult: 0 } param { lr_mult: 0 } param { lr_mult: 0 }"
              " blobs { data: 1 } blobs { data: 2 } blobs { data: 3 } batch_norm_param { } }"
              "layer { name: 'n_scale' type: 'Scale' bottom: 'x' top: 'x'"
              " param { name: 'g' } param { decay_mult: 0 } blobs { data: 4 } blobs { data: 5 }"
              " scale_param { bias_term: true filler { value: 2 } bias_filler { value: 3 } } }"));
}

TEST(SplitLayer, TakesAFillerForAWishAndOldEntriesForThoseOfTheScale) {
  EXPECT_EQ(
      Read("layer { name: 'n' type: 'BatchNorm' bottom: 'x' top: 'x'"
           " param { lr_mult: 3 } param { lr_mult: 4 } param { lr_mult: 0 } param { lr_mult: 0 }"
           " batch_norm_param { scale_filler { value: 2 } } }"),
      Written("layer { name: 'n' type: 'BatchNorm' bottom: 'x' top: 'x'"
              " param { lr_mult: 0 } param { lr_mult: 0 } batch_norm_param { } }"
              "layer { name: 'n_scale' type: 'Scale' bottom: 'x' top: 'x' param { lr_mult: 3 } "
              "param { lr_mult: 4 }"
              " scale_param { bias_term: true filler { value: 2 } } }"));
  EXPECT_EQ(SplitSpec("layer { type: 'BatchNorm' top: 'x' batch_norm_param { bias_filler { } } }")
                .layers.size(),
            2U);
}

TEST(SplitLayer, ReadsIntelsFactorsAndReluBehindABatchNorm) {
  EXPECT_EQ(
      Read("layer { name: 'n' type: 'BatchNorm' bottom: 'x' top: 'y' batch_norm_param {"
           " use_weight_bias: true bias_term: false filler { value: 2 } relu: true } }"),
      Written("layer { name: 'n' type: 'BatchNorm' bottom: 'x' top: 'y' batch_norm_param { } }"
              "layer { name: 'n_scale' type: 'Scale' bottom: 'y' top: 'y'"
              " scale_param { bias_term: false filler { value: 2 } } }"
              "layer { name: 'n_relu' type: 'ReLU' bottom: 'y' top: 'y' }"));
}

TEST(SplitLayer, ReadsIntelsConvolutionWithSumAndRelu) {
  EXPECT_EQ(
      Read("layer { name: 'c' type: 'Convolution' bottom: 'x' bottom: 'z' top: 'y'"
           " propagate_down: true propagate_down: false convolution_param {"
           " num_output: 2 fusion_type: SUM_FUSION relu: true negative_slope: 0.5 } }"),
      Written(
          "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c_unsummed' propagate_down: true"
          " convolution_param { num_output: 2 } }"
          "layer { name: 'c_sum' type: 'Eltwise' bottom: 'c_unsummed' bottom: 'z' top: 'y'"
          " propagate_down: true propagate_down: false eltwise_param { operation: SUM } }"
          "layer { name: 'c_relu' type: 'ReLU' bottom: 'y' top: 'y' relu_param { negative_slope: "
          "0.5 } }"));
}

TEST(SplitLayer, ReadsIntelsReluOfOtherLayers) {
  EXPECT_EQ(Read("layer { name: 'i' type: 'InnerProduct' bottom: 'x' top: 'y' inner_product_param {"
                 " num_output: 2 relu: true } relu_param { negative_slope: 0.5 } }"),
            Written("layer { name: 'i' type: 'InnerProduct' bottom: 'x' top: 'y' "
                    "inner_product_param { num_output: 2 } }"
                    "layer { name: 'i_relu' type: 'ReLU' bottom: 'y' top: 'y' relu_param { "
                    "negative_slope: 0.5 } }"));
  EXPECT_EQ(SplitSpec("layer { type: 'Deconvolution' top: 'y' convolution_param { relu: true } }")
                .layers.size(),
            2U);
}

TEST(SplitLayer, PointsAtTheFieldThatAsksForALayer) {
  const NetSpec spec =
      SplitSpec("layer { type: 'BatchNorm' top: 'y'\n batch_norm_param {\n scale_bias: true } }");
  EXPECT_EQ(spec.layers[1].At("scale_param.axis").ToString(), "f:3:2");
}

TEST(SplitLayer, SaysWhatContradicts) {
  const std::string norm = "type: 'BatchNorm' batch_norm_param ";
  EXPECT_EQ(SplitMistake(norm + "{ scale_bias: false scale_filler { } }"),
            "f:1:77: layer 'a': scale_bias: false contradicts scale_filler; remove one of them");
  EXPECT_THAT(SplitMistake(norm + "{ scale_bias: true use_weight_bias: false }"),
              HasSubstr("use_weight_bias: false contradicts scale_bias"));
  EXPECT_THAT(SplitMistake(norm + "{ scale_filler { } filler { } }"),
              HasSubstr("keep one of them"));
  std::string entries;
  for (int i = 0; i < 6; ++i) entries += "param { lr_mult: 0 } ";
  EXPECT_THAT(SplitMistake(entries + norm + "{ scale_bias: true }"),
              HasSubstr("there are 6 param entries for 5 blobs"));
  const std::string conv = "type: 'Convolution' convolution_param ";
  EXPECT_THAT(SplitMistake(conv + "{ negative_slope: 0.5 }"),
              HasSubstr("negative_slope is that of relu: true"));
  EXPECT_THAT(SplitMistake("type: 'InnerProduct' inner_product_param { negative_slope: 0.5 }"),
              HasSubstr("negative_slope is that of relu: true"));
  EXPECT_THAT(SplitMistake("relu_param { negative_slope: 1 } " + conv +
                           "{ relu: true negative_slope: 0.5 }"),
              HasSubstr("negative_slope is given twice"));
  EXPECT_THAT(SplitMistake(conv + "{ fusion_type: SUM_FUSION }"),
              HasSubstr("there are 1 bottoms; give two"));
  EXPECT_THAT(SplitMistake("bottom: 'z' " + conv + "{ fusion_type: SUM_FUSION coeff: 2 }"),
              HasSubstr("write the Eltwise as its own layer"));
  EXPECT_THAT(SplitMistake("top: 'z' " + conv + "{ relu: true }"),
              HasSubstr("for a layer with one top, found 2"));
}

TEST(SplitWarnings, NameTheFirstOfEachFieldOnce) {
  EXPECT_THAT(
      Warnings("layer { type: 'BatchNorm' batch_norm_param { scale_bias: true } }\n"
               "layer { type: 'BatchNorm' batch_norm_param { scale_bias: true relu: true } }"),
      ElementsAre("f:1:46: scale_bias of 2 layers is read as a Scale named NAME_scale; "
                  "'doppio upgrade' writes it out",
                  "f:2:63: relu of 1 layer is read as a ReLU named NAME_relu; "
                  "'doppio upgrade' writes it out"));
  EXPECT_THAT(
      Warnings("layer { type: 'BatchNorm' batch_norm_param { filler { value: 1 } } }"),
      ElementsAre(HasSubstr("f:1:46: filler of 1 layer has no effect: without use_weight_bias")));
  EXPECT_THAT(Warnings("layer { type: 'BatchNorm' }"), IsEmpty());
}

}  // namespace
}  // namespace doppio
