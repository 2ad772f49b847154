#include "core/net/spec/named_field.h"

#include <google/protobuf/descriptor.h>

#include <cctype>
#include <set>

namespace doppio {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Returns the words of `text` that can be names of fields.
std::set<std::string> NamesIn(const std::string& text) {
  std::set<std::string> names;
  std::string name;
  for (const char c : text + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      name += c;
    } else if (!name.empty()) {
      names.insert(std::move(name));
      name.clear();
    }
  }
  return names;
}

std::vector<const FieldDescriptor*> SetFields(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  return fields;
}

// Returns the message at `path`, or null if it is not set.
const Message* MessageAt(const Message& from, const std::string& path) {
  const size_t dot = path.find('.');
  for (const FieldDescriptor* field : SetFields(from)) {
    if (field->name() != path.substr(0, dot) || field->message_type() == nullptr) continue;
    const Message& found = from.GetReflection()->GetMessage(from, field);
    return dot == std::string::npos ? &found : MessageAt(found, path.substr(dot + 1));
  }
  return nullptr;
}

// Returns the path of a set field of `message` that is one of `names`, and inside it of further
// ones. Returns `path`, that of `message`, if there is none.
std::string FieldIn(const Message& message, const std::string& path,
                    const std::set<std::string>& names) {
  for (const FieldDescriptor* field : SetFields(message)) {
    if (names.count(field->name()) == 0) continue;
    std::string found = path + "." + field->name();
    if (field->message_type() == nullptr || field->is_repeated()) return found;
    return FieldIn(message.GetReflection()->GetMessage(message, field), found, names);
  }
  return path;
}

}  // namespace

std::string NamedField(const LayerParameter& layer, const std::vector<std::string>& messages,
                       const std::string& text) {
  const std::set<std::string> names = NamesIn(text);
  for (const std::string& path : messages) {
    const Message* message = MessageAt(layer, path);
    if (message == nullptr) continue;
    std::string found = FieldIn(*message, path, names);
    if (found != path) return found;
  }
  return "";
}

}  // namespace doppio
