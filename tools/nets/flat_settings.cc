#include "tools/nets/flat_settings.h"

#include <google/protobuf/text_format.h>

#include <vector>

#include "proto/net.pb.h"
#include "tools/cli/word_list.h"

namespace doppio {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string ValueText(const Message& message, const FieldDescriptor* field, int index) {
  std::string text;
  google::protobuf::TextFormat::PrintFieldValueToString(message, field, index, &text);
  return text;
}

// Returns the path of a layer: "layer[conv1]". If several layers have the same name, such as the
// data layers of two phases, the second one is "layer[data][2]".
std::string LayerPath(const FlatSettings& settings, const std::string& path, const Message& layer) {
  const std::string name =
      path + "[" +
      layer.GetReflection()->GetString(layer, layer.GetDescriptor()->FindFieldByName("name")) + "]";
  const auto taken = [&](const std::string& prefix) {
    const auto next = settings.lower_bound(prefix + ".");
    return next != settings.end() && next->first.compare(0, prefix.size() + 1, prefix + ".") == 0;
  };
  std::string unique = name;
  for (int copy = 2; taken(unique); ++copy) unique = name + "[" + std::to_string(copy) + "]";
  return unique;
}

}  // namespace

void AddFlat(const Message& message, const std::string& prefix, FlatSettings* settings) {
  std::vector<const FieldDescriptor*> fields;
  const auto* reflection = message.GetReflection();
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string path = prefix + field->name();
    const bool nested = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (!field->is_repeated()) {
      if (nested) {
        AddFlat(reflection->GetMessage(message, field), path + ".", settings);
      } else {
        (*settings)[path] = ValueText(message, field, -1);
      }
      continue;
    }
    std::vector<std::string> list;
    for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
      if (!nested) {
        list.push_back(ValueText(message, field, i));
        continue;
      }
      const Message& element = reflection->GetRepeatedMessage(message, field, i);
      const bool layer = element.GetDescriptor() == LayerParameter::descriptor();
      AddFlat(element,
              (layer ? LayerPath(*settings, path, element) : path + "[" + std::to_string(i) + "]") +
                  ".",
              settings);
    }
    if (!nested) (*settings)[path] = "[" + Join(list, ",") + "]";
  }
}

}  // namespace doppio
