// Tests the warnings of `check` and `train`.
#include "tools/nets/lint.h"

#include <gtest/gtest.h>

#include "proto/solver.pb.h"

namespace doppio {
namespace {

std::vector<Warning> Ignored(const std::string& text) {
  NetParameter net;
  const FieldPlaces places = ParseText(text, "net.prototxt", &net);
  return IgnoredFields(net, places);
}

TEST(IgnoredFields, AreTheForksFieldsThatNothingObeys) {
  const auto warnings = Ignored(
      "name: 'n'\nlayer {\n  name: 'c'\n  type: 'Convolution'\n"
      "  convolution_param { num_output: 1 conv_algos_override: '1,1,1' }\n}\n");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].at.ToString(), "net.prototxt:5:37");
  EXPECT_EQ(warnings[0].message,
            "'conv_algos_override' of ConvolutionParameter comes from a fork of Caffe: it is "
            "accepted, but has no "
            "effect here");
}

TEST(IgnoredFields, AreKnownByTheirDescriptors) {
  const auto none = [](const google::protobuf::Descriptor& message, const char* field) {
    return HasNoEffectHere(*message.FindFieldByName(field));
  };
  EXPECT_TRUE(none(*ConvolutionParameter::descriptor(), "conv_algos_override"));
  EXPECT_FALSE(none(*ConvolutionParameter::descriptor(), "kernel_size"));
  EXPECT_TRUE(none(*DetectionOutputParameter::descriptor(), "save_file"));
  EXPECT_TRUE(none(*DataParameter::descriptor(), "mean_file"));  // transform_param has it
  EXPECT_FALSE(none(*DataParameter::descriptor(), "seed"));      // Doppio's own field
  EXPECT_FALSE(none(*LayerParameter::descriptor(), "device"));
  EXPECT_FALSE(none(*LayerParameter::descriptor(), "forward_type"));
  EXPECT_TRUE(none(*LayerParameter::descriptor(), "backward_math"));
  EXPECT_FALSE(none(*ConvolutionParameter::descriptor(), "hole"));
  EXPECT_FALSE(none(*FillerParameter::descriptor(), "alpha"));
  EXPECT_FALSE(none(*ROIPoolingParameter::descriptor(), "pad_ratio"));
  EXPECT_TRUE(none(*SolverParameter::descriptor(), "richness"));
  EXPECT_TRUE(none(*LayerParameter::descriptor(), "split_param"));
  EXPECT_TRUE(none(*LayerParameter::descriptor(), "trt_param"));
  EXPECT_FALSE(none(*SolverParameter::descriptor(), "larc"));
  // data/augment/transforms.cc says which fields of transform_param are used.
  EXPECT_FALSE(none(*TransformationParameter::descriptor(), "noise_param"));
  EXPECT_FALSE(none(*TransformationParameter::descriptor(), "allow_upscale"));
  EXPECT_FALSE(none(*TransformationParameter::descriptor(), "pad"));
  EXPECT_TRUE(none(*TransformationParameter::descriptor(), "use_gpu_transform"));
}

TEST(IgnoredFields, LeaveOutWhatIsObeyed) {
  EXPECT_TRUE(
      Ignored("layer { name: 'e' type: 'ELU' elu_param { alpha: 1 lambda: 1.05 } }").empty());
  EXPECT_TRUE(Ignored("layer { name: 'n' type: 'Normalize' norm_param { eps: 1 } }").empty());
  EXPECT_TRUE(Ignored("layer { type: 'DenseImageData' dense_image_data_param { batch_size: 2 } }\n"
                      "layer { type: 'SegAccuracy' seg_accuracy_param { ignore_label: 255 } }\n"
                      "layer { type: 'VideoData' video_data_param { skip_frames: 3 } }\n"
                      "layer { type: 'DetectNetTransformation'\n"
                      "  detectnet_groundtruth_param { stride: 8 }\n"
                      "  detectnet_augmentation_param { flip_prob: 0 } }")
                  .empty());
  EXPECT_TRUE(Ignored("layer { name: 'l' type: 'SmoothL1Loss' smooth_l1_loss_param { sigma: 3 } }")
                  .empty());
}

TEST(IgnoredFields, AreReportedInsideMessagesThatAreObeyed) {
  const auto warnings = Ignored(
      "layer { name: 'd' type: 'DetectionOutput'\n"
      "  detection_output_param { num_classes: 2 keep_top_k: 3\n"
      "    save_output_param { output_format: 'VOC' }\n    visualize: false } }\n"
      "layer { name: 'e' type: 'DetectionEvaluate'\n"
      "  detection_evaluate_param { num_classes: 2 name_size_file: 'sizes' } }\n");
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_EQ(warnings[0].at.ToString(), "net.prototxt:3:5");
  EXPECT_NE(warnings[0].message.find("'save_output_param' of DetectionOutputParameter"),
            std::string::npos);
  EXPECT_NE(warnings[1].message.find("'name_size_file' of DetectionEvaluateParameter"),
            std::string::npos);
}

TEST(IgnoredFields, LeaveOutTheLossScale) {
  EXPECT_TRUE(Ignored("global_grad_scale: 128 global_grad_scale_adaptive: true").empty());
}

std::vector<Warning> IgnoredOfSolver(const std::string& text) {
  SolverParameter solver;
  const FieldPlaces places = ParseText(text, "solver.prototxt", &solver);
  return IgnoredFields(solver, places);
}

TEST(IgnoredFields, NameTheForkOfASolversField) {
  const auto warnings = IgnoredOfSolver("larc_turbo: true\ntest_offset: 3");
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_EQ(
      warnings[0].message,
      "'larc_turbo' of SolverParameter comes from NVCaffe: it is accepted, but has no effect here");
  EXPECT_EQ(warnings[1].at.ToString(), "solver.prototxt:2:1");
  EXPECT_NE(warnings[1].message.find("comes from Intel Caffe:"), std::string::npos);
}

TEST(IgnoredFields, LeaveOutWhatASolverObeys) {
  EXPECT_TRUE(IgnoredOfSolver(
                  "rampup_interval: 5 rampup_lr: 0.1 min_lr: 0.1 momentum_policy: 'poly' "
                  "max_momentum: 0.9\n"
                  "momentum_power: 2 weight_decay_policy: 'poly' weight_decay_power: 2 larc: true\n"
                  "larc_policy: 'clip' larc_eta: 0.1 warmup_iter: 3 warmup_start_lr: 0.1 "
                  "local_lr_auto: true\n"
                  "local_gw_ratio: 0.1 stagelr: 1 stageiter: 2 plateau_winsize: 3")
                  .empty());
}

TEST(IgnoredFields, LeaveOutWhatSaysTheDefault) {
  EXPECT_TRUE(Ignored("reduce_buckets: 6").empty());
  EXPECT_EQ(Ignored("reduce_buckets: 7").size(), 1u);
}

TEST(IgnoredFields, KnowWhatBecomesOfNumberTypes) {
  EXPECT_TRUE(
      Ignored("default_forward_type: FLOAT16 default_backward_type: FLOAT16\n"
              "default_forward_math: FLOAT default_backward_math: FLOAT\n"
              "layer { name: 'r' type: 'ReLU' forward_type: BFLOAT16 backward_type: BFLOAT16 }")
          .empty());
  const auto warnings = Ignored(
      "default_forward_math: FLOAT16\n"
      "layer { name: 'a' type: 'ReLU' forward_type: DOUBLE }\n"
      "layer { name: 'b' type: 'ReLU' forward_type: FLOAT16 backward_type: FLOAT }\n");
  ASSERT_EQ(warnings.size(), 3u);
  EXPECT_EQ(warnings[0].message,
            "'default_forward_math: FLOAT16' has no effect: everything is computed in FLOAT");
  EXPECT_EQ(warnings[1].at.ToString(), "net.prototxt:2:32");
  EXPECT_EQ(
      warnings[1].message,
      "'forward_type: DOUBLE' has no effect: activations are stored as FLOAT, FLOAT16 or BFLOAT16");
  EXPECT_EQ(warnings[2].message,
            "'backward_type: FLOAT' has no effect: gradients have the type of their values, set by "
            "forward_type");
}

TEST(IgnoredFields, AreTransformsThatMovedAway) {
  const auto warnings =
      Ignored("layer { name: 'd' type: 'Data' data_param {\n  source: 's'\n  scale: 0.5 } }");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].at.ToString(), "net.prototxt:3:3");
  EXPECT_EQ(warnings[0].message,
            "'scale' of DataParameter has no effect in a layer of the current format, as in Caffe; "
            "set the field of this name in transform_param");
  EXPECT_TRUE(Ignored("layer { name: 'd' type: 'Data' transform_param { scale: 0.5 } }").empty());
  EXPECT_TRUE(
      Ignored("layer { name: 'd' type: 'WindowData' window_data_param { scale: 0.5 } }").empty());
  EXPECT_EQ(
      Ignored("layer { name: 'd' type: 'WindowData' window_data_param { mirror: true } }").size(),
      1u);
}

TEST(IgnoredFields, AreNoneOfThoseThatChangeImages) {
  for (const char* type : {"Data", "AnnotatedData"}) {
    EXPECT_TRUE(
        Ignored("layer { name: 'd' type: '" + std::string(type) +
                "' transform_param { "
                "resize_param { height: 3 width: 3 } noise_param { prob: 1 } "
                "distort_param { hue_prob: 1 } expand_param { prob: 1 } allow_upscale: true } }")
            .empty())
        << type;
  }
}

TEST(LooseEnds, AreBlobsBesideALossThatNoLayerReads) {
  NetParameter net;
  const FieldPlaces places = ParseText(
      "layer { name: 'in' type: 'Input' top: 'a' top: 'b' input_param { shape { dim: 2 dim: 3 } } "
      "}\n"
      "layer { name: 'r' type: 'ReLU' bottom: 'a' top: 'left' }\n"
      "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'a' bottom: 'b' top: 'loss' }\n",
      "net.prototxt", &net);
  const Graph graph = MakeGraph(MakeNetSpec(net, places, net.state(), NetOptions()));
  const auto warnings = LooseEnds(graph);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].at.ToString().substr(0, 14), "net.prototxt:2");
  EXPECT_NE(warnings[0].message.find("blob 'left' of layer 'r' is read by no layer"),
            std::string::npos);
}

}  // namespace
}  // namespace doppio
