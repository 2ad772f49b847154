// Parses files of every dialect: text as users write it, and bytes as Caffe writes them, which the
// tests assemble by hand.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "proto/net.pb.h"
#include "proto/solver.pb.h"

namespace doppio {
namespace {

using google::protobuf::TextFormat;

template <class Message>
Message Text(const std::string& text) {
  Message message;
  EXPECT_TRUE(TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

// Protobuf's wire encoding, implemented here so that the tests do not depend on the .proto files.
std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes += static_cast<char>(value | 128);
  return bytes + static_cast<char>(value);
}
std::string Int(int field, uint64_t value) { return Varint(field * 8) + Varint(value); }
std::string Bytes(int field, const std::string& value) {
  return Varint(field * 8 + 2) + Varint(value.size()) + value;
}
std::string FloatBits(float value) {
  char bytes[4];
  std::memcpy(bytes, &value, 4);
  return std::string(bytes, 4);
}
std::string Float(int field, float value) { return Varint(field * 8 + 5) + FloatBits(value); }

TEST(Text, OfBvlcIsRead) {
  const auto net = Text<NetParameter>(R"(
    name: "lenet"
    layer {
      name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
      param { lr_mult: 1 } param { lr_mult: 2 decay_mult: 0 }
      convolution_param {
        num_output: 20 kernel_size: 5 stride: 1
        weight_filler { type: "xavier" variance_norm: AVERAGE }
      }
      include { phase: TRAIN stage: "a" not_stage: "b" }
    }
    layer { type: "Pooling" pooling_param { pool: AVE round_mode: FLOOR } }
    layer { type: "SoftmaxWithLoss" loss_param { normalization: NONE ignore_label: 255 } })");
  ASSERT_EQ(net.layer_size(), 3);
  EXPECT_EQ(net.layer(0).convolution_param().kernel_size(0), 5u);
  EXPECT_EQ(net.layer(0).param(1).decay_mult(), 0);
  EXPECT_EQ(net.layer(0).include(0).phase(), TRAIN);
  EXPECT_EQ(net.layer(1).pooling_param().round_mode(), PoolingParameter::FLOOR);
  EXPECT_EQ(net.layer(2).loss_param().normalization(), LossParameter::NONE);

  const auto solver = Text<SolverParameter>(R"(
    net: "train_val.prototxt" test_iter: 100 test_iter: 10 test_interval: 500
    lr_policy: "multistep" stepvalue: 5000 stepvalue: 7000
    solver_mode: CPU type: "Adam" weights: "a.caffemodel" weights: "b.caffemodel")");
  EXPECT_EQ(solver.test_iter_size(), 2);
  EXPECT_EQ(solver.stepvalue(1), 7000);
  EXPECT_EQ(solver.weights(1), "b.caffemodel");
  EXPECT_EQ(solver.solver_mode(), SolverParameter::CPU);
}

TEST(Text, OfOldNetsIsRead) {
  const auto v1 = Text<NetParameter>(R"(
    input: "data" input_dim: 1 input_dim: 3 input_dim: 227 input_dim: 227
    layers {
      name: "fc" type: INNER_PRODUCT bottom: "data" top: "fc"
      blobs_lr: 1 blobs_lr: 2 weight_decay: 1 weight_decay: 0 param: "w" blob_share_mode: PERMISSIVE
      inner_product_param { num_output: 10 }
      include: { phase: TEST }
    })");
  EXPECT_EQ(v1.input_dim(3), 227);
  EXPECT_EQ(v1.layers(0).type(), V1LayerParameter::INNER_PRODUCT);
  EXPECT_EQ(v1.layers(0).blob_share_mode(0), V1LayerParameter::PERMISSIVE);

  const auto v0 = Text<NetParameter>(R"(
    layers {
      layer { name: "conv1" type: "conv" num_output: 96 kernelsize: 11 stride: 4 biasterm: false }
      bottom: "data" top: "conv1"
    })");
  EXPECT_EQ(v0.layers(0).layer().kernelsize(), 11u);
  EXPECT_FALSE(v0.layers(0).layer().biasterm());
  EXPECT_EQ(v0.layers(0).layer().group(), 1u);
}

TEST(Text, OfNvcaffeIsRead) {
  const auto net = Text<NetParameter>(R"(
    default_forward_type: FLOAT16 default_backward_math: FLOAT
    global_grad_scale: 128 reduce_buckets: 3 default_conv_algos_override: "0,1,2"
    layer {
      forward_type: FLOAT forward_math: FLOAT16 debug: true
      transform_param { use_gpu_transform: true interpolation_algo_up: INTER_AREA }
      data_param { threads: 4 cache: true shuffle: true }
      batch_norm_param { scale_bias: true engine: CUDNN scale_filler { value: 1 } }
      loss_param { label_smoothing: 0.1 }
      detectnet_groundtruth_param { object_class { src: 1 dst: 0 } }
    })");
  EXPECT_EQ(net.default_forward_type(), Number::FLOAT16);
  EXPECT_EQ(net.layer(0).forward_math(), Number::FLOAT16);
  EXPECT_EQ(net.layer(0).batch_norm_param().engine(), ForkEngine::CUDNN);
  EXPECT_TRUE(net.layer(0).data_param().shuffle());

  const auto solver = Text<SolverParameter>(R"(
    larc: true larc_policy: "clip" larc_eta: 0.002 rampup_interval: 100 rampup_lr: 0.01 min_lr: 1e-5
    momentum_policy: "poly" weight_decay_policy: "poly" solver_data_type: FLOAT solver_type: SAG)");
  EXPECT_EQ(solver.larc_policy(), "clip");
  EXPECT_EQ(solver.solver_type(), SolverParameter::SAG);
}

TEST(Text, OfIntelCaffeIsRead) {
  const auto net = Text<NetParameter>(R"(
    engine: "MKLDNN" bn_stats_batch_size: 32
    compile_net_state { bn_scale_remove: true }
    multinode { model_parallel { layer_from: "a" layer_to: "b" num_nodes: 2 } }
    layer {
      engine: "MKL2017"
      transform_param { random_resize_param { min_size: 256 max_size: 480 } bgr2rgb: true }
      convolution_param { engine: MKLDNN relu: true fusion_type: SUM_FUSION }
      pooling_param { avg_include_pad: false kernel_size_3d: 2 kernel_size_3d: 2 }
      batch_norm_param { engine: MKL2017 bias_filler { value: 0 } }
      loss_param { normalization: PRE_FIXED pre_fixed_normalizer: 64 }
      quantization_param { precision: DYNAMIC_FIXED_POINT scale_in: 1.5 }
    })");
  EXPECT_EQ(net.engine(), "MKLDNN");
  EXPECT_EQ(net.layer(0).convolution_param().engine(), ConvolutionParameter::MKLDNN);
  EXPECT_EQ(net.layer(0).loss_param().normalization(), LossParameter::PRE_FIXED);
  EXPECT_FALSE(net.layer(0).pooling_param().avg_include_pad());

  const auto solver = Text<SolverParameter>(
      "warmup_iter: 780 warmup_start_lr: 0.1 local_lr_auto: true stagelr: 0.1 stageiter: 5");
  EXPECT_EQ(solver.warmup_iter(), 780);

  const auto phases = Text<MultiPhaseSolverParameter>(
      "params_pair { solver_params { net: \"a\" max_iter: 5 } batch_size: 64 }");
  EXPECT_EQ(phases.params_pair(0).solver_params().max_iter(), 5);
}

TEST(Text, OfSsdIsRead) {
  const auto net = Text<NetParameter>(R"(
    layer {
      transform_param {
        resize_param { resize_mode: WARP height: 300 interp_mode: LINEAR interp_mode: AREA }
        distort_param { hue_prob: 0.5 hue_delta: 18 } expand_param { max_expand_ratio: 4 }
        emit_constraint { emit_type: CENTER }
      }
      annotated_data_param {
        batch_sampler { sampler { min_scale: 0.3 } sample_constraint { min_jaccard_overlap: 0.7 } }
        label_map_file: "labelmap.prototxt"
      }
      prior_box_param { min_size: 30 aspect_ratio: 2 variance: 0.1 variance: 0.2 step: 8 }
      norm_param { across_spatial: false scale_filler { value: 20 } }
      permute_param { order: 0 order: 2 order: 3 order: 1 }
      multibox_loss_param { loc_loss_type: SMOOTH_L1 mining_type: HARD_EXAMPLE }
      detection_output_param { nms_param { top_k: 400 } save_output_param { output_format: "VOC" } }
    })");
  const LayerParameter& layer = net.layer(0);
  EXPECT_EQ(layer.transform_param().resize_param().interp_mode(1), ResizeParameter::AREA);
  EXPECT_EQ(layer.multibox_loss_param().mining_type(), MultiBoxLossParameter::HARD_EXAMPLE);
  EXPECT_EQ(layer.permute_param().order(3), 1u);

  const auto solver = Text<SolverParameter>(
      "eval_type: 'detection' ap_version: '11point' lr_policy: 'plateau' plateau_winsize: 100");
  EXPECT_EQ(solver.plateau_winsize(0), 100);
  EXPECT_EQ(Text<LabelMap>("item { name: 'cat' label: 8 }").item(0).label(), 8);
}

TEST(Text, OfOurOwnFieldsIsRead) {
  const auto net = Text<NetParameter>(R"(
    layer { data_param { backend: IDX source: "images" labels: "labels" batch_size: 64 } }
    layer { data_param { backend: DIGITS size: 500 seed: 3 part: TEST } }
    layer { pooling_param { ceil_mode: false } interp_param { zoom_factor: 8 } })");
  EXPECT_EQ(net.layer(0).data_param().backend(), DataParameter::IDX);
  EXPECT_EQ(net.layer(0).data_param().labels(0), "labels");
  EXPECT_EQ(net.layer(1).data_param().part(), DataParameter::TEST);
  EXPECT_FALSE(net.layer(0).data_param().has_part());
  EXPECT_EQ(Text<SolverParameter>("max_epoch: 3 test_epoch: 1 snapshot_epoch: 2").max_epoch(), 3);
}

TEST(Bytes, OfWeightsAreRead) {
  const std::string blob =
      Bytes(7, Bytes(1, Varint(2) + Varint(1))) + Bytes(5, FloatBits(1.5f) + FloatBits(-2));
  const std::string layer =
      Bytes(1, "ip") + Bytes(2, "InnerProduct") + Bytes(7, blob) + Bytes(117, Int(1, 2));
  NetParameter net;
  ASSERT_TRUE(net.ParseFromString(Bytes(1, "n") + Bytes(100, layer)));
  EXPECT_EQ(net.layer(0).name(), "ip");
  EXPECT_EQ(net.layer(0).inner_product_param().num_output(), 2u);
  EXPECT_EQ(net.layer(0).blobs(0).shape().dim(0), 2);
  EXPECT_EQ(net.layer(0).blobs(0).data(1), -2);
}

TEST(Bytes, OfOldWeightsAreRead) {
  const std::string blob = Int(1, 1) + Int(2, 1) + Int(3, 1) + Int(4, 2) + Float(5, 3) +
                           Float(5, 4);  // not packed, as the first Caffe wrote it
  NetParameter net;
  ASSERT_TRUE(net.ParseFromString(Bytes(2, Bytes(4, "ip") + Int(5, 14) + Bytes(6, blob))));
  EXPECT_EQ(net.layers(0).type(), V1LayerParameter::INNER_PRODUCT);
  EXPECT_EQ(net.layers(0).blobs(0).width(), 2);
  EXPECT_EQ(net.layers(0).blobs(0).data(1), 4);
}

TEST(Bytes, OfNvcaffesRawWeightsAreRead) {
  BlobProto blob;
  ASSERT_TRUE(blob.ParseFromString(Int(10, 2) + Bytes(12, std::string("\x00\x3c", 2))));
  EXPECT_EQ(blob.raw_data_type(), Number::FLOAT16);
  EXPECT_EQ(blob.raw_data().size(), 2u);
}

TEST(Bytes, OfASolverStateAreRead) {
  SolverState state;
  ASSERT_TRUE(state.ParseFromString(Int(1, 10000) + Bytes(2, "a.caffemodel") +
                                    Bytes(3, Bytes(5, FloatBits(0.5f))) + Int(4, 2)));
  EXPECT_EQ(state.iter(), 10000);
  EXPECT_EQ(state.history(0).data(0), 0.5f);
  EXPECT_EQ(state.current_step(), 2);
  EXPECT_FALSE(state.has_run_state());
}

TEST(Bytes, OfOurRunStateLeaveBvlcsFieldsAlone) {
  SolverState state;
  state.set_iter(7);
  state.mutable_run_state()->set_seed(1);
  // Field 2001 has the tag 2001 * 8 + 2; a reader without this field skips it by its length.
  EXPECT_EQ(state.SerializeAsString(), Int(1, 7) + Bytes(2001, Int(2, 1)));
}

TEST(Bytes, OfAForksMeaningWithAnotherWireTypeAreSkipped) {
  // Field 147 is NVCaffe's forward_math, an enum; field 149 is Intel's engine, a string.
  LayerParameter layer;
  ASSERT_TRUE(layer.ParseFromString(Bytes(1, "conv") + Int(147, 1) + Bytes(149, "MKLDNN")));
  EXPECT_EQ(layer.name(), "conv");
  EXPECT_FALSE(layer.has_swish_param());
  EXPECT_TRUE(layer.engine().empty());
  EXPECT_EQ(layer.unknown_fields().field_count(), 2);
}

}  // namespace
}  // namespace doppio
