#include "core/net/spec/fork_names.h"

namespace doppio {
namespace {

struct ForkName {
  const char* message;  // null matches any message
  const char* field;    // a '*' at the end matches any ending
  const char* fork;
  const char* advice;  // may be empty
};

constexpr char kYolo[] = "MobileNet-YOLO's Caffe";
constexpr char kJacinto[] = "caffe-jacinto";
constexpr char kTsn[] = "TSN's Caffe (yjxiong)";
constexpr char kCompression[] = "a Caffe for network compression";
constexpr char kDistortion[] = "an SSD fork with other names for distortions";
constexpr char kNvidia[] = "NVCaffe";
constexpr char kIntel[] = "Intel Caffe";
constexpr char kText[] = "a fork for text recognition";
constexpr char kMnc[] = "MNC's Caffe";
constexpr char kNormFace[] = "NormFace's Caffe";
constexpr char kFlowNet[] = "FlowNet's Caffe";
constexpr char kDeepLab[] = "DeepLab's Caffe";
constexpr char kDeformable[] = "a Caffe with deformable convolution";
constexpr char kAlign[] = "a fork for Mask R-CNN";
constexpr char kFocal[] = "a fork with focal loss";
constexpr char kJolibrain[] = "DeepDetect's Caffe (jolibrain)";
constexpr char kPose[] = "OpenPose's Caffe";
constexpr char kMargin[] = "a fork for face recognition";
constexpr char kSpatial[] = "a fork with spatial transformers";
constexpr char kDeconvNet[] = "DeconvNet's Caffe";
constexpr char kUnpool[] = "in layer { } Upsample does the same with the mask of a MAX Pooling";
constexpr char kPermute[] = "use Permute with all axes in their new order";
constexpr char kV1Format[] = "the V1 format, layers { }";
constexpr char kDropIt[] = "remove it to train without it";

constexpr ForkName kForkNames[] = {
    {"LayerParameter", "blobs_lr", kV1Format, "in layer { } it is param { lr_mult: ... }"},
    {"LayerParameter", "weight_decay", kV1Format, "in layer { } it is param { decay_mult: ... }"},
    {"LayerParameter", "blob_share_mode", kV1Format,
     "in layer { } it is param { share_mode: ... }"},
    {"LayerParameter", "yolo*", kYolo, ""},
    {"AnnotatedDataParameter", "yolo*", kYolo, ""},
    {"AnnotatedDataParameter", "train_diffcult", kYolo, ""},
    {"AnnotatedDataParameter", "single_class", kYolo, ""},
    {"AnnotatedDataParameter", "seg_scales", kYolo, ""},
    {nullptr, "objectness_score", "RefineDet's Caffe", ""},
    {"NonMaximumSuppressionParameter", "soft_nms", "an SSD fork with soft NMS", kDropIt},
    {"NonMaximumSuppressionParameter", "theta", "an SSD fork with soft NMS", kDropIt},
    {"DistortionParameter", "all_effects", kDistortion, ""},
    {"DistortionParameter", "brightness", kDistortion, "see brightness_prob and brightness_delta"},
    {"DistortionParameter", "contrast", kDistortion, "see contrast_prob and contrast_lower"},
    {"DistortionParameter", "hue", kDistortion, "see hue_prob and hue_delta"},
    {"DistortionParameter", "saturation", kDistortion, "see saturation_prob and saturation_lower"},
    {"DistortionParameter", "random_order", kDistortion, "see random_order_prob"},
    {"DistortionParameter", "prob", kDistortion, "each effect has its own ..._prob"},
    {"NoiseParameter", "all_effects", kDistortion, kDropIt},
    {"SolverParameter", "sparse_mode", kJacinto, kDropIt},
    {"SolverParameter", "display_sparsity", kJacinto, kDropIt},
    {"SolverParameter", "sparsity_*", kJacinto, kDropIt},
    {"SolverParameter", "ignore_shape_mismatch", kJacinto, kDropIt},
    {"NetParameter", "quantize", kJacinto, kDropIt},
    {"LayerParameter", "image_label_data_param", kJacinto, ""},
    {"TransformationParameter", "var_sz_img_*", kJacinto, ""},
    {"TransformationParameter", "fix_crop", kTsn, ""},
    {"TransformationParameter", "multi_scale", kTsn, ""},
    {"TransformationParameter", "max_distort", kTsn, ""},
    {"TransformationParameter", "scale_ratios", kTsn, ""},
    {"VideoDataParameter", "modality", kTsn, ""},
    {"VideoDataParameter", "new_length", kTsn, ""},
    {"VideoDataParameter", "num_segments", kTsn, ""},
    {"LayerParameter", "weights_compress*", kCompression, kDropIt},
    {"LayerParameter", "activations_compress*", kCompression, kDropIt},
    {"LayerParameter", "compress", kCompression, kDropIt},
    {"LayerParameter", "qcodeconfig", kCompression, kDropIt},
    {"LayerParameter", "lstm_param", "caffe-lstm (junhyukoh)",
     "use the layer LSTM with recurrent_param"},
    {"LayerParameter", "continuation_indicator_param", kText,
     "the layer LSTM takes the indicator as its second bottom"},
    {"LayerParameter", "ctc_loss_param", kText, ""},
    {"LayerParameter", "labelsequence_accuracy_param", kText, ""},
    {"LayerParameter", "margin_inner_product_param", "SphereFace's Caffe", ""},
    {"LayerParameter", "center_loss_param", "caffe-face (ydwen)", ""},
    {"LayerParameter", "multi_stage_meanfield_param", "CRF-RNN's Caffe", ""},
    {"V1LayerParameter", "multi_stage_meanfield_param", "CRF-RNN's Caffe", ""},
    {"V1LayerParameter", "type=MULTI_STAGE_MEANFIELD", "CRF-RNN's Caffe", ""},
    {"V1LayerParameter", "type=CROP", "forks for segmentation",
     "in a net of the current form the layer is type: \"Crop\""},
    {"V1LayerParameter", "type=LRN_MAP", "a fork", ""},
    {"V1LayerParameter", "lrn_map_param", "a fork", ""},
    {"V1LayerParameter", "type=COLINEAR_CONVOLUTION", "a fork", ""},
    {"V1LayerParameter", "colinear_convolution_param", "a fork", ""},
    {"LayerParameter", "type=TRT", kNvidia, "it runs a net of TensorRT"},
    {"LayerParameter", "type=MnActivation", kIntel, ""},
    {"LayerParameter", "type=MnParamGradCompress", kIntel, ""},
    {"LayerParameter", "type=Yolo*", kYolo, ""},
    {"LayerParameter", "type=AssistedExcitation", kYolo, ""},
    {"LayerParameter", "type=DenseCRF", kDeepLab, "compute it behind the net, in Python"},
    {"LayerParameter", "dense_crf_param", kDeepLab, "compute it behind the net, in Python"},
    {"LayerParameter", "type=DomainTransform", kDeepLab, ""},
    {"LayerParameter", "domain_transform_param", kDeepLab, ""},
    {"LayerParameter", "type=MatRead", kDeepLab, ""},
    {"LayerParameter", "mat_read_param", kDeepLab, ""},
    {"LayerParameter", "type=MatWrite", kDeepLab, "use HDF5Output, or doppio extract_features"},
    {"LayerParameter", "mat_write_param", kDeepLab, "use HDF5Output, or doppio extract_features"},
    {"LayerParameter", "type=UniqueLabel", kDeepLab, ""},
    {"ConvolutionParameter", "hole*", kDeepLab, "write dilation"},
    {nullptr, "strict_dim", kDeepLab, "remove it"},
    {"V1LayerParameter", "softmaxloss_param", kDeepLab, "in layer { } it is loss_param"},
    {"V1LayerParameter", "type=IMAGE_SEG_DATA", kDeepLab,
     "in layer { } it is type: \"ImageSegData\""},
    {"V1LayerParameter", "type=INTERP", kDeepLab, "in layer { } it is type: \"Interp\""},
    {"V1LayerParameter", "interp_param", kDeepLab, "layer { } has it for type: \"Interp\""},
    {"V1LayerParameter", "type=SEG_ACCURACY", kDeepLab, "in layer { } it is type: \"SegAccuracy\""},
    {"V1LayerParameter", "seg_accuracy_param", kDeepLab,
     "layer { } has it for type: \"SegAccuracy\""},
    {"V1LayerParameter", "type=MAT_*", kDeepLab, ""},
    {"V1LayerParameter", "type=DENSE_CRF", kDeepLab, "compute it behind the net, in Python"},
    {"LayerParameter", "triplet_loss_param", kMargin, ""},
    {"LayerParameter", "type=Triplet*", kMargin, ""},
    {"LayerParameter", "type=Correlation", kFlowNet, ""},
    {"LayerParameter", "correlation_param", kFlowNet, ""},
    {"LayerParameter", "type=FlowWarp", kFlowNet, ""},
    {"LayerParameter", "l1_loss_param", kFlowNet, "without it L1Loss is NVCaffe's"},
    {"LayerParameter", "type=Resample", kFlowNet, "use Interp where it only makes maps larger"},
    {"LayerParameter", "resample_param", kFlowNet, "use Interp where it only makes maps larger"},
    {"LayerParameter", "type=Downsample", kFlowNet, ""},
    {"LayerParameter", "type=DataAugmentation", kFlowNet, "see transform_param"},
    {"LayerParameter", "augmentation_param", kFlowNet, "see transform_param"},
    {"LayerParameter", "type=GenerateAugmentationParameters", kFlowNet, ""},
    {"LayerParameter", "type=DeformableConvolution", kDeformable, ""},
    {"LayerParameter", "deformable_convolution_param", kDeformable, ""},
    {"LayerParameter", "type=DeformablePSROIPooling", kDeformable, ""},
    {"LayerParameter", "type=ROIAlign", kAlign, "ROIPooling takes the same bottoms"},
    {"LayerParameter", "roi_align_param", kAlign, "ROIPooling takes the same bottoms"},
    {"LayerParameter", "type=FocalLoss", kFocal, "SoftmaxWithLoss takes the same bottoms"},
    {"LayerParameter", "focal_loss_param", kFocal, "SoftmaxWithLoss takes the same bottoms"},
    {"LayerParameter", "type=MultiBoxFocalLoss", kFocal, "MultiBoxLoss takes the same bottoms"},
    {"LayerParameter", "type=SparseInnerProduct", kJolibrain, "InnerProduct takes dense data"},
    {"LayerParameter", "type=SparseData", kJolibrain, ""},
    {"LayerParameter", "type=MemorySparseData", kJolibrain, ""},
    {"LayerParameter", "type=ImResize", kPose, ""},
    {"LayerParameter", "imresize_param", kPose, ""},
    {"LayerParameter", "type=Nms", kPose, ""},
    {"LayerParameter", "nms_param", kPose, ""},
    {"LayerParameter", "type=LabelSpecificAdd", kMargin, ""},
    {"LayerParameter", "label_specific_add_param", kMargin, ""},
    {"LayerParameter", "type=SpatialTransformer", kSpatial, ""},
    {"LayerParameter", "st_param", kSpatial, ""},
    {"LayerParameter", "type=Unpooling", kDeconvNet, kUnpool},
    {"LayerParameter", "unpooling_param", kDeconvNet, kUnpool},
    {"V1LayerParameter", "type=UNPOOLING", kDeconvNet, kUnpool},
    {"V1LayerParameter", "unpooling_param", kDeconvNet, kUnpool},
    {"V1LayerParameter", "type=BN", kDeconvNet, "in layer { } it is type: \"BN\" with bn_param"},
    {"V1LayerParameter", "bn_param", kDeconvNet, "in layer { } it is type: \"BN\" with bn_param"},
    {"LayerParameter", "type=BatchReduction", kTsn, ""},
    {"LayerParameter", "batch_reduction_param", kTsn, ""},
    {"LayerParameter", "type=ImageLabelData", kJacinto, ""},
    {"LayerParameter", "type=Lstm", "caffe-lstm (junhyukoh)",
     "use the layer LSTM with recurrent_param"},
    {"LayerParameter", "type=ContinuationIndicator", kText,
     "the layer LSTM takes the indicator as its second bottom"},
    {"LayerParameter", "type=CtcLoss", kText, ""},
    {"LayerParameter", "type=CTC*", kText, ""},
    {"LayerParameter", "type=WarpCTC*", kText, ""},
    {"LayerParameter", "warp_ctc_loss_param", kText, ""},
    {"LayerParameter", "type=Transpose", kText, kPermute},
    {"LayerParameter", "transpose_param", kText, kPermute},
    {"LayerParameter", "type=Reverse", kText, ""},
    {"LayerParameter", "reverse_param", kText, ""},
    {"LayerParameter", "type=LabelsequenceAccuracy", kText, ""},
    {"LayerParameter", "type=MultiStageMeanfield", "CRF-RNN's Caffe", ""},
    {"LayerParameter", "type=MarginInnerProduct", "SphereFace's Caffe", ""},
    {"LayerParameter", "type=CenterLoss", "caffe-face (ydwen)", ""},
    {"LayerParameter", "type=ChannelScale", kNormFace, ""},
    {"LayerParameter", "type=InnerDistance", kNormFace, ""},
    {"LayerParameter", "type=MaskPooling", kMnc, ""},
    {"LayerParameter", "type=MaskResize", kMnc, ""},
    {"LayerParameter", "type=CPMData", "the Caffe of Convolutional Pose Machines", ""},
    {"LayerParameter", "type=ImageOutput", "a Caffe for training on accelerators (ICT-CHASE)", ""},
    {"LayerParameter", "type=implicit", "Netscope, a viewer of nets",
     "write the layer of Caffe that is meant"},
};

bool Matches(const std::string& pattern, const std::string& name) {
  if (pattern.back() != '*') return pattern == name;
  return name.compare(0, pattern.size() - 1, pattern, 0, pattern.size() - 1) == 0;
}

}  // namespace

std::string ForkHint(const std::string& message, const std::string& field) {
  for (const ForkName& entry : kForkNames) {
    if (entry.message != nullptr && message != entry.message) continue;
    if (!Matches(entry.field, field)) continue;
    const std::string hint = std::string("it comes from ") + entry.fork;
    return *entry.advice == '\0' ? hint : hint + "; " + entry.advice;
  }
  return "";
}

}  // namespace doppio
