#include "tests/double/cudnn/backend_descriptor.h"

#include "tests/double/machine/fault.h"

namespace doppio::gpu_double {
namespace {

constexpr int64_t kAxes = CUDNN_DIM_MAX;
constexpr auto kRequired = AttributeRule::Use::kRequired;
constexpr auto kOptional = AttributeRule::Use::kOptional;
constexpr auto kReadOnly = AttributeRule::Use::kReadOnly;

struct Kind {
  const char* name;
  std::vector<AttributeRule> rules;
};

#define RULE(name, type, least, most, use) \
  { CUDNN_ATTR_##name, #name, CUDNN_TYPE_##type, least, most, use }

const std::map<cudnnBackendDescriptorType_t, Kind>& Kinds() {
  static const auto& kinds = *new std::map<cudnnBackendDescriptorType_t, Kind>{
      {CUDNN_BACKEND_TENSOR_DESCRIPTOR,
       {"tensor",
        {RULE(TENSOR_DATA_TYPE, DATA_TYPE, 1, 1, kRequired),
         RULE(TENSOR_DIMENSIONS, INT64, 1, kAxes, kRequired),
         RULE(TENSOR_STRIDES, INT64, 1, kAxes, kRequired),
         RULE(TENSOR_UNIQUE_ID, INT64, 1, 1, kRequired),
         RULE(TENSOR_BYTE_ALIGNMENT, INT64, 1, 1, kRequired),
         RULE(TENSOR_IS_VIRTUAL, BOOLEAN, 1, 1, kOptional),
         RULE(TENSOR_VECTOR_COUNT, INT64, 1, 1, kOptional)}}},
      {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR,
       {"convolution",
        {RULE(CONVOLUTION_COMP_TYPE, DATA_TYPE, 1, 1, kRequired),
         RULE(CONVOLUTION_CONV_MODE, CONVOLUTION_MODE, 1, 1, kRequired),
         RULE(CONVOLUTION_SPATIAL_DIMS, INT64, 1, 1, kRequired),
         RULE(CONVOLUTION_PRE_PADDINGS, INT64, 1, kAxes, kRequired),
         RULE(CONVOLUTION_POST_PADDINGS, INT64, 1, kAxes, kRequired),
         RULE(CONVOLUTION_FILTER_STRIDES, INT64, 1, kAxes, kRequired),
         RULE(CONVOLUTION_DILATIONS, INT64, 1, kAxes, kRequired)}}},
      {CUDNN_BACKEND_POINTWISE_DESCRIPTOR,
       {"pointwise",
        {RULE(POINTWISE_MODE, POINTWISE_MODE, 1, 1, kRequired),
         RULE(POINTWISE_MATH_PREC, DATA_TYPE, 1, 1, kRequired),
         RULE(POINTWISE_NAN_PROPAGATION, NAN_PROPOGATION, 1, 1, kOptional),
         RULE(POINTWISE_RELU_LOWER_CLIP, DOUBLE, 1, 1, kOptional),
         RULE(POINTWISE_RELU_UPPER_CLIP, DOUBLE, 1, 1, kOptional),
         RULE(POINTWISE_RELU_LOWER_CLIP_SLOPE, DOUBLE, 1, 1, kOptional)}}},
#define CONVOLUTION_RULES(prefix, x, w, y)                                                \
  {RULE(OPERATION_CONVOLUTION_##prefix##_CONV_DESC, BACKEND_DESCRIPTOR, 1, 1, kRequired), \
   RULE(OPERATION_CONVOLUTION_##prefix##_##x, BACKEND_DESCRIPTOR, 1, 1, kRequired),       \
   RULE(OPERATION_CONVOLUTION_##prefix##_##w, BACKEND_DESCRIPTOR, 1, 1, kRequired),       \
   RULE(OPERATION_CONVOLUTION_##prefix##_##y, BACKEND_DESCRIPTOR, 1, 1, kRequired),       \
   RULE(OPERATION_CONVOLUTION_##prefix##_ALPHA, FLOAT, 1, 1, kRequired),                  \
   RULE(OPERATION_CONVOLUTION_##prefix##_BETA, FLOAT, 1, 1, kRequired)}
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
       {"forward convolution", CONVOLUTION_RULES(FORWARD, X, W, Y)}},
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
       {"backward-data convolution", CONVOLUTION_RULES(BWD_DATA, DX, W, DY)}},
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
       {"backward-filter convolution", CONVOLUTION_RULES(BWD_FILTER, X, DW, DY)}},
#undef CONVOLUTION_RULES
      {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
       {"pointwise operation",
        {RULE(OPERATION_POINTWISE_PW_DESCRIPTOR, BACKEND_DESCRIPTOR, 1, 1, kRequired),
         RULE(OPERATION_POINTWISE_XDESC, BACKEND_DESCRIPTOR, 1, 1, kOptional),
         RULE(OPERATION_POINTWISE_BDESC, BACKEND_DESCRIPTOR, 1, 1, kOptional),
         RULE(OPERATION_POINTWISE_YDESC, BACKEND_DESCRIPTOR, 1, 1, kOptional),
         RULE(OPERATION_POINTWISE_DXDESC, BACKEND_DESCRIPTOR, 1, 1, kOptional),
         RULE(OPERATION_POINTWISE_DYDESC, BACKEND_DESCRIPTOR, 1, 1, kOptional),
         RULE(OPERATION_POINTWISE_ALPHA1, FLOAT, 1, 1, kOptional),
         RULE(OPERATION_POINTWISE_ALPHA2, FLOAT, 1, 1, kOptional)}}},
      {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR,
       {"operation graph",
        {RULE(OPERATIONGRAPH_OPS, BACKEND_DESCRIPTOR, 1, 64, kRequired),
         RULE(OPERATIONGRAPH_HANDLE, HANDLE, 1, 1, kOptional),
         RULE(OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, INT64, 1, 1, kReadOnly)}}},
      {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR,
       {"engine heuristic",
        {RULE(ENGINEHEUR_OPERATION_GRAPH, BACKEND_DESCRIPTOR, 1, 1, kRequired),
         RULE(ENGINEHEUR_MODE, HEUR_MODE, 1, 1, kRequired),
         RULE(ENGINEHEUR_DEVICEPROP, BACKEND_DESCRIPTOR, 1, 1, kOptional),
         RULE(ENGINEHEUR_RESULTS, BACKEND_DESCRIPTOR, 0, 64, kReadOnly)}}},
      {CUDNN_BACKEND_ENGINE_DESCRIPTOR,
       {"engine",
        {RULE(ENGINE_OPERATION_GRAPH, BACKEND_DESCRIPTOR, 1, 1, kRequired),
         RULE(ENGINE_GLOBAL_INDEX, INT64, 1, 1, kRequired),
         RULE(ENGINE_DEVICEPROP, BACKEND_DESCRIPTOR, 1, 1, kOptional),
         RULE(ENGINE_KNOB_INFO, BACKEND_DESCRIPTOR, 0, CUDNN_KNOB_TYPE_COUNTS, kReadOnly),
         RULE(ENGINE_NUMERICAL_NOTE, NUMERICAL_NOTE, 0, CUDNN_NUMERICAL_NOTE_TYPE_COUNT, kReadOnly),
         RULE(ENGINE_BEHAVIOR_NOTE, BEHAVIOR_NOTE, 0, CUDNN_BEHAVIOR_NOTE_TYPE_COUNT, kReadOnly)}}},
      {CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
       {"engine configuration",
        {RULE(ENGINECFG_ENGINE, BACKEND_DESCRIPTOR, 1, 1, kRequired),
         RULE(ENGINECFG_KNOB_CHOICES, BACKEND_DESCRIPTOR, 1, CUDNN_KNOB_TYPE_COUNTS, kOptional),
         RULE(ENGINECFG_WORKSPACE_SIZE, INT64, 1, 1, kReadOnly)}}},
      {CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR,
       {"knob choice",
        {RULE(KNOB_CHOICE_KNOB_TYPE, KNOB_TYPE, 1, 1, kRequired),
         RULE(KNOB_CHOICE_KNOB_VALUE, INT64, 1, 1, kRequired)}}},
      {CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR,
       {"knob information",
        {RULE(KNOB_INFO_TYPE, KNOB_TYPE, 1, 1, kReadOnly),
         RULE(KNOB_INFO_MAXIMUM_VALUE, INT64, 1, 1, kReadOnly),
         RULE(KNOB_INFO_MINIMUM_VALUE, INT64, 1, 1, kReadOnly),
         RULE(KNOB_INFO_STRIDE, INT64, 1, 1, kReadOnly)}}},
      {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR,
       {"execution plan",
        {RULE(EXECUTION_PLAN_HANDLE, HANDLE, 1, 1, kOptional),
         RULE(EXECUTION_PLAN_DEVICEPROP, BACKEND_DESCRIPTOR, 1, 1, kOptional),
         RULE(EXECUTION_PLAN_ENGINE_CONFIG, BACKEND_DESCRIPTOR, 1, 1, kRequired),
         RULE(EXECUTION_PLAN_WORKSPACE_SIZE, INT64, 1, 1, kReadOnly)}}},
      {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR,
       {"variant pack",
        {RULE(VARIANT_PACK_UNIQUE_IDS, INT64, 1, 128, kRequired),
         RULE(VARIANT_PACK_DATA_POINTERS, VOID_PTR, 1, 128, kRequired),
         RULE(VARIANT_PACK_WORKSPACE, VOID_PTR, 1, 1, kOptional)}}},
      {CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR,
       {"device properties",
        {RULE(DEVICEPROP_DEVICE_ID, INT32, 1, 1, kOptional),
         RULE(DEVICEPROP_HANDLE, HANDLE, 1, 1, kOptional),
         RULE(DEVICEPROP_JSON_REPRESENTATION, CHAR, 1, 1 << 16, kOptional)}}}};
  return kinds;
}
#undef RULE

}  // namespace

void Refuse(cudnnStatus_t status, const std::string& text) { throw BackendError{status, text}; }

void Require(bool holds, const std::string& text) {
  if (!holds) Refuse(CUDNN_STATUS_BAD_PARAM, text);
}

const std::vector<AttributeRule>* RulesOf(cudnnBackendDescriptorType_t type) {
  const auto found = Kinds().find(type);
  return found == Kinds().end() ? nullptr : &found->second.rules;
}

const char* NameOf(cudnnBackendDescriptorType_t type) {
  const auto found = Kinds().find(type);
  return found == Kinds().end() ? "descriptor" : found->second.name;
}

int64_t BytesOfElement(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR:
      return 1;
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
      return 8;
    default:
      return 4;  // enums, float and int32
  }
}

int ReferredType(cudnnBackendAttributeName_t name) {
  switch (name) {
    case CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC:
    case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC:
    case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC:
      return CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR;
    case CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR:
      return CUDNN_BACKEND_POINTWISE_DESCRIPTOR;
    case CUDNN_ATTR_OPERATIONGRAPH_OPS:
      return -1;
    case CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH:
    case CUDNN_ATTR_ENGINE_OPERATION_GRAPH:
      return CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR;
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
    case CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG:
      return CUDNN_BACKEND_ENGINECFG_DESCRIPTOR;
    case CUDNN_ATTR_ENGINECFG_ENGINE:
      return CUDNN_BACKEND_ENGINE_DESCRIPTOR;
    case CUDNN_ATTR_ENGINECFG_KNOB_CHOICES:
      return CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR;
    case CUDNN_ATTR_ENGINE_KNOB_INFO:
      return CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR;
    case CUDNN_ATTR_ENGINEHEUR_DEVICEPROP:
    case CUDNN_ATTR_ENGINE_DEVICEPROP:
    case CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP:
      return CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR;
    default:
      return CUDNN_BACKEND_TENSOR_DESCRIPTOR;
  }
}

const Descriptor* Descriptor::Referred(cudnnBackendAttributeName_t name) const {
  const auto found = values.find(name);
  if (found == values.end()) return nullptr;
  const Descriptor& to = *found->second.referred[0];
  Require(to.finalized, std::string("a ") + NameOf(type) + " refers to a " + NameOf(to.type) +
                            " that is not finalized");
  return &to;
}

void CheckComplete(const Descriptor& descriptor) {
  for (const AttributeRule& rule : *RulesOf(descriptor.type)) {
    Require(rule.use != kRequired || descriptor.Has(rule.name),
            std::string("a ") + NameOf(descriptor.type) + " lacks CUDNN_ATTR_" + rule.text);
  }
}

void CheckAlive(const Descriptor& descriptor, const char* doing) {
  if (descriptor.destroyed) {
    Fault("descriptor", std::string(doing) + " uses a " + NameOf(descriptor.type) +
                            " that the program destroyed before");
  }
  for (const auto& [name, value] : descriptor.values) {
    for (const auto& to : value.referred) CheckAlive(*to, doing);
  }
}

}  // namespace doppio::gpu_double
