#include "tools/help/field_table.h"

#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <memory>

#include "core/net/contract/layer.h"
#include "core/net/graph/read_fields.h"
#include "proto/net.pb.h"
#include "proto/solver.pb.h"
#include "tools/cli/word_list.h"
#include "tools/help/field_notes.h"
#include "tools/nets/lint.h"

namespace doppio {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

std::string TypeText(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return "true or false";
    case FieldDescriptor::CPPTYPE_STRING:
      return "text";
    case FieldDescriptor::CPPTYPE_FLOAT:
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return "number";
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64:
      return "integer from 0";
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return field.message_type()->name();
    case FieldDescriptor::CPPTYPE_ENUM: {
      std::vector<std::string> names;
      for (int i = 0; i < field.enum_type()->value_count(); ++i)
        names.push_back(field.enum_type()->value(i)->name());
      return Join(names, ", ");
    }
    default:
      return "integer";
  }
}

// Returns the default in the syntax of a prototxt file, or "" if there is none.
std::string DefaultText(const FieldDescriptor& field) {
  if (!field.has_default_value()) return "";
  google::protobuf::DynamicMessageFactory factory;
  const std::unique_ptr<google::protobuf::Message> message(
      factory.GetPrototype(field.containing_type())->New());
  std::string text;
  google::protobuf::TextFormat::PrintFieldValueToString(*message, &field, -1, &text);
  return text == "\"\"" ? "" : text;
}

std::string NoteOf(const FieldDescriptor& field) {
  std::string name = field.full_name();
  name.erase(0, name.find('.') + 1);  // the package
  const auto found = FieldNotes().find(name);
  return found == FieldNotes().end() ? "" : found->second;
}

std::string CountText(int least, int most) {
  constexpr int kMoreThanAnybodyNeeds = 1000;
  if (most == kAny || most >= kMoreThanAnybodyNeeds)
    return least == 0 ? "any" : std::to_string(least) + " or more";
  if (least == most) return std::to_string(most);
  return std::to_string(least) + (most == least + 1 ? " or " : " to ") + std::to_string(most);
}

}  // namespace

FieldRow RowOf(const FieldDescriptor& field) {
  FieldRow row;
  row.name = field.name();
  row.type = (field.is_repeated() ? "several: " : "") + TypeText(field);
  row.default_value = field.is_repeated() ? "" : DefaultText(field);
  row.meaning = NoteOf(field);
  if (HasNoEffectHere(field)) row.meaning += "; without effect";
  row.message = field.message_type();
  return row;
}

std::vector<FieldRow> FieldRows(const Descriptor& message) {
  std::vector<FieldRow> rows;
  for (int i = 0; i < message.field_count(); ++i) rows.push_back(RowOf(*message.field(i)));
  return rows;
}

bool IsUndocumented(const Descriptor& message) {
  return message.name() == "BlobProto" || message.name() == "V1LayerParameter";
}

std::vector<const Descriptor*> MessagesOfFiles() {
  std::vector<const Descriptor*> messages = {SolverParameter::descriptor(),
                                             NetParameter::descriptor()};
  for (size_t i = 0; i < messages.size(); ++i) {
    for (int k = 0; k < messages[i]->field_count(); ++k) {
      const FieldDescriptor& field = *messages[i]->field(k);
      const Descriptor* nested = field.message_type();
      if (nested == nullptr || IsUndocumented(*nested) || HasNoEffectHere(field)) continue;
      if (!Contains(messages, nested)) messages.push_back(nested);
    }
  }
  return messages;
}

std::string ArityOf(const std::string& layer_type) {
  const LayerType* type = LayerTypes::Get().Find(layer_type);
  if (type == nullptr) return "any";
  return CountText(type->min_bottoms, type->max_bottoms) + " → " +
         (type->same_count ? "as many" : CountText(type->min_tops, type->max_tops));
}

std::vector<const FieldDescriptor*> ParametersOf(const std::string& layer_type) {
  std::vector<const FieldDescriptor*> fields;
  for (const std::string& message : ReadMessages(layer_type)) {
    const FieldDescriptor* field = LayerParameter::descriptor()->FindFieldByName(message);
    if (!HasNoEffectHere(*field)) fields.push_back(field);
  }
  return fields;
}

}  // namespace doppio
