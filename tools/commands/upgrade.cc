// `upgrade`: converts files in Caffe's old formats to the current one.
#include "core/net/spec/upgrade.h"

#include <google/protobuf/descriptor.h>

#include <climits>
#include <iostream>
#include <set>

#include "core/base/content/content_kind.h"
#include "core/base/file.h"
#include "core/net/contract/layer.h"
#include "core/net/spec/prototxt.h"
#include "core/net/spec/solver_fields.h"
#include "core/net/spec/split_layer.h"
#include "core/net/store/hdf5_blobs.h"
#include "core/net/store/wire_file.h"
#include "tools/cli/command.h"
#include "tools/cli/file_kind.h"
#include "tools/cli/word_list.h"
#include "tools/nets/lint.h"

namespace doppio {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

struct Result {
  std::string content;
  std::set<std::string> from;  // "the V1 format", "solver_type"; empty if nothing was old
  std::vector<Warning> warnings;
};

// Replaces layers that forks fuse by the equivalent layers of Caffe.
void SplitLayers(NetParameter* net, const FieldPlaces& places, Result* result) {
  NetParameter split;
  ErrorCollector mistakes;
  for (int i = 0; i < net->layer_size(); ++i) {
    mistakes.Try([&] {
      for (const LayerSpec& part :
           SplitLayer({net->layer(i), places.Nested(*net, "layer", i), NetOptions(), {}, ""})) {
        *split.add_layer() = part.param;
      }
    });
  }
  mistakes.ThrowIfAny();
  if (split.layer_size() == net->layer_size()) return;
  result->from.insert("layers that forks fuse");
  net->mutable_layer()->Swap(split.mutable_layer());
}

void AddNet(NetParameter* net, FieldPlaces* places, Result* result) {
  const Upgrade upgrade = UpgradeNet(net, places);
  if (!upgrade.from.empty()) result->from.insert("the " + upgrade.from + " format");
  result->warnings.insert(result->warnings.end(), upgrade.dropped.begin(), upgrade.dropped.end());
  SplitLayers(net, *places, result);
  if (net->input_size() == 0) return;
  if (NeedsInputLayer(*net)) {
    ErrorCollector mistakes;
    *net->add_layer() = InputLayer(*net, *places, &mistakes);
    mistakes.ThrowIfAny();
    for (int i = net->layer_size() - 1; i > 0; --i) net->mutable_layer()->SwapElements(i, i - 1);
  }
  net->clear_input();
  net->clear_input_shape();
  net->clear_input_dim();
  result->from.insert("net inputs without a layer");
}

Result UpgradeNetText(const std::string& text, const std::string& path) {
  Result result;
  NetParameter net;
  FieldPlaces places = ParseText(text, path, &net);
  AddNet(&net, &places, &result);
  result.content = ToPrototxt(net);
  return result;
}

Result UpgradeSolverText(const std::string& text, const std::string& path) {
  Result result;
  SolverParameter solver;
  const FieldPlaces places = ParseText(text, path, &solver);
  if (solver.has_solver_type()) result.from.insert("solver_type");
  ErrorCollector mistakes;
  UpgradeSolverType(places, &solver, &mistakes);
  ForEachNet(&solver, places, [&](NetParameter* net, FieldPlaces* at) {
    mistakes.Try([&] { AddNet(net, at, &result); });
  });
  mistakes.ThrowIfAny();
  result.content = ToPrototxt(solver);
  return result;
}

// Collects the unknown fields of a message and its nested messages, as "V1LayerParameter 44".
void FindUnknown(const Message& message, std::set<std::string>* found) {
  const auto* reflection = message.GetReflection();
  const google::protobuf::UnknownFieldSet& unknown = reflection->GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i) {
    found->insert(message.GetDescriptor()->name() + " " +
                  std::to_string(unknown.field(i).number()));
  }
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->message_type() == nullptr) continue;
    const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      FindUnknown(field->is_repeated() ? reflection->GetRepeatedMessage(message, field, i)
                                       : reflection->GetMessage(message, field),
                  found);
    }
  }
}

// Converts the raw values that NVCaffe stores in a blob to floats. Returns false if there are none.
bool StoreAsFloats(const std::string& path, BlobProto* blob) {
  const auto floats = [&](const std::string& raw) {
    BlobProtoVector holder;
    BlobProto* one = holder.add_blobs();
    *one = *blob;
    one->clear_data();
    one->clear_double_data();
    one->set_raw_data(raw);
    const std::string bytes = holder.SerializeAsString();
    WireReader in(bytes, path, ".caffemodel");
    in.Next();
    const std::vector<float> values = in.Blob().data;
    return google::protobuf::RepeatedField<float>(values.begin(), values.end());
  };
  if (!blob->has_raw_data()) return false;
  *blob->mutable_data() = floats(blob->raw_data());
  if (blob->has_raw_diff()) *blob->mutable_diff() = floats(blob->raw_diff());
  blob->clear_raw_data();
  blob->clear_raw_diff();
  blob->clear_raw_data_type();
  blob->clear_raw_diff_type();
  return true;
}

// Returns true if the layer is a BatchNorm of NVCaffe that also has a scale and a bias, stored
// after its statistics. NVCaffe has fields for this, but a binary file identifies fields only by
// numbers, which mean other fields elsewhere.
bool HasScale(const LayerParameter& layer) {
  const LayerType* type = LayerTypes::Get().Find(layer.type());
  return type != nullptr && !type->stores_params_of.empty() && layer.top_size() == 1 &&
         layer.blobs_size() == static_cast<int>(type->param_names.size()) + 2;
}

// Visits all messages in a message. Throws FileError if there are too many of them, before protobuf
// makes an object of each.
void CountMessages(const google::protobuf::Descriptor& type, WireReader* in) {
  while (const int number = in->Next()) {
    const FieldDescriptor* const field = type.FindFieldByNumber(number);
    if (field == nullptr || field->message_type() == nullptr || !in->HasLength()) {
      in->Skip();
    } else {
      in->Message([&] { CountMessages(*field->message_type(), in); });
    }
  }
}

Result UpgradeNetBinary(const std::string& content, const std::string& path) {
  if (content.size() >= INT_MAX) {
    throw FileError("'" + path + "' has 2 GiB or more, which protobuf cannot read");
  }
  const std::string found = DescribeContent(content);
  const std::string wanted = "text file or a binary net such as a .caffemodel";
  if (KindOfContent(content) != ContentKind::kNet && !found.empty())
    throw FileError("'" + path + "' is not a " + wanted + ": " + found);
  WireReader in(content, path, wanted);
  CountMessages(*NetParameter::descriptor(), &in);
  Result result;
  NetParameter net;
  if (!net.ParseFromString(content) || (net.layer_size() == 0 && net.layers_size() == 0))
    throw FileError("'" + path + "' is not a " + wanted + ": it is damaged or has no layers");
  std::set<std::string> unknown;
  FindUnknown(net, &unknown);
  net.DiscardUnknownFields();
  for (LayerParameter& layer : *net.mutable_layer()) {
    for (BlobProto& blob : *layer.mutable_blobs()) {
      if (StoreAsFloats(path, &blob)) result.from.insert("NVCaffe's form of weights");
    }
    if (HasScale(layer)) layer.mutable_batch_norm_param()->set_scale_bias(true);
  }
  FieldPlaces places(SourceLoc{path});
  AddNet(&net, &places, &result);
  for (const std::string& field : unknown) {
    result.warnings.push_back(
        {places.At(), "field " + field + " is not a field of BVLC Caffe and is left out"});
  }
  result.content = net.SerializeAsString();
  return result;
}

ExitCode RunUpgrade(const CommandLine& line, bool* began) {
  const std::string &in = line.files[0], &out = line.files[1];
  if (IsHdf5(in)) throw FileError("'" + in + "' is HDF5, which has no old format");
  const std::string content = ReadFile(in);
  const Result result = IsBinary(content)              ? UpgradeNetBinary(content, in)
                        : LooksLikeSolver(content, in) ? UpgradeSolverText(content, in)
                                                       : UpgradeNetText(content, in);
  *began = true;
  if (result.from.empty()) {
    WriteFileAtomically(out, content);
    std::cout << in << " is in the current format; " << out << " is a copy of it\n";
    return ExitCode::kDone;
  }
  LogWarnings(result.warnings);
  WriteFileAtomically(out, result.content);
  std::cout << out << " written, upgraded from " << Join(result.from, " and ") << '\n';
  return ExitCode::kDone;
}

DOPPIO_REGISTER(Commands, "upgrade",
                {"converts a net, weights or a solver to the current format; comments are lost",
                 {},
                 {},
                 "IN OUT",
                 "doppio upgrade old.prototxt new.prototxt",
                 &RunUpgrade,
                 {"upgrade_net_proto_text", "upgrade_net_proto_binary",
                  "upgrade_solver_proto_text"}});

}  // namespace
}  // namespace doppio
