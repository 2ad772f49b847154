#include "core/net/graph/read_fields.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cctype>

#include "core/base/file.h"
#include "core/net/spec/split_layer.h"

namespace doppio {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

bool Has(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// Returns true if this field of LayerParameter has the name of a layer type: relu_param and ReLU.
bool IsNamedAfter(const std::string& field, const std::string& layer_type) {
  // "ReLU" and "relu_param" both become "relu".
  const auto bare = [](std::string name) {
    if (EndsWith(name, "_param")) name.resize(name.size() - 6);
    name.erase(std::remove(name.begin(), name.end(), '_'), name.end());
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return name;
  };
  return bare(field) == bare(layer_type);
}

// Returns true if `list` has the path of a field of `message`.
bool NamesFieldOf(const std::vector<std::string>& list, const std::string& message) {
  return std::any_of(list.begin(), list.end(), [&](const std::string& path) {
    return path.compare(0, message.size() + 1, message + ".") == 0;
  });
}

std::vector<const FieldDescriptor*> SetFields(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  return fields;
}

// Returns true for the messages that only some layer types read.
bool IsOfSomeTypes(const FieldDescriptor& field) { return EndsWith(field.name(), "_param"); }

void ClearField(const std::string& path, LayerParameter* layer) {
  const size_t dot = path.find('.');
  const FieldDescriptor* field = layer->GetDescriptor()->FindFieldByName(path.substr(0, dot));
  if (dot == std::string::npos) return layer->GetReflection()->ClearField(layer, field);
  Message* message = layer->GetReflection()->MutableMessage(layer, field);
  const auto* part = message->GetDescriptor()->FindFieldByName(path.substr(dot + 1));
  message->GetReflection()->ClearField(message, part);
}

}  // namespace

bool ReadsMessage(const std::string& layer_type, const std::string& message) {
  const LayerType* type = LayerTypes::Get().Find(layer_type);
  return type != nullptr &&
         (IsNamedAfter(message, layer_type) || Has(type->further_fields, message));
}

std::vector<std::string> ReadMessages(const std::string& layer_type) {
  std::vector<std::string> messages;
  const auto& layer = *LayerParameter::descriptor();
  for (int i = 0; i < layer.field_count(); ++i) {
    const FieldDescriptor& field = *layer.field(i);
    if (IsOfSomeTypes(field) && ReadsMessage(layer_type, field.name()))
      messages.push_back(field.name());
  }
  return messages;
}

std::vector<std::string> UnreadFields(const LayerParameter& layer) {
  std::vector<std::string> unread;
  const LayerType* type = LayerTypes::Get().Find(layer.type());
  if (type == nullptr) return unread;
  for (const FieldDescriptor* field : SetFields(layer)) {
    const std::string& name = field->name();
    if (!IsOfSomeTypes(*field) || Has(type->refused_fields, name)) continue;
    if (name == "relu_param" && HasFusedRelu(layer)) continue;
    const bool whole = ReadsMessage(layer.type(), name);
    if (!whole && !NamesFieldOf(type->further_fields, name)) {
      unread.push_back(name);
      continue;
    }
    for (const FieldDescriptor* part : SetFields(layer.GetReflection()->GetMessage(layer, field))) {
      const std::string path = name + "." + part->name();
      if (whole ? Has(type->ignored_fields, path) : !Has(type->further_fields, path))
        unread.push_back(path);
    }
  }
  return unread;
}

LayerShape InferShape(const LayerType& type, const LayerSpec& spec,
                      const std::vector<Shape>& bottoms) {
  for (const std::string& name : type.refused_fields) {
    const FieldDescriptor* field = spec.param.GetDescriptor()->FindFieldByName(name);
    spec.RefuseIf(spec.param.GetReflection()->HasField(spec.param, field), name, spec.type(),
                  " does not take ", name, "; remove it");
  }
  const std::vector<std::string> unread = UnreadFields(spec.param);
  if (unread.empty()) return type.infer(spec, bottoms);
  LayerSpec visible = spec;
  for (const std::string& path : unread) ClearField(path, &visible.param);
  return type.infer(visible, bottoms);
}

}  // namespace doppio
