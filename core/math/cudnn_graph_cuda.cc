#include <algorithm>
#include <utility>

#include "core/math/cudnn_graph.h"

namespace doppio {
namespace {

constexpr int64_t kAlignment = 16;  // alignment of all tensors, in bytes

std::vector<int64_t> ChannelsLastStrides(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  int64_t next = dims[1];
  for (size_t i = dims.size(); i-- > 2;) {
    strides[i] = next;
    next *= dims[i];
  }
  strides[0] = next;
  return strides;
}

CudnnBackendDescriptor Describe(const CudnnConvolutionShape& shape) {
  CudnnBackendDescriptor conv(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  conv.SetOne(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  conv.SetOne(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
              CUDNN_CROSS_CORRELATION);
  conv.SetOne(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64,
              static_cast<int64_t>(shape.pad.size()));
  conv.SetInts(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, shape.pad);
  conv.SetInts(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, shape.pad);
  conv.SetInts(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, shape.stride);
  conv.SetInts(CUDNN_ATTR_CONVOLUTION_DILATIONS, shape.dilation);
  conv.Finish("describing a convolution");
  return conv;
}

CudnnBackendDescriptor Pointwise(cudnnPointwiseMode_t mode) {
  CudnnBackendDescriptor pointwise(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  pointwise.SetOne(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
  pointwise.SetOne(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  return pointwise;
}

// The attribute names for one direction of a convolution.
struct Direction {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t conv, x, w, y, alpha, beta;
};
constexpr Direction kForward = {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
constexpr Direction kBackwardData = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
constexpr Direction kBackwardFilter = {
    CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};

CudnnBackendDescriptor Convolve(const Direction& direction, const CudnnBackendDescriptor& conv,
                                const CudnnBackendDescriptor& x, const CudnnBackendDescriptor& w,
                                const CudnnBackendDescriptor& y) {
  CudnnBackendDescriptor operation(direction.type);
  operation.SetDescriptor(direction.conv, conv);
  operation.SetDescriptor(direction.x, x);
  operation.SetDescriptor(direction.w, w);
  operation.SetDescriptor(direction.y, y);
  operation.SetOne(direction.alpha, CUDNN_TYPE_FLOAT, 1.0f);
  operation.SetOne(direction.beta, CUDNN_TYPE_FLOAT, 0.0f);
  return operation;
}

}  // namespace

CudnnBackendDescriptor::CudnnBackendDescriptor(cudnnBackendDescriptorType_t type) {
  CheckCudnn(Cudnn().cudnnBackendCreateDescriptor(type, &descriptor_), "making a descriptor");
}
CudnnBackendDescriptor::~CudnnBackendDescriptor() {
  if (descriptor_ != nullptr) Cudnn().cudnnBackendDestroyDescriptor(descriptor_);
}
CudnnBackendDescriptor::CudnnBackendDescriptor(CudnnBackendDescriptor&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, nullptr)) {}
CudnnBackendDescriptor& CudnnBackendDescriptor::operator=(CudnnBackendDescriptor&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

void CudnnBackendDescriptor::Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                 int64_t count, const void* values) {
  CheckCudnn(Cudnn().cudnnBackendSetAttribute(descriptor_, name, type, count, values),
             "setting an attribute");
}

void CudnnBackendDescriptor::SetInts(cudnnBackendAttributeName_t name,
                                     const std::vector<int64_t>& values) {
  Set(name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()), values.data());
}

void CudnnBackendDescriptor::SetDescriptor(cudnnBackendAttributeName_t name,
                                           const CudnnBackendDescriptor& value) {
  SetOne(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, value.get());
}

int64_t CudnnBackendDescriptor::Get(cudnnBackendAttributeName_t name,
                                    cudnnBackendAttributeType_t type, int64_t room,
                                    void* values) const {
  int64_t count = 0;
  CheckCudnn(Cudnn().cudnnBackendGetAttribute(descriptor_, name, type, room, &count, values),
             "reading an attribute");
  return std::min(count, room);
}

void CudnnBackendDescriptor::Finish(const char* what) {
  CheckCudnn(Cudnn().cudnnBackendFinalize(descriptor_), what);
}

bool CudnnBackendDescriptor::Complete() {
  return Cudnn().cudnnBackendFinalize(descriptor_) == CUDNN_STATUS_SUCCESS;
}

CudnnGraph CudnnGraph::Forward(const CudnnTarget& target, const CudnnConvolutionCase& c,
                               const CudnnEpilogue& tail) {
  CudnnGraph graph(target);
  // Tensors between two operations are virtual: they are not stored and therefore not rounded.
  int after = tail.bias + tail.other + tail.relu;
  const auto next = [&]() -> const CudnnBackendDescriptor& {
    return after-- > 0 ? graph.VirtualTensor(c.y) : graph.Tensor(CudnnRole::kTop, c.y, c.type);
  };
  const CudnnBackendDescriptor* y = &next();
  graph.parts_.push_back(std::make_unique<CudnnBackendDescriptor>(Describe(c.shape)));
  const CudnnBackendDescriptor& conv = *graph.parts_.back();
  graph.AddOperation(Convolve(kForward, conv, graph.Tensor(CudnnRole::kBottom, c.x, c.type),
                              graph.Tensor(CudnnRole::kWeights, c.w, c.type), *y),
                     "describing a convolution");
  const auto add = [&](const CudnnBackendDescriptor& what) {
    const CudnnBackendDescriptor& sum = next();
    graph.AddSum(*y, what, sum);
    y = &sum;
  };
  if (tail.bias) {
    std::vector<int64_t> channels(c.y.size(), 1);
    channels[1] = c.y[1];
    add(graph.Tensor(CudnnRole::kBias, channels, DType::kFloat32));
  }
  if (tail.other) add(graph.Tensor(CudnnRole::kOther, c.y, c.type));
  if (tail.relu) graph.AddRelu(*y, next());
  graph.Finish();
  return graph;
}

CudnnGraph CudnnGraph::BackwardData(const CudnnTarget& target, const CudnnConvolutionCase& c) {
  CudnnGraph graph(target);
  graph.parts_.push_back(std::make_unique<CudnnBackendDescriptor>(Describe(c.shape)));
  const CudnnBackendDescriptor& conv = *graph.parts_.back();
  graph.AddOperation(Convolve(kBackwardData, conv, graph.Tensor(CudnnRole::kBottom, c.x, c.type),
                              graph.Tensor(CudnnRole::kWeights, c.w, c.type),
                              graph.Tensor(CudnnRole::kTop, c.y, c.type)),
                     "describing a convolution's gradient");
  graph.Finish();
  return graph;
}

CudnnGraph CudnnGraph::BackwardFilter(const CudnnTarget& target, const CudnnConvolutionCase& c,
                                      DType type) {
  CudnnGraph graph(target);
  graph.parts_.push_back(std::make_unique<CudnnBackendDescriptor>(Describe(c.shape)));
  const CudnnBackendDescriptor& conv = *graph.parts_.back();
  graph.AddOperation(Convolve(kBackwardFilter, conv, graph.Tensor(CudnnRole::kBottom, c.x, c.type),
                              graph.Tensor(CudnnRole::kWeights, c.w, type),
                              graph.Tensor(CudnnRole::kTop, c.y, c.type)),
                     "describing a filter's gradient");
  graph.Finish();
  return graph;
}

const CudnnBackendDescriptor& CudnnGraph::Tensor(CudnnRole role, const std::vector<int64_t>& dims,
                                                 DType type) {
  return AddTensor(static_cast<int64_t>(role), dims, type, false);
}

const CudnnBackendDescriptor& CudnnGraph::VirtualTensor(const std::vector<int64_t>& dims) {
  return AddTensor(next_virtual_id_++, dims, DType::kFloat32, true);
}

const CudnnBackendDescriptor& CudnnGraph::AddTensor(int64_t id, const std::vector<int64_t>& dims,
                                                    DType type, bool inside) {
  parts_.push_back(std::make_unique<CudnnBackendDescriptor>(CUDNN_BACKEND_TENSOR_DESCRIPTOR));
  CudnnBackendDescriptor& tensor = *parts_.back();
  tensor.SetOne(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, CudnnType(type));
  tensor.SetInts(CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
  tensor.SetInts(CUDNN_ATTR_TENSOR_STRIDES, ChannelsLastStrides(dims));
  tensor.SetOne(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id);
  tensor.SetOne(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kAlignment);
  if (inside) tensor.SetOne(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, true);
  tensor.Finish("describing a tensor");
  return tensor;
}

void CudnnGraph::AddSum(const CudnnBackendDescriptor& a, const CudnnBackendDescriptor& b,
                        const CudnnBackendDescriptor& to) {
  parts_.push_back(std::make_unique<CudnnBackendDescriptor>(Pointwise(CUDNN_POINTWISE_ADD)));
  CudnnBackendDescriptor& add = *parts_.back();
  add.Finish("describing a sum");
  CudnnBackendDescriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.SetDescriptor(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, add);
  operation.SetDescriptor(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, a);
  operation.SetDescriptor(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
  operation.SetDescriptor(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, to);
  AddOperation(std::move(operation), "describing a sum");
}

void CudnnGraph::AddRelu(const CudnnBackendDescriptor& from, const CudnnBackendDescriptor& to) {
  parts_.push_back(std::make_unique<CudnnBackendDescriptor>(Pointwise(CUDNN_POINTWISE_RELU_FWD)));
  CudnnBackendDescriptor& relu = *parts_.back();
  relu.SetOne(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION,
              CUDNN_PROPAGATE_NAN);
  relu.Finish("describing ReLU");
  CudnnBackendDescriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.SetDescriptor(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, relu);
  operation.SetDescriptor(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, from);
  operation.SetDescriptor(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, to);
  AddOperation(std::move(operation), "describing ReLU");
}

void CudnnGraph::AddOperation(CudnnBackendDescriptor operation, const char* what) {
  operation.Finish(what);
  operations_.push_back(std::make_unique<CudnnBackendDescriptor>(std::move(operation)));
}

void CudnnGraph::Finish() {
  std::vector<cudnnBackendDescriptor_t> operations;
  for (const auto& operation : operations_) operations.push_back(operation->get());
  graph_.Set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
             static_cast<int64_t>(operations.size()), operations.data());
  if (target_.handle != nullptr)
    graph_.SetOne(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, target_.handle);
  graph_.Finish("describing a graph");
}

}  // namespace doppio
