// Compares the .proto files with BVLC Caffe's: the fields of each message and their numbers.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "proto/net.pb.h"
#include "proto/solver.pb.h"

namespace doppio {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

const Descriptor* Message(const std::string& name) {
  // Using a generated type ensures that its file is in the pool.
  SolverParameter::descriptor();
  return DescriptorPool::generated_pool()->FindMessageTypeByName("doppio." + name);
}

std::string DefaultText(const FieldDescriptor& field) {
  if (!field.has_default_value()) return "";
  char text[32];
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return field.default_value_bool() ? "true" : "false";
    case FieldDescriptor::CPPTYPE_INT32:
      return std::to_string(field.default_value_int32());
    case FieldDescriptor::CPPTYPE_INT64:
      return std::to_string(field.default_value_int64());
    case FieldDescriptor::CPPTYPE_UINT32:
      return std::to_string(field.default_value_uint32());
    case FieldDescriptor::CPPTYPE_FLOAT:
      std::snprintf(text, sizeof text, "%g", field.default_value_float());
      return text;
    case FieldDescriptor::CPPTYPE_ENUM:
      return field.default_value_enum()->name();
    case FieldDescriptor::CPPTYPE_STRING:
      return "'" + field.default_value_string() + "'";
    default:
      return "?";
  }
}

struct Fact {
  const char* message;
  const char* field;
  int number;
  const char* type;
  const char* default_text;
};

// Copied by hand from BVLC Caffe's caffe.proto.
const Fact kFacts[] = {
    {"BlobShape", "dim", 1, "int64", ""},
    {"BlobProto", "num", 1, "int32", "0"},
    {"BlobProto", "width", 4, "int32", "0"},
    {"BlobProto", "data", 5, "float", ""},
    {"BlobProto", "diff", 6, "float", ""},
    {"BlobProto", "shape", 7, "message", ""},
    {"BlobProto", "double_data", 8, "double", ""},
    {"BlobProto", "double_diff", 9, "double", ""},
    {"Datum", "channels", 1, "int32", ""},
    {"Datum", "data", 4, "bytes", ""},
    {"Datum", "label", 5, "int32", ""},
    {"Datum", "float_data", 6, "float", ""},
    {"Datum", "encoded", 7, "bool", "false"},
    {"FillerParameter", "type", 1, "string", "'constant'"},
    {"FillerParameter", "max", 4, "float", "1"},
    {"FillerParameter", "std", 6, "float", "1"},
    {"FillerParameter", "sparse", 7, "int32", "-1"},
    {"FillerParameter", "variance_norm", 8, "enum", "FAN_IN"},
    {"NetParameter", "name", 1, "string", ""},
    {"NetParameter", "layers", 2, "message", ""},
    {"NetParameter", "input", 3, "string", ""},
    {"NetParameter", "input_dim", 4, "int32", ""},
    {"NetParameter", "force_backward", 5, "bool", "false"},
    {"NetParameter", "input_shape", 8, "message", ""},
    {"NetParameter", "layer", 100, "message", ""},
    {"NetState", "phase", 1, "enum", "TEST"},
    {"NetStateRule", "not_stage", 5, "string", ""},
    {"ParamSpec", "share_mode", 2, "enum", ""},
    {"ParamSpec", "lr_mult", 3, "float", "1"},
    {"ParamSpec", "decay_mult", 4, "float", "1"},
    {"SolverParameter", "train_net", 1, "string", ""},
    {"SolverParameter", "test_iter", 3, "int32", ""},
    {"SolverParameter", "test_interval", 4, "int32", "0"},
    {"SolverParameter", "base_lr", 5, "float", ""},
    {"SolverParameter", "lr_policy", 8, "string", ""},
    {"SolverParameter", "gamma", 9, "float", ""},
    {"SolverParameter", "stepsize", 13, "int32", ""},
    {"SolverParameter", "solver_mode", 17, "enum", "GPU"},
    {"SolverParameter", "random_seed", 20, "int64", "-1"},
    {"SolverParameter", "net", 24, "string", ""},
    {"SolverParameter", "snapshot_after_train", 28, "bool", "true"},
    {"SolverParameter", "regularization_type", 29, "string", "'L2'"},
    {"SolverParameter", "delta", 31, "float", "1e-08"},
    {"SolverParameter", "test_initialization", 32, "bool", "true"},
    {"SolverParameter", "average_loss", 33, "int32", "1"},
    {"SolverParameter", "stepvalue", 34, "int32", ""},
    {"SolverParameter", "clip_gradients", 35, "float", "-1"},
    {"SolverParameter", "snapshot_format", 37, "enum", "BINARYPROTO"},
    {"SolverParameter", "rms_decay", 38, "float", "0.99"},
    {"SolverParameter", "momentum2", 39, "float", "0.999"},
    {"SolverParameter", "type", 40, "string", "'SGD'"},
    {"SolverParameter", "layer_wise_reduce", 41, "bool", "true"},
    {"SolverParameter", "weights", 42, "string", ""},
    {"SolverState", "history", 3, "message", ""},
    {"SolverState", "current_step", 4, "int32", "0"},
    {"LayerParameter", "type", 2, "string", ""},
    {"LayerParameter", "blobs", 7, "message", ""},
    {"LayerParameter", "phase", 10, "enum", ""},
    {"LayerParameter", "propagate_down", 11, "bool", ""},
    {"LayerParameter", "convolution_param", 106, "message", ""},
    {"LayerParameter", "inner_product_param", 117, "message", ""},
    {"LayerParameter", "recurrent_param", 146, "message", ""},
    {"LayerParameter", "clip_param", 148, "message", ""},
    {"TransformationParameter", "scale", 1, "float", "1"},
    {"TransformationParameter", "mean_value", 5, "float", ""},
    {"LossParameter", "normalize", 2, "bool", ""},
    {"LossParameter", "normalization", 3, "enum", "VALID"},
    {"AccuracyParameter", "top_k", 1, "uint32", "1"},
    {"BatchNormParameter", "use_global_stats", 1, "bool", ""},
    {"BatchNormParameter", "moving_average_fraction", 2, "float", "0.999"},
    {"BatchNormParameter", "eps", 3, "float", "1e-05"},
    {"ConvolutionParameter", "pad", 3, "uint32", ""},
    {"ConvolutionParameter", "kernel_size", 4, "uint32", ""},
    {"ConvolutionParameter", "group", 5, "uint32", "1"},
    {"ConvolutionParameter", "stride", 6, "uint32", ""},
    {"ConvolutionParameter", "engine", 15, "enum", "DEFAULT"},
    {"ConvolutionParameter", "axis", 16, "int32", "1"},
    {"ConvolutionParameter", "dilation", 18, "uint32", ""},
    {"DataParameter", "batch_size", 4, "uint32", ""},
    {"DataParameter", "backend", 8, "enum", "LEVELDB"},
    {"DataParameter", "prefetch", 10, "uint32", "4"},
    {"DropoutParameter", "dropout_ratio", 1, "float", "0.5"},
    {"EltwiseParameter", "operation", 1, "enum", "SUM"},
    {"EltwiseParameter", "stable_prod_grad", 3, "bool", "true"},
    {"ExpParameter", "base", 1, "float", "-1"},
    {"FlattenParameter", "end_axis", 2, "int32", "-1"},
    {"HingeLossParameter", "norm", 1, "enum", "L1"},
    {"ImageDataParameter", "root_folder", 12, "string", "''"},
    {"InfogainLossParameter", "axis", 2, "int32", "1"},
    {"InnerProductParameter", "transpose", 6, "bool", "false"},
    {"LRNParameter", "local_size", 1, "uint32", "5"},
    {"LRNParameter", "beta", 3, "float", "0.75"},
    {"LRNParameter", "k", 5, "float", "1"},
    {"MVNParameter", "eps", 3, "float", "1e-09"},
    {"PoolingParameter", "kernel_size", 2, "uint32", ""},
    {"PoolingParameter", "stride", 3, "uint32", "1"},
    {"PoolingParameter", "pad", 4, "uint32", "0"},
    {"PoolingParameter", "round_mode", 13, "enum", "CEIL"},
    {"PythonParameter", "param_str", 3, "string", "''"},
    {"ReductionParameter", "operation", 1, "enum", "SUM"},
    {"ReshapeParameter", "num_axes", 3, "int32", "-1"},
    {"SliceParameter", "axis", 3, "int32", "1"},
    {"SPPParameter", "engine", 6, "enum", "DEFAULT"},
    {"WindowDataParameter", "fg_fraction", 9, "float", "0.25"},
    {"WindowDataParameter", "crop_mode", 11, "string", "'warp'"},
    {"V1LayerParameter", "layer", 1, "message", ""},
    {"V1LayerParameter", "type", 5, "enum", ""},
    {"V1LayerParameter", "blobs", 6, "message", ""},
    {"V1LayerParameter", "blobs_lr", 7, "float", ""},
    {"V1LayerParameter", "loss_param", 42, "message", ""},
    {"V1LayerParameter", "param", 1001, "string", ""},
    {"V1LayerParameter", "blob_share_mode", 1002, "enum", ""},
    {"V0LayerParameter", "kernelsize", 8, "uint32", ""},
    {"V0LayerParameter", "k", 22, "float", "1"},
    {"V0LayerParameter", "blobs", 50, "message", ""},
    {"V0LayerParameter", "det_crop_mode", 59, "string", "'warp'"},
    {"V0LayerParameter", "concat_dim", 65, "uint32", "1"},
    {"V0LayerParameter", "hdf5_output_param", 1001, "message", ""},
};

// The number of fields of each of BVLC's messages.
const std::map<std::string, int> kFieldCounts = {
    {"AccuracyParameter", 3},
    {"ArgMaxParameter", 3},
    {"BatchNormParameter", 3},
    {"BiasParameter", 3},
    {"BlobProto", 9},
    {"BlobProtoVector", 1},
    {"BlobShape", 1},
    {"ClipParameter", 2},
    {"ConcatParameter", 2},
    {"ContrastiveLossParameter", 2},
    {"ConvolutionParameter", 18},
    {"CropParameter", 2},
    {"DataParameter", 10},
    {"Datum", 7},
    {"DropoutParameter", 1},
    {"DummyDataParameter", 6},
    {"ELUParameter", 1},
    {"EltwiseParameter", 3},
    {"EmbedParameter", 5},
    {"ExpParameter", 3},
    {"FillerParameter", 8},
    {"FlattenParameter", 2},
    {"HDF5DataParameter", 3},
    {"HDF5OutputParameter", 1},
    {"HingeLossParameter", 1},
    {"ImageDataParameter", 12},
    {"InfogainLossParameter", 2},
    {"InnerProductParameter", 6},
    {"InputParameter", 1},
    {"LRNParameter", 6},
    {"LayerParameter", 60},
    {"LogParameter", 3},
    {"LossParameter", 3},
    {"MVNParameter", 3},
    {"MemoryDataParameter", 4},
    {"NetParameter", 9},
    {"NetState", 3},
    {"NetStateRule", 5},
    {"PReLUParameter", 2},
    {"ParamSpec", 4},
    {"ParameterParameter", 1},
    {"PoolingParameter", 13},
    {"PowerParameter", 3},
    {"PythonParameter", 4},
    {"ReLUParameter", 2},
    {"RecurrentParameter", 5},
    {"ReductionParameter", 3},
    {"ReshapeParameter", 3},
    {"SPPParameter", 3},
    {"ScaleParameter", 5},
    {"SigmoidParameter", 1},
    {"SliceParameter", 3},
    {"SoftmaxParameter", 2},
    {"SolverParameter", 42},
    {"SolverState", 4},
    {"SwishParameter", 1},
    {"TanHParameter", 1},
    {"ThresholdParameter", 1},
    {"TileParameter", 2},
    {"TransformationParameter", 7},
    {"V0LayerParameter", 38},
    {"V1LayerParameter", 43},
    {"WindowDataParameter", 13},
};

// The number of values of each of BVLC's enums.
const std::map<std::string, int> kValueCounts = {
    {"Phase", 2},
    {"FillerParameter.VarianceNorm", 3},
    {"SolverParameter.SnapshotFormat", 2},
    {"SolverParameter.SolverMode", 2},
    {"SolverParameter.SolverType", 6},
    {"ParamSpec.DimCheckMode", 2},
    {"LossParameter.NormalizationMode", 4},
    {"ConvolutionParameter.Engine", 3},
    {"DataParameter.DB", 2},
    {"EltwiseParameter.EltwiseOp", 3},
    {"HingeLossParameter.Norm", 2},
    {"LRNParameter.NormRegion", 2},
    {"LRNParameter.Engine", 3},
    {"PoolingParameter.PoolMethod", 3},
    {"PoolingParameter.Engine", 3},
    {"PoolingParameter.RoundMode", 2},
    {"ReductionParameter.ReductionOp", 4},
    {"ReLUParameter.Engine", 3},
    {"SigmoidParameter.Engine", 3},
    {"SoftmaxParameter.Engine", 3},
    {"TanHParameter.Engine", 3},
    {"SPPParameter.PoolMethod", 3},
    {"SPPParameter.Engine", 3},
    {"V1LayerParameter.LayerType", 40},
    {"V1LayerParameter.DimCheckMode", 2},
    {"V0LayerParameter.PoolMethod", 3},
};

bool IsForks(int number) { return number > 1000 && number < 2000; }
bool IsOurs(int number) { return number > 2000 && number < 3000; }

// Returns true for NVCaffe's fields for weights, the only extension with numbers below 1000.
bool IsRawBlob(const FieldDescriptor& field) {
  return field.containing_type()->name() == "BlobProto" && field.number() >= 10 &&
         field.number() <= 13;
}

TEST(Numbers, AgreeWithTheFactsOfBvlc) {
  for (const Fact& fact : kFacts) {
    SCOPED_TRACE(std::string(fact.message) + "." + fact.field);
    const Descriptor* message = Message(fact.message);
    ASSERT_NE(message, nullptr);
    const FieldDescriptor* field = message->FindFieldByName(fact.field);
    ASSERT_NE(field, nullptr);
    EXPECT_EQ(field->number(), fact.number);
    EXPECT_STREQ(field->type_name(), fact.type);
    EXPECT_EQ(DefaultText(*field), fact.default_text);
  }
}

TEST(Numbers, BelowAThousandAreBvlcsOnly) {
  int total = 0;
  for (const auto& [name, expected] : kFieldCounts) {
    SCOPED_TRACE(name);
    const Descriptor* message = Message(name);
    ASSERT_NE(message, nullptr);
    // In the messages for layers of old files, three of BVLC's own numbers are above 1000.
    const int last = message->file()->name() == "proto/legacy.proto" ? 1002 : 999;
    int bvlc = 0;
    for (int i = 0; i < message->field_count(); ++i) {
      const FieldDescriptor& field = *message->field(i);
      if (IsRawBlob(field)) continue;
      if (field.number() <= last) {
        ++bvlc;
      } else {
        EXPECT_TRUE(IsForks(field.number()) || IsOurs(field.number())) << field.full_name();
      }
    }
    EXPECT_EQ(bvlc, expected);
    total += bvlc;
  }
  EXPECT_EQ(kFieldCounts.size(), 63u);
  EXPECT_EQ(total, 423);
}

TEST(Numbers, OfEnumValuesBelowAThousandAreBvlcsOnly) {
  EXPECT_EQ(kValueCounts.size(), 26u);
  for (const auto& [name, expected] : kValueCounts) {
    SCOPED_TRACE(name);
    const EnumDescriptor* type =
        DescriptorPool::generated_pool()->FindEnumTypeByName("doppio." + name);
    ASSERT_NE(type, nullptr);
    int bvlc = 0;
    for (int i = 0; i < type->value_count(); ++i) {
      const int number = type->value(i)->number();
      if (number < 1000) {
        ++bvlc;
      } else {
        EXPECT_TRUE(IsForks(number) || IsOurs(number)) << type->value(i)->full_name();
      }
    }
    EXPECT_EQ(bvlc, expected);
  }
}

TEST(Numbers, ArePackedWhereBvlcPacks) {
  const std::vector<std::string> packed = {"data", "diff", "double_data", "double_diff"};
  for (const std::string& name : packed) {
    EXPECT_TRUE(Message("BlobProto")->FindFieldByName(name)->is_packed()) << name;
  }
  EXPECT_TRUE(Message("BlobShape")->FindFieldByName("dim")->is_packed());
  EXPECT_FALSE(Message("Datum")->FindFieldByName("float_data")->is_packed());
  EXPECT_FALSE(Message("LayerParameter")->FindFieldByName("loss_weight")->is_packed());
}

TEST(Numbers, NoFieldIsRequired) {
  // The layer reports a missing value, with the line that lacks it.
  for (const auto& entry : kFieldCounts) {
    const Descriptor* message = Message(entry.first);
    for (int i = 0; i < message->field_count(); ++i) {
      EXPECT_FALSE(message->field(i)->is_required()) << message->field(i)->full_name();
    }
  }
}

}  // namespace
}  // namespace doppio
