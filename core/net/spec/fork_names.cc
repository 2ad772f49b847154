#include "core/net/spec/fork_names.h"

#include <sstream>

namespace doppio {
namespace {

struct ForkName {
  const char* message;  // null matches any message
  const char* names;    // separated by blanks; a '*' at the end of a name matches any ending
  const char* fork;
  const char* advice;  // may be empty
};

constexpr char kLayer[] = "LayerParameter";
constexpr char kV1[] = "V1LayerParameter";

constexpr char kV1Format[] = "the V1 format, layers { }";
// Detection and poses.
constexpr char kYolo[] = "MobileNet-YOLO's Caffe";
constexpr char kRefineDet[] = "RefineDet's Caffe";
constexpr char kSoftNms[] = "an SSD fork with soft NMS";
constexpr char kDistortion[] = "an SSD fork with other names for distortions";
constexpr char kTextBoxes[] = "TextBoxes++'s Caffe";
constexpr char kFocal[] = "a fork with focal loss";
constexpr char kMscnn[] = "MS-CNN's Caffe (zhaoweicai)";
constexpr char kCascade[] = "Cascade R-CNN's Caffe (zhaoweicai)";
constexpr char kMscnnOrCascade[] = "MS-CNN's or Cascade R-CNN's Caffe (zhaoweicai)";
constexpr char kMnc[] = "MNC's Caffe";
constexpr char kDeformable[] = "a Caffe with deformable convolution";
constexpr char kPose[] = "OpenPose's Caffe";
constexpr char kPoseMachines[] = "the Caffe of Convolutional Pose Machines";
// Segmentation.
constexpr char kDeepLab[] = "DeepLab's Caffe";
constexpr char kCrfRnn[] = "CRF-RNN's Caffe";
constexpr char kDeconvNet[] = "DeconvNet's Caffe";
constexpr char kEdges[] = "HED's or RCF's Caffe";
constexpr char kLabelImages[] = "caffe-jacinto or caffe-dilation (fyu)";
// Videos and optical flow.
constexpr char kVideo[] = "TSN's Caffe, C3D's Caffe or video-caffe";
constexpr char kTsn[] = "TSN's Caffe (yjxiong)";
constexpr char kMpi[] = "TSN's or PSPNet's Caffe";
constexpr char kC3d[] = "C3D's Caffe (facebook)";
constexpr char kVideoCaffe[] = "video-caffe";
constexpr char kFlowNet[] = "FlowNet's Caffe";
// Faces and text.
constexpr char kNormFace[] = "NormFace's or AM-Softmax's Caffe (happynear)";
constexpr char kSphereFace[] = "SphereFace's Caffe";
constexpr char kCenterLoss[] = "caffe-face (ydwen)";
constexpr char kTriplet[] = "a fork for face recognition";
constexpr char kText[] = "a fork for text recognition";
constexpr char kLstm[] = "caffe-lstm (junhyukoh)";
constexpr char kSpatial[] = "a fork with spatial transformers";
// Smaller nets.
constexpr char kJacinto[] = "caffe-jacinto";
constexpr char kJacintoOrNvidia[] = "caffe-jacinto or NVCaffe 0.16";
constexpr char kCompression[] = "a Caffe for network compression";
constexpr char kPruning[] = "Dynamic Network Surgery's Caffe or Auto_pruning (NHZlX)";
constexpr char kChannelPruning[] = "caffe-channel-pruning";
constexpr char kRistretto[] = "Ristretto (pmgysel)";
constexpr char kHwgq[] = "HWGQ's Caffe";
constexpr char kSparse[] = "SSL's or SkimCaffe's Caffe (wenwei202)";
// Companies.
constexpr char kNvidia[] = "NVCaffe";
constexpr char kIntel[] = "Intel Caffe";
constexpr char kJolibrain[] = "DeepDetect's Caffe (jolibrain)";
constexpr char kSpark[] = "CaffeOnSpark (yahoo)";
constexpr char kVitis[] = "Vitis AI's Caffe (Xilinx)";

constexpr char kRemoveIt[] = "remove it";
constexpr char kDropIt[] = "remove it to train without it";
constexpr char kMatWrite[] = "use HDF5Output, or doppio extract_features";
constexpr char kCrf[] = "compute it behind the net, in Python";
constexpr char kUnpool[] = "in layer { } Upsample does the same with the mask of a MAX Pooling";
constexpr char kConvolution[] =
    "Convolution with kernel_size given three times convolves three axes";
constexpr char kNoQuantization[] = "remove quantization_param to train without quantization";
constexpr char kUseData[] = "use a Data layer";

constexpr ForkName kForkNames[] = {
    {kLayer, "blobs_lr", kV1Format, "in layer { } it is param { lr_mult: ... }"},
    {kLayer, "weight_decay", kV1Format, "in layer { } it is param { decay_mult: ... }"},
    {kLayer, "blob_share_mode", kV1Format, "in layer { } it is param { share_mode: ... }"},

    // Detection and poses.
    {kLayer, "type=Yolo* yolo* type=AssistedExcitation", kYolo, ""},
    {kLayer, "type=SegmentationEvaluate segmentation_evaluate_param", kYolo, ""},
    {"AnnotatedDataParameter", "yolo* train_diffcult single_class seg_scales", kYolo, ""},
    {nullptr, "objectness_score", kRefineDet, ""},
    {"NonMaximumSuppressionParameter", "soft_nms theta", kSoftNms, kDropIt},
    {"DistortionParameter", "all_effects", kDistortion, ""},
    {"DistortionParameter", "brightness", kDistortion, "see brightness_prob and brightness_delta"},
    {"DistortionParameter", "contrast", kDistortion, "see contrast_prob and contrast_lower"},
    {"DistortionParameter", "hue", kDistortion, "see hue_prob and hue_delta"},
    {"DistortionParameter", "saturation", kDistortion, "see saturation_prob and saturation_lower"},
    {"DistortionParameter", "random_order", kDistortion, "see random_order_prob"},
    {"DistortionParameter", "prob", kDistortion, "each effect has its own ..._prob"},
    {"NoiseParameter", "all_effects", kDistortion, kDropIt},
    {"DetectionOutputParameter", "use_polygon", kTextBoxes, ""},
    {"PriorBoxParameter", "denser_prior_boxes", kTextBoxes, ""},
    {kLayer, "type=FocalLoss", kFocal, "SoftmaxWithLoss takes the same bottoms"},
    {kLayer, "type=MultiBoxFocalLoss", kFocal, "MultiBoxLoss takes the same bottoms"},
    {kLayer, "focal_loss_param", kFocal,
     "use SoftmaxWithLoss for FocalLoss, MultiBoxLoss for MultiBoxFocalLoss"},
    {kLayer, "type=ImageGtData type=DetectionLoss type=DetectionAccuracy", kMscnn, ""},
    {kLayer, "image_gt_data_param detection_loss_param detection_accuracy_param", kMscnn, ""},
    {kLayer, "type=BoxOutput box_output_param type=BboxAccuracy bbox_accuracy_param", kMscnn, ""},
    {kLayer, "detection_param", kMscnn, ""},
    {kLayer, "type=DetectionData detection_data_param type=EvalData eval_data_param", kCascade, ""},
    {kLayer, "type=DetectionGroup* detection_group_*", kCascade, ""},
    {kLayer, "type=BoxGroupOutput box_group_output_param", kCascade, ""},
    {kLayer, "type=ScaleRoute scale_route_param type=HardMining hard_mining_param", kCascade, ""},
    {kLayer, "type=FrcnnOutput frcnn_output_param", kCascade, ""},
    {kLayer, "type=DecodeBBox decode_bbox_param bbox_reg_param", kMscnnOrCascade, ""},
    {"ProposalTargetParameter", "cls_num num_img_per_batch fg_thr bg_thr_* img_*", kMscnnOrCascade,
     ""},
    {kLayer, "type=ROIWarping roi_warping_param", kMnc, "ROIPooling takes the same bottoms"},
    {kLayer, "type=MaskPooling type=MaskResize mask_resize_param", kMnc, ""},
    {kLayer, "type=DeformableConvolution deformable_convolution_param", kDeformable, ""},
    {kLayer, "type=DeformablePSROIPooling", kDeformable, ""},
    {kLayer, "type=ImResize imresize_param type=Nms nms_param type=Switch", kPose, ""},
    {kLayer, "type=OPData op_transform_param", kPose, ""},
    {kLayer, "type=CPMData cpm_transform_param", kPoseMachines, ""},

    // Segmentation.
    {nullptr, "type=DenseCRF type=DENSE_CRF dense_crf_param", kDeepLab, kCrf},
    {nullptr, "type=MatWrite type=MAT_WRITE mat_write_param", kDeepLab, kMatWrite},
    {nullptr, "type=MatRead type=MAT_* mat_read_param", kDeepLab, ""},
    {nullptr, "type=UniqueLabel type=UNIQUE_LABEL unique_label_param", kDeepLab, ""},
    {kV1, "type=ADAPTIVE_BIAS_CHANNEL adaptive_bias_channel_param", kDeepLab, ""},
    {kLayer, "type=DomainTransform domain_transform_param", kDeepLab, ""},
    {kLayer, "strict_dim", kDeepLab, kRemoveIt},
    {kV1, "type=PADDING padding_param", kDeepLab, ""},
    {kV1, "type=CROP", "forks for segmentation",
     "in a net of the current form the layer is type: \"Crop\""},
    {"ImageDataParameter", "has_label", kDeepLab, "label_type: NONE replaces has_label: false"},
    {nullptr, "type=MultiStageMeanfield type=MULTI_STAGE_MEANFIELD", kCrfRnn, ""},
    {nullptr, "multi_stage_meanfield_param", kCrfRnn, ""},
    {nullptr, "type=Unpooling type=UNPOOLING unpooling_param", kDeconvNet, kUnpool},
    {kV1, "type=BN bn_param", kDeconvNet, "in layer { } it is type: \"BN\" with bn_param"},
    {nullptr, "type=EltwiseAccuracy type=ELTWISE_ACCURACY eltwise_accuracy_param", kDeconvNet, ""},
    {kV1, "type=WINDOW_SEG_DATA window_seg_data_param", kDeconvNet, ""},
    {kLayer, "type=AutoCrop", kEdges, "Crop takes the same bottoms; give it the offset"},
    {kLayer, "type=ImageLabelData image_label_data_param", kLabelImages, ""},

    // Videos and optical flow.
    {"VideoDataParameter", "source root_folder batch_size shuffle new_*", kVideo, ""},
    {"VideoDataParameter", "modality num_segments name_pattern", kTsn, ""},
    {"TransformationParameter", "fix_crop more_fix_crop multi_scale max_distort", kTsn, ""},
    {"TransformationParameter", "scale_ratios is_flow", kTsn, ""},
    {kLayer, "type=BatchReduction batch_reduction_param", kTsn, ""},
    {kLayer, "type=Gather type=Scatter", kMpi,
     "leave the layer out: it shares blobs between MPI processes"},
    {"NetParameter", "mem_param", kMpi, kRemoveIt},
    {"SolverParameter", "group_id", kMpi, kRemoveIt},
    {nullptr, "type=Convolution3D type=CONVOLUTION3D convolution3d_param", kC3d, kConvolution},
    {nullptr, "type=Deconvolution3D type=DECONVOLUTION3D deconvolution3d_param", kC3d,
     "Deconvolution with kernel_size given three times does the same"},
    {nullptr, "type=Pooling3D type=POOLING3D pooling3d_param", kC3d, ""},
    {kV1, "type=VIDEO_* type=VOXEL_*", kC3d, ""},
    {"ConvolutionParameter", "kernel_depth", kC3d, "give kernel_size three times, the depth first"},
    {"ConvolutionParameter", "temporal_pad", kC3d, "give pad three times, the depth first"},
    {"ConvolutionParameter", "temporal_stride", kC3d, "give stride three times, the depth first"},
    {"PoolingParameter", "kernel_depth temporal_*", kC3d, ""},
    {"VideoDataParameter", "show_data use_image use_temporal_jitter use_multiple_label", kC3d, ""},
    {"VideoDataParameter", "sampling_rate num_of_labels", kC3d, ""},
    {"ImageDataParameter", "show_data use_image use_temporal_jitter use_stream new_length", kC3d,
     ""},
    {"ImageDataParameter", "sampling_rate is_flow truth_scale num_truth_channels", kC3d, ""},
    {kLayer, "type=NdConvolution", kVideoCaffe, kConvolution},
    {kLayer, "type=NdPooling", kVideoCaffe, ""},
    {"ConvolutionParameter", "kernel_shape", kVideoCaffe, "give kernel_size once per axis"},
    {"ConvolutionParameter", "stride_shape", kVideoCaffe, "give stride once per axis"},
    {"ConvolutionParameter", "pad_shape", kVideoCaffe, "give pad once per axis"},
    {"PoolingParameter", "kernel_shape stride_shape pad_shape", kVideoCaffe, ""},
    {kLayer, "l1_loss_param", kFlowNet, "without it L1Loss is NVCaffe's"},
    {kLayer, "type=Resample resample_param", kFlowNet,
     "use Interp where it only makes maps larger"},
    {kLayer, "type=DataAugmentation augmentation_param", kFlowNet, "see transform_param"},
    {kLayer, "type=GenerateAugmentationParameters coeff_schedule_param", kFlowNet, ""},
    {kLayer, "type=FlowAugmentation type=BlackAugmentation", kFlowNet, ""},
    {kLayer, "type=Correlation* correlation_param type=FlowWarp flow_warp_param", kFlowNet, ""},
    {kLayer, "type=Downsample downsample_param type=Accum accum_param", kFlowNet, ""},
    {kLayer, "type=LpqLoss lpq_loss_param type=Mean mean_param", kFlowNet, ""},
    {kLayer, "type=ChannelNorm type=NegReLU", kFlowNet, ""},
    {kLayer, "type=ImgReader type=FloatReader reader_param", kFlowNet, ""},
    {kLayer, "type=ImgWriter type=FloatWriter type=FLOWriter type=PFMWriter", kFlowNet, ""},
    {kLayer, "writer_param type=CustomData type=DisparityData", kFlowNet, ""},
    {kLayer, "reshape_every_iter", kFlowNet, kRemoveIt},
    {"DataParameter", "preselection_* rand_permute* slice_point encoding verbose", kFlowNet, ""},
    {"FillerParameter", "diag_val", kFlowNet, ""},

    // Faces and text.
    {kLayer, "type=Flip flip_param type=ChannelScale normalize_param", kNormFace, ""},
    {kLayer, "type=InnerDistance inner_distance_param", kNormFace, ""},
    {kLayer, "type=GeneralContrastiveLoss general_contrastive_loss_param", kNormFace, ""},
    {kLayer, "type=GeneralTripletLoss general_triplet_loss_param", kNormFace, ""},
    {kLayer, "type=LabelSpecific* label_specific_*", kNormFace, ""},
    {kLayer, "type=GlobalLSEMargin global_lse_*", kNormFace, ""},
    {kLayer, "type=Insanity insanity_param type=MultiLabelImageData", kNormFace, ""},
    {kLayer, "type=SubRegion sub_region_param type=Hotspot hotspot_param", kNormFace, ""},
    {"SoftmaxParameter", "normalize_type", kNormFace, ""},
    {"InnerProductParameter", "normalize distance_type", kNormFace, ""},
    {"AccuracyParameter", "min_is_better", kNormFace, ""},
    {"ParameterParameter", "blob_filler", kNormFace, ""},
    {"ScaleParameter", "min_value", kNormFace, kDropIt},
    {"ImageDataParameter", "face_* max_shear_ratio max_aspect_ratio max_rotate_angle", kNormFace,
     ""},
    {"ImageDataParameter", "min_random_scale max_random_* balance_class", kNormFace, ""},
    {"TransformationParameter", "erase_ratio", kNormFace, kDropIt},
    {kLayer, "type=MarginInnerProduct margin_inner_product_param", kSphereFace, ""},
    {kLayer, "type=CenterLoss center_loss_param", kCenterLoss, ""},
    {kLayer, "type=Triplet* triplet_loss_param", kTriplet, ""},
    {kLayer, "type=Lstm lstm_param", kLstm, "use the layer LSTM with recurrent_param"},
    {kLayer, "type=ContinuationIndicator continuation_indicator_param", kText,
     "the layer LSTM takes the indicator as its second bottom"},
    {kLayer, "type=Transpose transpose_param", kText,
     "use Permute with all axes in their new order"},
    {kLayer, "type=CtcLoss ctc_loss_param type=CTC* type=WarpCTC* warp_ctc_loss_param", kText, ""},
    {kLayer, "type=LabelsequenceAccuracy labelsequence_accuracy_param", kText, ""},
    {kLayer, "type=Reverse reverse_param", kText, ""},
    {kLayer, "type=DenseBlock denseblock_param", kText, ""},
    {kLayer, "type=SpatialTransformer st_param", kSpatial, ""},

    // Smaller nets.
    {"SolverParameter", "sparse_mode display_sparsity sparsity_*", kJacinto, kDropIt},
    {"SolverParameter", "ignore_shape_mismatch snapshot_log", kJacinto, kDropIt},
    {"SolverParameter", "insert_quantization_param quantization_start_iter", kJacinto, kDropIt},
    {"NetParameter", "quantize", kJacinto, kDropIt},
    {kLayer, "type=ImageLabelListData", kJacinto, ""},
    {"TransformationParameter", "var_sz_img_rand_resize_*", kJacintoOrNvidia,
     "see img_rand_resize_lower and img_rand_resize_upper"},
    {"TransformationParameter", "var_sz_img_*", kJacintoOrNvidia, ""},
    {kLayer, "weights_compress* activations_compress* compress qcodeconfig", kCompression, kDropIt},
    {kLayer, "type=CConvolution cconvolution_param", kPruning,
     "Convolution takes the same bottoms, without pruning"},
    {kLayer, "type=CConvolutionDepthwise", kPruning,
     "ConvolutionDepthwise takes the same bottoms, without pruning"},
    {kLayer, "type=CInnerProduct cinner_product_param", kPruning,
     "InnerProduct takes the same bottoms, without pruning"},
    {"ImageDataParameter", "new_dim bicubic", kChannelPruning, ""},
    {kLayer, "filter_param", kChannelPruning, ""},
    {kLayer, "type=ConvolutionRistretto", kRistretto,
     "Convolution takes the same bottoms, without quantization"},
    {kLayer, "type=DeconvolutionRistretto", kRistretto,
     "Deconvolution takes the same bottoms, without quantization"},
    {kLayer, "type=FcRistretto", kRistretto,
     "InnerProduct takes the same bottoms, without quantization"},
    {kLayer, "type=LRNRistretto", kRistretto, "LRN takes the same bottoms, without quantization"},
    {"QuantizationParameter", "mant_bits exp_* precision=MINI* precision=INTEGER_POWER_OF_2*",
     kRistretto, kNoQuantization},
    {"QuantizationParameter", "rounding_scheme=STOCHASTIC", kRistretto, kNoQuantization},
    {kLayer, "type=Quant quant_param", kHwgq, ""},
    {kLayer, "type=BinaryConvolution binary_convolution_param", kHwgq,
     "Convolution takes the same bottoms, without binary weights"},
    {kLayer, "type=BinaryInnerProduct binary_inner_product_param", kHwgq,
     "InnerProduct takes the same bottoms, without binary weights"},
    {nullptr, "type=Sparsify sparsify_param conv_mode connectivity_mode force_mult", kSparse,
     kDropIt},
    {nullptr, "kernel_shape_decay* breadth_decay* block_group_lasso*", kSparse, kDropIt},
    {kLayer, "type=ConvolutionReLU", kSparse, "use Convolution, and ReLU behind it"},

    // Companies and others.
    {kLayer, "type=FixedNeuron fixed_param", kVitis, "leave it out to train without quantization"},
    {kLayer, "type=ConvolutionFixed", kVitis,
     "Convolution takes the same bottoms, without quantization"},
    {kLayer, "type=DeephiResize deephi_resize_param", kVitis, "use Interp"},
    {kLayer, "type=SegmentPixelIOU segment_pixel_iou_param", kVitis, ""},
    {nullptr, "multi_gpu_testing", kVitis, kRemoveIt},
    {kLayer, "type=Resize resize_param", "a Caffe for Rockchip's processors", "use Interp"},
    {kLayer, "type=TRT", kNvidia, "it runs a net of TensorRT"},
    {kLayer, "type=MnActivation type=MnParamGradCompress", kIntel, ""},
    {kLayer, "type=SparseInnerProduct", kJolibrain, "InnerProduct takes dense data"},
    {kLayer, "type=SparseData type=MemorySparseData", kJolibrain, ""},
    {kLayer, "type=BroadcastMul", kJolibrain,
     "use Scale with axis: 0, and Flatten before its second bottom"},
    {nullptr, "cudnn_flavor", kJolibrain, kRemoveIt},
    {kLayer, "type=CoSData cos_data_param source_class", kSpark, kUseData},
    {"MemoryDataParameter", "source share_in_parallel", kSpark, kUseData},
    {kLayer, "type=ImageOutput", "a Caffe for training on accelerators (ICT-CHASE)", ""},
    {kLayer, "type=implicit", "Netscope, a viewer of nets",
     "write the layer of Caffe that is meant"},
    {kV1, "type=LRN_MAP lrn_map_param", "a fork", ""},
    {kV1, "type=COLINEAR_CONVOLUTION colinear_convolution_param", "a fork", ""},
};

bool Matches(const std::string& pattern, const std::string& name) {
  if (pattern.back() != '*') return pattern == name;
  return name.compare(0, pattern.size() - 1, pattern, 0, pattern.size() - 1) == 0;
}

bool MatchesOneOf(const std::string& patterns, const std::string& name) {
  std::istringstream words(patterns);
  for (std::string pattern; words >> pattern;) {
    if (Matches(pattern, name)) return true;
  }
  return false;
}

}  // namespace

std::string ForkHint(const std::string& message, const std::string& field) {
  for (const ForkName& entry : kForkNames) {
    if (entry.message != nullptr && message != entry.message) continue;
    if (!MatchesOneOf(entry.names, field)) continue;
    const std::string hint = std::string("it comes from ") + entry.fork;
    return *entry.advice == '\0' ? hint : hint + "; " + entry.advice;
  }
  return "";
}

}  // namespace doppio
