#include <limits>

#include "tests/double/cudnn/backend_graph.h"

namespace doppio::gpu_double {
namespace {

using Ids = std::map<int64_t, BackendTensor>;

// Returns the tensor that an operation refers to, after adding it to `tensors`.
const BackendTensor& Take(const Descriptor& operation, cudnnBackendAttributeName_t name,
                          Ids* tensors) {
  const BackendTensor tensor = ParseTensor(*operation.Referred(name));
  const auto [at, is_new] = tensors->emplace(tensor.id, tensor);
  Require(is_new || at->second == tensor,
          at->second.ToString() + " and " + tensor.ToString() + " have the same unique id");
  return at->second;
}

struct Names {
  BackendOperation::Kind kind;
  cudnnBackendAttributeName_t conv, x, w, y, alpha, beta;
};
Names NamesOf(cudnnBackendDescriptorType_t type) {
  if (type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR) {
    return {BackendOperation::Kind::kForward,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  }
  if (type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR) {
    return {BackendOperation::Kind::kBackwardData,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
  }
  return {BackendOperation::Kind::kBackwardFilter,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
}

BackendOperation ParseConvolving(const Descriptor& descriptor, Ids* tensors) {
  const Names names = NamesOf(descriptor.type);
  BackendOperation op;
  op.kind = names.kind;
  op.geometry = ParseConvolution(*descriptor.Referred(names.conv));
  op.alpha = descriptor.One<float>(names.alpha);
  op.beta = descriptor.One<float>(names.beta);
  const BackendTensor x = Take(descriptor, names.x, tensors);
  const BackendTensor w = Take(descriptor, names.w, tensors);
  const BackendTensor y = Take(descriptor, names.y, tensors);
  const size_t rank = op.geometry.pads.size() + 2;
  const std::string all = x.ToString() + ", " + w.ToString() + ", " + y.ToString();
  Require(x.id != w.id && x.id != y.id && w.id != y.id, "a convolution of one tensor: " + all);
  Require(x.dims.size() == rank && w.dims.size() == rank && y.dims.size() == rank,
          "a convolution's tensors do not have its number of axes: " + all);
  Require(x.dims[1] % w.dims[1] == 0,
          "the input's channels are no multiple of the filter's: " + all);
  op.geometry.group = x.dims[1] / w.dims[1];
  Require(w.dims[0] % op.geometry.group == 0, "groups do not divide the outputs: " + all);
  Require(ConvolvedDims(x.dims, w.dims, op.geometry) == y.dims,
          "a convolution's extents do not fit together: " + all);
  using Kind = BackendOperation::Kind;
  if (op.kind == Kind::kForward) {
    op.a = x.id, op.b = w.id, op.to = y.id;
  } else if (op.kind == Kind::kBackwardData) {
    op.a = w.id, op.b = y.id, op.to = x.id;
  } else {
    op.a = x.id, op.b = y.id, op.to = w.id;
  }
  Require(tensors->at(op.a).type == tensors->at(op.b).type,
          "a convolution's factors are of two types: " + all);
  return op;
}

BackendOperation ParsePointwise(const Descriptor& descriptor, Ids* tensors) {
  BackendOperation op;
  op.kind = BackendOperation::Kind::kPointwise;
  const Descriptor& how = *descriptor.Referred(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  op.mode = how.One<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
  op.lower = how.One<double>(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP);
  op.upper = how.One<double>(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP,
                             std::numeric_limits<double>::infinity());
  op.slope = how.One<double>(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE);
  op.keeps_nan = how.One<cudnnNanPropagation_t>(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION,
                                                CUDNN_NOT_PROPAGATE_NAN) == CUDNN_PROPAGATE_NAN;
  op.alpha = descriptor.One<float>(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, 1.0f);
  op.alpha2 = descriptor.One<float>(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, 1.0f);
  const bool backward = op.mode == CUDNN_POINTWISE_RELU_BWD;
  const bool binary = op.mode == CUDNN_POINTWISE_ADD || op.mode == CUDNN_POINTWISE_MUL;
  const auto result =
      backward ? CUDNN_ATTR_OPERATION_POINTWISE_DXDESC : CUDNN_ATTR_OPERATION_POINTWISE_YDESC;
  const auto second =
      backward ? CUDNN_ATTR_OPERATION_POINTWISE_DYDESC : CUDNN_ATTR_OPERATION_POINTWISE_BDESC;
  for (auto name : {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                    CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_ATTR_OPERATION_POINTWISE_DXDESC,
                    CUDNN_ATTR_OPERATION_POINTWISE_DYDESC}) {
    const bool wanted = name == CUDNN_ATTR_OPERATION_POINTWISE_XDESC || name == result ||
                        (name == second && (binary || backward));
    Require(descriptor.Has(name) == wanted, "attribute " + std::to_string(name) +
                                                (wanted ? " is missing from" : " is not part of") +
                                                " a pointwise operation of mode " +
                                                std::to_string(op.mode));
  }
  const BackendTensor x = Take(descriptor, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, tensors);
  const BackendTensor to = Take(descriptor, result, tensors);
  op.a = x.id;
  op.to = to.id;
  Require(x.dims == to.dims,
          "a pointwise operation changes extents: " + x.ToString() + " to " + to.ToString());
  if (binary || backward) {
    const BackendTensor b = Take(descriptor, second, tensors);
    op.b = b.id;
    bool fits = b.dims.size() == x.dims.size();
    for (size_t i = 0; fits && i < b.dims.size(); ++i) {
      fits = b.dims[i] == x.dims[i] || (b.dims[i] == 1 && !backward);
    }
    Require(fits, b.ToString() + " does not broadcast to " + x.ToString());
  }
  Require(op.to != op.a && op.to != op.b, "a pointwise operation writes a tensor that it reads");
  return op;
}

}  // namespace

ConvolutionGeometry ParseConvolution(const Descriptor& convolution) {
  ConvolutionGeometry geometry;
  geometry.pads = convolution.All<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  geometry.strides = convolution.All<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
  geometry.dilations = convolution.All<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS);
  geometry.flipped = convolution.One<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) ==
                     CUDNN_CONVOLUTION;
  const auto axes =
      static_cast<size_t>(convolution.One<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS));
  Require(axes == 2 || axes == 3, "a convolution has 2 or 3 spatial axes");
  Require(geometry.pads.size() == axes && geometry.strides.size() == axes &&
              geometry.dilations.size() == axes,
          "a convolution's attributes are not of its number of spatial axes");
  if (geometry.pads != convolution.All<int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS)) {
    Refuse(CUDNN_STATUS_NOT_SUPPORTED_PADDING, "the double has the same padding at both ends");
  }
  for (size_t i = 0; i < axes; ++i) {
    Require(geometry.pads[i] >= 0 && geometry.strides[i] > 0 && geometry.dilations[i] > 0,
            "a convolution's paddings, strides or dilations are negative or zero");
  }
  if (convolution.One<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE) != CUDNN_DATA_FLOAT) {
    Refuse(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "the double's convolutions sum in floats only");
  }
  return geometry;
}

void CheckPointwise(const Descriptor& pointwise) {
  const auto mode = pointwise.One<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
  if (mode != CUDNN_POINTWISE_ADD && mode != CUDNN_POINTWISE_MUL &&
      mode != CUDNN_POINTWISE_IDENTITY && mode != CUDNN_POINTWISE_RELU_FWD &&
      mode != CUDNN_POINTWISE_RELU_BWD) {
    Refuse(CUDNN_STATUS_NOT_SUPPORTED, "pointwise mode " + std::to_string(mode));
  }
  if (pointwise.One<cudnnDataType_t>(CUDNN_ATTR_POINTWISE_MATH_PREC) != CUDNN_DATA_FLOAT) {
    Refuse(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "the double's pointwise operations are in floats");
  }
}

BackendOperation ParseOperation(const Descriptor& operation, Ids* tensors) {
  if (operation.type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) {
    return ParsePointwise(operation, tensors);
  }
  Require(operation.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR ||
              operation.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR ||
              operation.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
          std::string("a ") + NameOf(operation.type) + " is no operation");
  return ParseConvolving(operation, tensors);
}

}  // namespace doppio::gpu_double
