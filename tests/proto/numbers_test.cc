// Compares the .proto files with BVLC Caffe's: the numbers of fields and enum values.
// tests/python/schema_test.py compares each field.
#include <gtest/gtest.h>

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
