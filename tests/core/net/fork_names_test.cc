#include "core/net/spec/fork_names.h"

#include <gtest/gtest.h>

#include <sstream>

namespace doppio {
namespace {

// Returns the common hint of `names`, separated by blanks, or the two hints that differ.
std::string Hint(const std::string& message, const std::string& names) {
  std::istringstream words(names);
  std::string name, hint;
  words >> name;
  hint = ForkHint(message, name);
  while (words >> name) {
    const std::string other = ForkHint(message, name);
    if (other != hint) return name + ": '" + other + "' instead of '" + hint + "'";
  }
  return hint;
}

std::string TypeHint(const std::string& type) { return ForkHint("LayerParameter", "type=" + type); }

TEST(ForkNames, KnowForksForDetection) {
  // MS-CNN's net for Caltech and Cascade R-CNN's with a feature pyramid.
  EXPECT_EQ(Hint("LayerParameter",
                 "type=ImageGtData image_gt_data_param type=DetectionLoss detection_loss_param "
                 "detection_accuracy_param type=BoxOutput box_output_param type=BboxAccuracy"),
            "it comes from MS-CNN's Caffe (zhaoweicai)");
  EXPECT_EQ(Hint("LayerParameter",
                 "type=DetectionData detection_data_param eval_data_param type=DetectionGroupLoss "
                 "detection_group_accuracy_param type=BoxGroupOutput type=ScaleRoute "
                 "hard_mining_param type=FrcnnOutput"),
            "it comes from Cascade R-CNN's Caffe (zhaoweicai)");
  EXPECT_EQ(Hint("ProposalTargetParameter",
                 "cls_num num_img_per_batch fg_thr bg_thr_hg bg_thr_lw img_width img_height"),
            Hint("LayerParameter", "type=DecodeBBox bbox_reg_param"));
  EXPECT_EQ(Hint("LayerParameter", "type=ROIWarping roi_warping_param"),
            "it comes from MNC's Caffe; ROIPooling takes the same bottoms");
  EXPECT_EQ(ForkHint("LayerParameter", "mask_resize_param"), "it comes from MNC's Caffe");
  EXPECT_EQ(ForkHint("DetectionOutputParameter", "use_polygon"),
            "it comes from TextBoxes++'s Caffe");
  EXPECT_EQ(Hint("LayerParameter", "type=SegmentationEvaluate segmentation_evaluate_param"),
            "it comes from MobileNet-YOLO's Caffe");
  EXPECT_EQ(ForkHint("LayerParameter", "focal_loss_param"),
            "it comes from a fork with focal loss; use SoftmaxWithLoss for FocalLoss, MultiBoxLoss "
            "for MultiBoxFocalLoss");
}

TEST(ForkNames, KnowForksForPoses) {
  EXPECT_EQ(Hint("LayerParameter", "type=OPData op_transform_param"),
            "it comes from OpenPose's Caffe");
  EXPECT_EQ(Hint("LayerParameter", "type=CPMData cpm_transform_param"),
            "it comes from the Caffe of Convolutional Pose Machines");
}

TEST(ForkNames, KnowForksForSegmentation) {
  // DeepLab's vgg128_noup and its nets for weak supervision, in the V1 format.
  EXPECT_EQ(Hint("V1LayerParameter", "type=MAT_WRITE mat_write_param"),
            "it comes from DeepLab's Caffe; use HDF5Output, or doppio extract_features");
  EXPECT_EQ(Hint("V1LayerParameter",
                 "type=UNIQUE_LABEL unique_label_param type=ADAPTIVE_BIAS_CHANNEL "
                 "adaptive_bias_channel_param type=MAT_READ mat_read_param"),
            "it comes from DeepLab's Caffe");
  EXPECT_EQ(ForkHint("ImageDataParameter", "has_label"),
            "it comes from DeepLab's Caffe; label_type: NONE replaces has_label: false");
}

TEST(ForkNames, KnowForksForVideos) {
  EXPECT_EQ(Hint("TransformationParameter", "more_fix_crop is_flow"),
            ForkHint("VideoDataParameter", "name_pattern"));
  EXPECT_EQ(Hint("VideoDataParameter", "source new_length new_height"),
            "it comes from TSN's Caffe, C3D's Caffe or video-caffe");
  EXPECT_EQ(TypeHint("Gather"),
            "it comes from TSN's or PSPNet's Caffe; leave the layer out: it shares blobs between "
            "MPI processes");
  EXPECT_EQ(Hint("V1LayerParameter", "type=VIDEO_DATA type=POOLING3D type=VOXEL_SOFTMAX_LOSS"),
            "it comes from C3D's Caffe (facebook)");
  EXPECT_EQ(Hint("LayerParameter", "type=Convolution3D convolution3d_param"),
            "it comes from C3D's Caffe (facebook); Convolution with kernel_size given three times "
            "convolves three axes");
  EXPECT_EQ(Hint("PoolingParameter", "kernel_depth temporal_stride"),
            ForkHint("ImageDataParameter", "show_data"));
  EXPECT_EQ(ForkHint("ConvolutionParameter", "stride_shape"),
            "it comes from video-caffe; give stride once per axis");
  EXPECT_EQ(Hint("PoolingParameter", "kernel_shape stride_shape"), TypeHint("NdPooling"));
}

TEST(ForkNames, KnowForksOfFewerLayers) {
  EXPECT_EQ(TypeHint("AutoCrop"),
            "it comes from HED's or RCF's Caffe; Crop takes the same bottoms; give it the offset");
  EXPECT_EQ(
      Hint("V1LayerParameter", "type=ELTWISE_ACCURACY eltwise_accuracy_param type=WINDOW_SEG_DATA"),
      "it comes from DeconvNet's Caffe");
  EXPECT_EQ(Hint("LayerParameter", "type=DenseBlock denseblock_param"),
            "it comes from a fork for text recognition");
  EXPECT_EQ(ForkHint("LayerParameter", "detection_param"),
            "it comes from MS-CNN's Caffe (zhaoweicai)");
  EXPECT_EQ(Hint("LayerParameter", "type=Resize resize_param"),
            "it comes from a Caffe for Rockchip's processors; use Interp");
}

TEST(ForkNames, KnowFlowNet) {
  EXPECT_EQ(Hint("LayerParameter",
                 "type=CustomData type=FlowAugmentation coeff_schedule_param type=Correlation1D "
                 "accum_param flow_warp_param lpq_loss_param mean_param type=ChannelNorm "
                 "type=NegReLU type=FLOWriter writer_param type=FloatReader reader_param "
                 "type=DisparityData"),
            "it comes from FlowNet's Caffe");
  EXPECT_EQ(Hint("DataParameter",
                 "preselection_file preselection_label rand_permute rand_permute_seed slice_point "
                 "encoding verbose"),
            "it comes from FlowNet's Caffe");
}

TEST(ForkNames, KnowForksForFaces) {
  const std::string hint = "it comes from NormFace's or AM-Softmax's Caffe (happynear)";
  EXPECT_EQ(Hint("LayerParameter",
                 "type=Flip normalize_param inner_distance_param type=GeneralContrastiveLoss "
                 "general_triplet_loss_param type=LabelSpecificRescale type=LabelSpecificMargin "
                 "label_specific_rescale_param type=GlobalLSEMargin type=Insanity "
                 "type=MultiLabelImageData"),
            hint);
  EXPECT_EQ(Hint("InnerProductParameter", "normalize distance_type"), hint);
  EXPECT_EQ(ForkHint("SoftmaxParameter", "normalize_type"), hint);
  EXPECT_EQ(ForkHint("AccuracyParameter", "min_is_better"), hint);
  EXPECT_EQ(ForkHint("ParameterParameter", "blob_filler"), hint);
  EXPECT_EQ(Hint("ImageDataParameter", "face_transform max_random_shift"), hint);
}

TEST(ForkNames, KnowForksForSmallerNets) {
  EXPECT_EQ(Hint("LayerParameter", "type=Quant quant_param"), "it comes from HWGQ's Caffe");
  EXPECT_EQ(Hint("LayerParameter", "type=BinaryInnerProduct binary_inner_product_param"),
            "it comes from HWGQ's Caffe; InnerProduct takes the same bottoms, without binary "
            "weights");
  EXPECT_EQ(TypeHint("FcRistretto"),
            "it comes from Ristretto (pmgysel); InnerProduct takes the same bottoms, without "
            "quantization");
  EXPECT_EQ(Hint("QuantizationParameter",
                 "precision=INTEGER_POWER_OF_2_WEIGHTS exp_min exp_max rounding_scheme=STOCHASTIC"),
            "it comes from Ristretto (pmgysel); remove quantization_param to train without "
            "quantization");
  EXPECT_EQ(Hint("LayerParameter", "type=CConvolution cconvolution_param"),
            "it comes from Dynamic Network Surgery's Caffe or Auto_pruning (NHZlX); Convolution "
            "takes the same bottoms, without pruning");
  EXPECT_EQ(Hint("ImageDataParameter", "new_dim bicubic"), "it comes from caffe-channel-pruning");
  EXPECT_EQ(Hint("ParamSpec", "kernel_shape_decay_mult breadth_decay_mult block_group_lasso"),
            "it comes from SSL's or SkimCaffe's Caffe (wenwei202); remove it to train without it");
  EXPECT_EQ(Hint("LayerParameter", "type=Sparsify sparsify_param connectivity_mode"),
            ForkHint("ConvolutionParameter", "conv_mode"));
  EXPECT_EQ(Hint("LayerParameter", "type=FixedNeuron fixed_param"),
            "it comes from Vitis AI's Caffe (Xilinx); leave it out to train without quantization");
  EXPECT_EQ(Hint("LayerParameter", "type=DeephiResize deephi_resize_param"),
            "it comes from Vitis AI's Caffe (Xilinx); use Interp");
  EXPECT_EQ(Hint("SolverParameter", "insert_quantization_param quantization_start_iter"),
            "it comes from caffe-jacinto; remove it to train without it");
  EXPECT_EQ(ForkHint("TransformationParameter", "var_sz_img_rand_resize_lower"),
            "it comes from caffe-jacinto or NVCaffe 0.16; see img_rand_resize_lower and "
            "img_rand_resize_upper");
}

TEST(ForkNames, KnowForksOfCompanies) {
  EXPECT_EQ(Hint("LayerParameter", "type=CoSData cos_data_param source_class"),
            "it comes from CaffeOnSpark (yahoo); use a Data layer");
  EXPECT_EQ(Hint("MemoryDataParameter", "source share_in_parallel"),
            "it comes from CaffeOnSpark (yahoo); use a Data layer");
  EXPECT_EQ(TypeHint("BroadcastMul"),
            "it comes from DeepDetect's Caffe (jolibrain); use Scale with axis: 0, and Flatten "
            "before its second bottom");
  EXPECT_EQ(ForkHint("ConvolutionParameter", "cudnn_flavor"),
            "it comes from DeepDetect's Caffe (jolibrain); remove it");
}

TEST(ForkNames, LeaveOtherNames) {
  EXPECT_EQ(ForkHint("LayerParameter", "type=Convolutoin"), "");
  EXPECT_EQ(ForkHint("ConvolutionParameter", "kernel"), "");
  EXPECT_EQ(ForkHint("PoolingParameter", "normalize_type"), "");
}

}  // namespace
}  // namespace doppio
