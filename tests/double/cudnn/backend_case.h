// Builds graphs of cuDNN's backend for the tests of the double.
#ifndef DOPPIO_TESTS_DOUBLE_CUDNN_BACKEND_CASE_H_
#define DOPPIO_TESTS_DOUBLE_CUDNN_BACKEND_CASE_H_

#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "tests/double/cudnn/tensors.h"

namespace doppio::gpu_double {

using Key = cudnnBackendDescriptor_t;

inline Key Make(cudnnBackendDescriptorType_t type) {
  Key key = nullptr;
  EXPECT_EQ(cudnnBackendCreateDescriptor(type, &key), CUDNN_STATUS_SUCCESS);
  return key;
}
template <class T>
cudnnStatus_t SetAll(Key key, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                     const std::vector<T>& values) {
  return cudnnBackendSetAttribute(key, name, type, static_cast<int64_t>(values.size()),
                                  values.data());
}
inline cudnnStatus_t SetInts(Key key, cudnnBackendAttributeName_t name,
                             const std::vector<int64_t>& values) {
  return SetAll(key, name, CUDNN_TYPE_INT64, values);
}
inline cudnnStatus_t Refer(Key key, cudnnBackendAttributeName_t name, const std::vector<Key>& to) {
  return SetAll(key, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, to);
}
template <class T>
std::vector<T> Read(Key key, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) {
  std::vector<T> values(64);
  int64_t count = 0;
  EXPECT_EQ(cudnnBackendGetAttribute(key, name, type, 64, &count, values.data()),
            CUDNN_STATUS_SUCCESS);
  values.resize(static_cast<size_t>(count));
  return values;
}

struct TensorCase {
  int64_t id;
  std::vector<int64_t> dims;
  cudnnDataType_t type = CUDNN_DATA_HALF;
  bool is_virtual = false, channels_last = true;
  int64_t alignment = 16;

  Key Unfinished() const {
    const Key key = Make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    SetInts(key, CUDNN_ATTR_TENSOR_UNIQUE_ID, {id});
    SetAll<cudnnDataType_t>(key, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, {type});
    SetInts(key, CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
    SetInts(key, CUDNN_ATTR_TENSOR_STRIDES, DenseStrides(dims, channels_last));
    SetInts(key, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {alignment});
    cudnnBackendSetAttribute(key, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
    return key;
  }
  Key Done() const {
    const Key key = Unfinished();
    EXPECT_EQ(cudnnBackendFinalize(key), CUDNN_STATUS_SUCCESS);
    return key;
  }
};

// Returns a convolution with 3 x 3 windows and a padding of 1.
inline Key ConvolutionKey() {
  const Key key = Make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  SetAll<cudnnDataType_t>(key, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
                          {CUDNN_DATA_FLOAT});
  SetAll<cudnnConvolutionMode_t>(key, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
                                 {CUDNN_CROSS_CORRELATION});
  SetInts(key, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {2});
  for (auto name : {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS,
                    CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_ATTR_CONVOLUTION_DILATIONS}) {
    SetInts(key, name, {1, 1});
  }
  EXPECT_EQ(cudnnBackendFinalize(key), CUDNN_STATUS_SUCCESS);
  return key;
}

// Returns a convolution in the direction of `type`. Its result is y, the gradient of x, or the
// gradient of w.
inline Key DirectedKey(cudnnBackendDescriptorType_t type, const TensorCase& x, const TensorCase& w,
                       const TensorCase& y) {
  // The attribute names of all directions are in the same order.
  const int first = type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR
                        ? CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA
                    : type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR
                        ? CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA
                        : CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA;
  const auto name = [&](int i) { return static_cast<cudnnBackendAttributeName_t>(first + i); };
  const Key key = Make(type);
  SetAll<float>(key, name(0), CUDNN_TYPE_FLOAT, {1});
  SetAll<float>(key, name(1), CUDNN_TYPE_FLOAT, {0});
  Refer(key, name(2), {ConvolutionKey()});
  Refer(key, name(3), {w.Done()});
  Refer(key, name(4), {x.Done()});
  Refer(key, name(5), {y.Done()});
  return key;
}
inline Key ForwardKey(const TensorCase& x, const TensorCase& w, const TensorCase& y) {
  return DirectedKey(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, x, w, y);
}

// Returns a pointwise operation, with one argument if `b` is null.
inline Key PointwiseKey(cudnnPointwiseMode_t mode, const TensorCase& x, const TensorCase* b,
                        const TensorCase& y) {
  const Key how = Make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  SetAll<cudnnPointwiseMode_t>(how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, {mode});
  SetAll<cudnnDataType_t>(how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE,
                          {CUDNN_DATA_FLOAT});
  EXPECT_EQ(cudnnBackendFinalize(how), CUDNN_STATUS_SUCCESS);
  const Key key = Make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  Refer(key, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, {how});
  Refer(key, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, {x.Done()});
  if (b != nullptr) Refer(key, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, {b->Done()});
  Refer(key, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, {y.Done()});
  return key;
}

inline cudnnStatus_t MakeGraph(const std::vector<Key>& operations, cudnnHandle_t handle,
                               Key* graph) {
  for (Key operation : operations) {
    EXPECT_EQ(cudnnBackendFinalize(operation), CUDNN_STATUS_SUCCESS);
  }
  *graph = Make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  Refer(*graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, operations);
  SetAll<cudnnHandle_t>(*graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, {handle});
  return cudnnBackendFinalize(*graph);
}

struct PlanCase {
  cudnnStatus_t engine = CUDNN_STATUS_SUCCESS, configuration = engine, plan = engine;
  Key key = nullptr;
  int64_t workspace_bytes = 0;

  bool Made() const {
    return engine == CUDNN_STATUS_SUCCESS && configuration == CUDNN_STATUS_SUCCESS &&
           plan == CUDNN_STATUS_SUCCESS;
  }
};
inline PlanCase MakePlan(Key graph, cudnnHandle_t handle, int64_t index,
                         const std::map<cudnnBackendKnobType_t, int64_t>& knobs = {}) {
  PlanCase made;
  const Key engine = Make(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  Refer(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, {graph});
  SetInts(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, {index});
  if ((made.engine = cudnnBackendFinalize(engine)) != CUDNN_STATUS_SUCCESS) return made;
  const Key configuration = Make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  Refer(configuration, CUDNN_ATTR_ENGINECFG_ENGINE, {engine});
  std::vector<Key> choices;
  for (const auto& [type, value] : knobs) {
    choices.push_back(Make(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR));
    SetAll<cudnnBackendKnobType_t>(choices.back(), CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE,
                                   CUDNN_TYPE_KNOB_TYPE, {type});
    SetInts(choices.back(), CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, {value});
    EXPECT_EQ(cudnnBackendFinalize(choices.back()), CUDNN_STATUS_SUCCESS);
  }
  if (!choices.empty()) Refer(configuration, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, choices);
  made.configuration = cudnnBackendFinalize(configuration);
  if (made.configuration != CUDNN_STATUS_SUCCESS) return made;
  made.key = Make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  SetAll<cudnnHandle_t>(made.key, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, {handle});
  Refer(made.key, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, {configuration});
  made.plan = cudnnBackendFinalize(made.key);
  if (made.plan != CUDNN_STATUS_SUCCESS) return made;
  made.workspace_bytes =
      Read<int64_t>(made.key, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64)[0];
  return made;
}

inline cudnnStatus_t Execute(cudnnHandle_t handle, Key plan, const std::map<int64_t, void*>& places,
                             void* workspace) {
  std::vector<int64_t> ids;
  std::vector<void*> pointers;
  for (const auto& [id, at] : places) {
    ids.push_back(id);
    pointers.push_back(at);
  }
  const Key pack = Make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  SetInts(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  SetAll(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, pointers);
  SetAll<void*>(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, {workspace});
  EXPECT_EQ(cudnnBackendFinalize(pack), CUDNN_STATUS_SUCCESS);
  const cudnnStatus_t status = cudnnBackendExecute(handle, plan, pack);
  EXPECT_EQ(cudnnBackendDestroyDescriptor(pack), CUDNN_STATUS_SUCCESS);
  return status;
}

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_CUDNN_BACKEND_CASE_H_
