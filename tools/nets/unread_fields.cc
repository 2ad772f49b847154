#include "tools/nets/unread_fields.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>

#include "core/net/contract/layer.h"
#include "tools/cli/word_list.h"

namespace doppio {
namespace {

using google::protobuf::FieldDescriptor;

const FieldDescriptor& FieldOf(const std::string& message) {
  return *LayerParameter::descriptor()->FindFieldByName(message);
}

std::vector<std::string> TypesThatRead(const std::string& message) {
  std::vector<std::string> types;
  for (const std::string& type : LayerTypes::Get().Names()) {
    if (ReadsMessage(type, message)) types.push_back(type);
  }
  return types;
}

// Returns the names of the fields that are set at `path`: a message's, or the field itself.
std::vector<std::string> SetIn(const LayerParameter& layer, const std::string& path) {
  const size_t dot = path.find('.');
  if (dot != std::string::npos) return {path.substr(dot + 1)};
  const auto& message = layer.GetReflection()->GetMessage(layer, &FieldOf(path));
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  std::vector<std::string> names;
  for (const FieldDescriptor* field : fields) names.push_back(field->name());
  return names;
}

// Returns where to set what is set at `path`: "; set ignore_label in accuracy_param", or "" if no
// message that the type reads has such fields.
std::string OtherPlace(const LayerParameter& layer, const std::string& path) {
  const std::string unread = path.substr(0, path.find('.'));
  for (const std::string& message : ReadMessages(layer.type())) {
    const auto& fields = *FieldOf(message).message_type();
    std::vector<std::string> names = SetIn(layer, path);
    names.erase(
        std::remove_if(names.begin(), names.end(),
                       [&](const auto& name) { return fields.FindFieldByName(name) == nullptr; }),
        names.end());
    if (message != unread && !names.empty())
      return "; set " + Join(names, " and ") + " in " + message;
  }
  return "";
}

}  // namespace

bool IsReadByALayer(const std::string& field) { return !TypesThatRead(field).empty(); }

Warning UnreadWarning(const LayerParameter& layer, const FieldPlaces& places,
                      const std::string& path) {
  constexpr size_t kMaxNames = 4;
  std::string text =
      "layer '" + layer.name() + "': " + path + " has no effect in a layer of type " + layer.type();
  const std::vector<std::string> own = ReadMessages(layer.type()), types = TypesThatRead(path);
  const std::string other = OtherPlace(layer, path);
  if (!other.empty()) return {places.At(path), text + other};
  if (!own.empty() && own.size() <= kMaxNames && path.find('.') == std::string::npos)
    text += ", which reads " + Join(own, " and ");
  if (!types.empty() && types.size() <= kMaxNames)
    text += "; " + path + " is for " + Join(types, " and ");
  return {places.At(path), text};
}

}  // namespace doppio
