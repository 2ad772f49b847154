#include "core/net/spec/upgrade.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "core/net/spec/overrides.h"
#include "core/net/spec/spec.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Upgraded {
  NetParameter net;
  FieldPlaces places;
  Upgrade upgrade;
};

Upgraded UpgradeText(const std::string& text) {
  Upgraded result;
  result.places = ParseText(text, "f", &result.net);
  result.upgrade = UpgradeNet(&result.net, &result.places);
  return result;
}

std::string Current(const std::string& text) {
  NetParameter net;
  ParseText(text, "current", &net);
  return net.DebugString();
}

std::string FromOld(const std::string& text) { return UpgradeText(text).net.DebugString(); }

std::string UpgradeMistake(const std::string& text) {
  return Mistake([&] { UpgradeText(text); });
}

std::vector<std::string> Dropped(const std::string& text) {
  std::vector<std::string> lines;
  for (const Warning& warning : UpgradeText(text).upgrade.dropped) {
    lines.push_back(warning.at.ToString() + ": " + warning.message);
  }
  return lines;
}

TEST(UpgradeNet, LeavesACurrentNetAlone) {
  const Upgraded result = UpgradeText("name: 'n' input: 'x' layer { name: 'a' type: 'ReLU' }");
  EXPECT_EQ(result.upgrade.from, "");
  EXPECT_EQ(result.net.input_size(), 1);
  EXPECT_EQ(result.net.layer(0).type(), "ReLU");
}

TEST(UpgradeNet, WritesV1LayersInTheCurrentForm) {
  const std::string v1 =
      "name: 'n' force_backward: true "
      "layers { name: 'c' type: CONVOLUTION bottom: 'x' top: 'y' blobs_lr: 1 blobs_lr: 2 "
      "  weight_decay: 3 weight_decay: 0 include { phase: TRAIN stage: 's' } "
      "  convolution_param { num_output: 5 kernel_size: 3 weight_filler { type: 'xavier' } } } "
      "layers { name: 'l' type: SOFTMAX_LOSS bottom: 'y' bottom: 'z' loss_weight: 0.5 "
      "  exclude { phase: TEST } loss_param { ignore_label: 7 } }";
  EXPECT_EQ(UpgradeText(v1).upgrade.from, "V1");
  EXPECT_EQ(
      FromOld(v1),
      Current(
          "name: 'n' force_backward: true "
          "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'y' "
          "  param { lr_mult: 1 decay_mult: 3 } param { lr_mult: 2 decay_mult: 0 } "
          "  include { phase: TRAIN stage: 's' } "
          "  convolution_param { num_output: 5 kernel_size: 3 weight_filler { type: 'xavier' } } } "
          "layer { name: 'l' type: 'SoftmaxWithLoss' bottom: 'y' bottom: 'z' loss_weight: 0.5 "
          "  exclude { phase: TEST } loss_param { ignore_label: 7 } }"));
}

TEST(UpgradeNet, WritesSharingOfV1AsParam) {
  EXPECT_EQ(FromOld("layers { name: 'a' type: INNER_PRODUCT param: 'w' param: 'b' blob_share_mode: "
                    "PERMISSIVE "
                    "blob_share_mode: STRICT blobs_lr: 0.5 }"),
            Current("layer { name: 'a' type: 'InnerProduct' "
                    "param { name: 'w' share_mode: PERMISSIVE lr_mult: 0.5 } param { name: 'b' "
                    "share_mode: STRICT } }"));
}

TEST(UpgradeNet, KeepsBlobs) {
  EXPECT_EQ(
      FromOld(
          "layers { type: POWER blobs { num: 1 channels: 1 height: 1 width: 2 data: [3, 4] } }"),
      Current(
          "layer { type: 'Power' blobs { num: 1 channels: 1 height: 1 width: 2 data: [3, 4] } }"));
}

// The current names are the old names without '_', with one exception.
TEST(UpgradeNet, KnowsEveryV1Type) {
  const auto* types = V1LayerParameter::LayerType_descriptor();
  EXPECT_EQ(types->value_count(), 45);
  for (int i = 1; i < types->value_count(); ++i) {
    std::string old = types->value(i)->name();
    const std::string now = UpgradeText("layers { type: " + old + " }").net.layer(0).type();
    if (old == "SOFTMAX_LOSS") old = "SOFTMAX_WITH_LOSS";
    old.erase(std::remove(old.begin(), old.end(), '_'), old.end());
    std::string upper;
    for (char c : now) upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    EXPECT_EQ(upper, old);
  }
  EXPECT_EQ(TypeName(V1LayerParameter::NONE), "");
}

TEST(UpgradeNet, KnowsEveryV1Parameter) {
  // Every parameter message of a V1 layer must exist in the current layer under the same name and
  // with the same type.
  const auto* old = V1LayerParameter::descriptor();
  int messages = 0;
  for (int i = 0; i < old->field_count(); ++i) {
    const auto* field = old->field(i);
    if (field->message_type() == nullptr || field->name() == "layer") continue;
    if (field->name() == "softmaxloss_param") continue;  // see ReadsLayersOfForksInV1
    const auto* now = LayerParameter::descriptor()->FindFieldByName(field->name());
    ASSERT_NE(now, nullptr) << field->name();
    EXPECT_EQ(now->message_type(), field->message_type());
    ++messages;
    if (!field->is_repeated()) {
      EXPECT_EQ(FromOld("layers { " + field->name() + " { } }"),
                Current("layer { type: '' " + field->name() + " { } }"));
    }
  }
  EXPECT_GE(messages, 28);
}

// From DeepLab's train.prototxt of vgg128_noup and Fast R-CNN's caffenet_bbox_reg.prototxt.
TEST(UpgradeNet, ReadsLayersOfForksInV1) {
  EXPECT_EQ(
      FromOld("layers { name: 'data' type: IMAGE_SEG_DATA image_data_param { batch_size: 20 "
              "  label_type: PIXEL } transform_param { crop_size: 306 } } "
              "layers { name: 'conv5_1' type: CONVOLUTION strict_dim: false "
              "  convolution_param { num_output: 512 pad: 2 kernel_size: 3 hole: 2 } } "
              "layers { name: 'label_shrink' type: INTERP interp_param { shrink_factor: 8 "
              "  pad_beg: -1 pad_end: 0 } } "
              "layers { name: 'loss' type: SOFTMAX_LOSS softmaxloss_param { ignore_label: 255 } } "
              "layers { name: 'accuracy' type: SEG_ACCURACY "
              "  seg_accuracy_param { ignore_label: 255 } } "
              "layers { name: 'roi_pool5' type: ROI_POOLING roi_pooling_param { pooled_w: 6 "
              "  pooled_h: 6 } } "
              "layers { name: 'loss_bbox' type: SMOOTH_L1_LOSS loss_weight: 1 }"),
      Current("layer { name: 'data' type: 'ImageSegData' image_data_param { batch_size: 20 "
              "  label_type: PIXEL } transform_param { crop_size: 306 } } "
              "layer { name: 'conv5_1' type: 'Convolution' "
              "  convolution_param { num_output: 512 pad: 2 kernel_size: 3 hole: 2 } } "
              "layer { name: 'label_shrink' type: 'Interp' interp_param { shrink_factor: 8 "
              "  pad_beg: -1 pad_end: 0 } } "
              "layer { name: 'loss' type: 'SoftmaxWithLoss' loss_param { ignore_label: 255 } } "
              "layer { name: 'accuracy' type: 'SegAccuracy' "
              "  seg_accuracy_param { ignore_label: 255 } } "
              "layer { name: 'roi_pool5' type: 'ROIPooling' roi_pooling_param { pooled_w: 6 "
              "  pooled_h: 6 } } "
              "layer { name: 'loss_bbox' type: 'SmoothL1Loss' loss_weight: 1 }"));
}

TEST(UpgradeNet, MovesTransformsOfV1ToTheirOwnMessage) {
  const char kOld[] = " { source: 's' scale: 0.5 mean_file: 'm' crop_size: 3 mirror: true }";
  const char kNew[] =
      " { source: 's' } transform_param { scale: 0.5 mean_file: 'm' crop_size: 3 mirror: true }";
  const std::pair<std::string, std::string> kinds[] = {{"DATA", "data_param"},
                                                       {"IMAGE_DATA", "image_data_param"},
                                                       {"WINDOW_DATA", "window_data_param"}};
  for (const auto& kind : kinds) {
    const std::string type = UpgradeText("layers { type: " + kind.first + " }").net.layer(0).type();
    EXPECT_EQ(FromOld("layers { type: " + kind.first + " " + kind.second + kOld + " }"),
              Current("layer { type: '" + type + "' " + kind.second + kNew + " }"));
  }
  // A transformation field in data_param takes precedence over transform_param, as in Caffe.
  EXPECT_EQ(
      FromOld("layers { type: DATA data_param { scale: 2 } transform_param { scale: 3 crop_size: 4 "
              "} }"),
      Current("layer { type: 'Data' data_param { } transform_param { scale: 2 crop_size: 4 } }"));
}

TEST(UpgradeNet, WritesV0LayersInTheCurrentForm) {
  const std::string v0 =
      "layers { layer { name: 'd' type: 'data' source: 's' batchsize: 4 scale: 0.5 meanfile: 'm' "
      "cropsize: 3 "
      "  mirror: true rand_skip: 2 } top: 'x' top: 'l' } "
      "layers { layer { name: 'c' type: 'conv' num_output: 5 biasterm: false kernelsize: 3 stride: "
      "2 pad: 1 group: 2 "
      "  weight_filler { type: 'gaussian' std: 0.5 } bias_filler { value: 1 } "
      "  blobs_lr: 1 blobs_lr: 2 weight_decay: 3 weight_decay: 0 } bottom: 'x' top: 'c' } "
      "layers { layer { name: 'p' type: 'pool' pool: STOCHASTIC kernelsize: 3 stride: 2 pad: 1 } "
      "bottom: 'c' top: 'p' } "
      "layers { layer { name: 'n' type: 'lrn' local_size: 3 alpha: 0.5 beta: 0.25 k: 2 } bottom: "
      "'p' top: 'n' } "
      "layers { layer { name: 'o' type: 'dropout' dropout_ratio: 0.25 } bottom: 'n' top: 'n' } "
      "layers { layer { name: 'i' type: 'innerproduct' num_output: 2 biasterm: false } bottom: 'n' "
      "top: 'i' } "
      "layers { layer { name: 'k' type: 'concat' concat_dim: 0 } bottom: 'i' bottom: 'i' top: 'k' "
      "} "
      "layers { layer { name: 'f' type: 'infogain_loss' source: 'h' } bottom: 'k' bottom: 'l' } "
      "layers { layer { name: 'h' type: 'hdf5_output' hdf5_output_param { file_name: 'o' } } "
      "bottom: 'k' }";
  EXPECT_EQ(UpgradeText(v0).upgrade.from, "V0");
  EXPECT_THAT(Dropped(v0), IsEmpty());
  EXPECT_EQ(FromOld(v0),
            Current("layer { name: 'd' type: 'Data' top: 'x' top: 'l' data_param { source: 's' "
                    "batch_size: 4 rand_skip: 2 } "
                    "  transform_param { scale: 0.5 mean_file: 'm' crop_size: 3 mirror: true } } "
                    "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' param { lr_mult: 1 "
                    "decay_mult: 3 } "
                    "  param { lr_mult: 2 decay_mult: 0 } convolution_param { num_output: 5 "
                    "bias_term: false kernel_size: 3 "
                    "  stride: 2 pad: 1 group: 2 weight_filler { type: 'gaussian' std: 0.5 } "
                    "bias_filler { value: 1 } } } "
                    "layer { name: 'p' type: 'Pooling' bottom: 'c' top: 'p' "
                    "  pooling_param { pool: STOCHASTIC kernel_size: 3 stride: 2 pad: 1 } } "
                    "layer { name: 'n' type: 'LRN' bottom: 'p' top: 'n' "
                    "  lrn_param { local_size: 3 alpha: 0.5 beta: 0.25 k: 2 } } "
                    "layer { name: 'o' type: 'Dropout' bottom: 'n' top: 'n' dropout_param { "
                    "dropout_ratio: 0.25 } } "
                    "layer { name: 'i' type: 'InnerProduct' bottom: 'n' top: 'i' "
                    "  inner_product_param { num_output: 2 bias_term: false } } "
                    "layer { name: 'k' type: 'Concat' bottom: 'i' bottom: 'i' top: 'k' "
                    "concat_param { concat_dim: 0 } } "
                    "layer { name: 'f' type: 'InfogainLoss' bottom: 'k' bottom: 'l' "
                    "infogain_loss_param { source: 'h' } } "
                    "layer { name: 'h' type: 'HDF5Output' bottom: 'k' hdf5_output_param { "
                    "file_name: 'o' } }"));
}

TEST(UpgradeNet, WritesTheOtherDataLayersOfV0) {
  EXPECT_EQ(
      FromOld("layers { layer { type: 'images' source: 's' batchsize: 4 shuffle_images: true "
              "new_height: 5 "
              "  new_width: 6 scale: 2 } } "
              "layers { layer { type: 'hdf5_data' source: 's' batchsize: 4 } } "
              "layers { layer { type: 'window_data' source: 's' batchsize: 4 mirror: true "
              "det_fg_threshold: 0.75 "
              "  det_bg_threshold: 0.25 det_fg_fraction: 0.5 det_context_pad: 3 det_crop_mode: "
              "'square' } }"),
      Current(
          "layer { type: 'ImageData' image_data_param { source: 's' batch_size: 4 shuffle: true "
          "  new_height: 5 new_width: 6 } transform_param { scale: 2 } } "
          "layer { type: 'HDF5Data' hdf5_data_param { source: 's' batch_size: 4 } } "
          "layer { type: 'WindowData' window_data_param { source: 's' batch_size: 4 fg_threshold: "
          "0.75 "
          "  bg_threshold: 0.25 fg_fraction: 0.5 context_pad: 3 crop_mode: 'square' } "
          "  transform_param { mirror: true } }"));
}

TEST(UpgradeNet, KnowsEveryV0Type) {
  const std::pair<const char*, const char*> types[] = {
      {"accuracy", "Accuracy"},
      {"bnll", "BNLL"},
      {"euclidean_loss", "EuclideanLoss"},
      {"flatten", "Flatten"},
      {"im2col", "Im2col"},
      {"multinomial_logistic_loss", "MultinomialLogisticLoss"},
      {"relu", "ReLU"},
      {"sigmoid", "Sigmoid"},
      {"softmax", "Softmax"},
      {"softmax_loss", "SoftmaxWithLoss"},
      {"split", "Split"},
      {"tanh", "TanH"}};
  for (const auto& type : types) {
    EXPECT_EQ(FromOld(std::string("layers { layer { type: '") + type.first + "' } }"),
              Current(std::string("layer { type: '") + type.second + "' }"));
  }
}

TEST(UpgradeNet, FoldsPaddingIntoTheLayersThatReadIt) {
  EXPECT_EQ(
      FromOld(
          "layers { layer { name: 'q' type: 'padding' pad: 2 } bottom: 'x' top: 'xp' } "
          "layers { layer { name: 'c' type: 'conv' kernelsize: 3 } bottom: 'xp' top: 'c' } "
          "layers { layer { name: 'p' type: 'pool' kernelsize: 3 pad: 1 } bottom: 'xp' top: 'p' } "
          "layers { layer { name: 'd' type: 'conv' kernelsize: 1 } bottom: 'c' top: 'd' }"),
      Current("layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' "
              "  convolution_param { pad: 2 kernel_size: 3 } } "
              "layer { name: 'p' type: 'Pooling' bottom: 'x' top: 'p' pooling_param { pad: 2 "
              "kernel_size: 3 } } "
              "layer { name: 'd' type: 'Convolution' bottom: 'c' top: 'd' convolution_param { "
              "kernel_size: 1 } }"));
}

TEST(UpgradeNet, RefusesOtherReadersOfPadding) {
  EXPECT_EQ(
      UpgradeMistake("layers { layer { type: 'padding' } bottom: 'x' top: 'y' }\n"
                     "layers { layer { type: 'relu' }\n bottom: 'y' top: 'z' }"),
      "f:3:2: 'y' is made by a padding layer, which only a conv or pool of one bottom can read");
  EXPECT_EQ(UpgradeMistake("layers { layer { type: 'padding' } top: 'y' }\n"
                           "layers { layer { type: 'conv' } bottom: 'y' top: 'z' }"),
            "f:1:18: a padding layer has one bottom and one top");
}

TEST(UpgradeNet, NamesAnUnknownV0Type) {
  EXPECT_EQ(UpgradeMistake("layers {\n layer { name: 'a'\n type: 'softmaxloss' } }"),
            "f:3:2: layer 'a': unknown type 'softmaxloss' in the V0 format; did you mean "
            "'softmax_loss'?");
}

TEST(UpgradeNet, SaysWhatAV0LayerCannotTake) {
  EXPECT_THAT(
      Dropped("layers { layer { name: 'a' type: 'relu'\n num_output: 4 } }"),
      ElementsAre("f:2:2: layer 'a': 'num_output' has no effect on a layer of type 'relu'"));
  EXPECT_THAT(
      Dropped(
          "layers { layer { name: 'a' type: 'hdf5_data' scale: 4 }\n include { phase: TEST } }"),
      ElementsAre("f:2:2: layer 'a': 'include' has no effect beside a layer in the V0 format",
                  "f:1:46: layer 'a': 'scale' has no effect on a layer of type 'hdf5_data'"));
  EXPECT_EQ(UpgradeMistake("layers { layer { name: 'a' type: 'images' new_height: -1 } }"),
            "f:1:43: layer 'a': new_height must be at least 0");
}

TEST(UpgradeNet, RefusesBothFormats) {
  EXPECT_EQ(UpgradeMistake("layers { type: RELU }\nlayer { type: 'ReLU' }"),
            "f:2:1: the net has layers in an old format and layer in the current one; keep one");
}

TEST(UpgradeNet, KeepsThePlacesOfV1) {
  const Upgraded result = UpgradeText(
      "layers { type: RELU }\n"
      "layers {\n name: 'c' bottom: 'x'\n bottom: 'y'\n type: CONVOLUTION\n blobs_lr: 1\n "
      "blobs_lr: 2\n"
      " convolution_param {\n  kernel_size: 3 kernel_size: 4\n  weight_filler {\n   type: 'x' } }\n"
      " include { phase: TEST }\n include {\n phase: TRAIN } }");
  const FieldPlaces at = result.places.Nested(result.net, "layer", 1);
  EXPECT_EQ(at.At().ToString(), "f:2:1");
  EXPECT_EQ(at.At("bottom").ToString(), "f:3:12");
  EXPECT_EQ(at.At("bottom", 1).ToString(), "f:4:2");
  EXPECT_EQ(at.At("bottom", 7).ToString(), "f:3:12");
  EXPECT_EQ(at.At("type").ToString(), "f:5:2");
  EXPECT_EQ(at.At("param[1].lr_mult").ToString(), "f:7:2");
  EXPECT_EQ(at.At("param[1].decay_mult").ToString(), "f:7:2");
  EXPECT_EQ(at.At("param", 1).ToString(), "f:7:2");
  EXPECT_EQ(at.At("convolution_param.kernel_size", 1).ToString(), "f:9:18");
  EXPECT_EQ(at.At("convolution_param.stride").ToString(), "f:8:2");
  EXPECT_EQ(at.At("convolution_param.weight_filler.type").ToString(), "f:11:4");
  EXPECT_EQ(at.At("include[1].phase").ToString(), "f:14:2");
  EXPECT_EQ(at.At("top").ToString(), "f:2:1");
  EXPECT_EQ(at.Nested(result.net.layer(1), "convolution_param").At("kernel_size").ToString(),
            "f:9:3");
}

TEST(UpgradeNet, KeepsThePlacesOfV0AndOfWhatMoved) {
  const Upgraded result = UpgradeText(
      "layers { layer { type: 'padding'\n pad: 1 } bottom: 'x' top: 'y' }\n"
      "layers { layer {\n type: 'conv'\n kernelsize: 3 } bottom: 'y' top: 'z' }");
  const FieldPlaces at = result.places.Nested(result.net, "layer", 0);
  EXPECT_EQ(at.At().ToString(), "f:3:1");
  EXPECT_EQ(at.At("type").ToString(), "f:4:2");
  EXPECT_EQ(at.At("convolution_param.kernel_size").ToString(), "f:5:2");
  EXPECT_EQ(at.At("convolution_param.pad").ToString(), "f:2:2");
  EXPECT_EQ(at.At("convolution_param.stride").ToString(), "f:3:1");

  const Upgraded data = UpgradeText("layers { type: DATA\n data_param {\n  crop_size: 3 } }");
  EXPECT_EQ(data.places.At("layer[0].transform_param.crop_size").ToString(), "f:3:3");
}

TEST(UpgradeNet, LetsOverridesReplaceWhatItMade) {
  Upgraded result =
      UpgradeText("layers { name: 'c' type: CONVOLUTION convolution_param { kernel_size: 3 } }");
  ParseOverrides({"net.layer[c].convolution_param.kernel_size=[5,6]"})
      .ApplyToNet(&result.net, &result.places);
  EXPECT_THAT(result.net.layer(0).convolution_param().kernel_size(), ElementsAre(5, 6));
  EXPECT_THAT(result.places.At("layer[0].convolution_param.kernel_size").ToString(),
              HasSubstr("--set net.layer[c]"));
  ParseOverrides({"net.layer[c].convolution_param={ num_output: 2 }"})
      .ApplyToNet(&result.net, &result.places);
  EXPECT_THAT(result.places.At("layer[0].convolution_param.kernel_size").ToString(),
              HasSubstr("={ num_output: 2 }"));
}

TEST(UpgradeNet, MakesASpecWhoseMistakesPointAtTheOldFile) {
  Upgraded result = UpgradeText(
      "layers {\n name: 'a' type: RELU\n include { phase: TRAIN }\n exclude { phase: TRAIN } }");
  EXPECT_EQ(Mistake([&] { MakeNetSpec(result.net, result.places, NetState(), NetOptions()); }),
            "f:4:2: layer 'a': has include and exclude; use only one of them");
}

TEST(UpgradeInMemory, SaysTheFormatOnce) {
  NetParameter net;
  FieldPlaces places = ParseText(
      "name: 'n'\nlayers { layer { type: 'relu' } }\nlayers { layer { type: 'tanh' } }", "f", &net);
  const std::vector<Warning> warnings = UpgradeInMemory(&net, &places);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].at.ToString(), "f:2:1");
  EXPECT_EQ(warnings[0].message,
            "in the V0 format, upgraded in memory; 'doppio upgrade' writes it in the current one");
  EXPECT_THAT(UpgradeInMemory(&net, &places), IsEmpty());
}

TEST(ForEachNet, VisitsTheNetsInsideASolver) {
  SolverParameter solver;
  const FieldPlaces places = ParseText(
      "net_param { layers { type: RELU } }\n"
      "test_net_param { name: 'a' }\n"
      "test_net_param {\n layers {\n  type: TANH } }",
      "f", &solver);
  ForEachNet(&solver, places, [](NetParameter* net, FieldPlaces* at) { UpgradeNet(net, at); });
  EXPECT_EQ(solver.net_param().layer(0).type(), "ReLU");
  EXPECT_EQ(solver.test_net_param(1).layer(0).type(), "TanH");
  EXPECT_EQ(places.At("test_net_param[1].layer[0].type").ToString(), "f:5:3");
}

}  // namespace
}  // namespace doppio
