#include "core/net/spec/move_field.h"

#include <google/protobuf/descriptor.h>

#include <vector>

namespace doppio {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

int Count(const Message& message, const FieldDescriptor& field) {
  const auto* reflection = message.GetReflection();
  return field.is_repeated() ? reflection->FieldSize(message, &field)
                             : reflection->HasField(message, &field);
}

// Returns a value of any number type. All integers of old layers fit into a double.
double Number(const Message& m, const FieldDescriptor& field, int i) {
  const auto* r = m.GetReflection();
  const FieldDescriptor* f = &field;
  const bool many = f->is_repeated();
  switch (f->cpp_type()) {
    case FieldDescriptor::CPPTYPE_FLOAT:
      return many ? r->GetRepeatedFloat(m, f, i) : r->GetFloat(m, f);
    case FieldDescriptor::CPPTYPE_BOOL:
      return many ? r->GetRepeatedBool(m, f, i) : r->GetBool(m, f);
    case FieldDescriptor::CPPTYPE_INT32:
      return many ? r->GetRepeatedInt32(m, f, i) : r->GetInt32(m, f);
    case FieldDescriptor::CPPTYPE_UINT32:
      return many ? r->GetRepeatedUInt32(m, f, i) : r->GetUInt32(m, f);
    default:
      DOPPIO_CHECK(false, "old layers have no numbers of the type of " + f->full_name());
  }
}

const Message& Nested(const Message& m, const FieldDescriptor& field, int i) {
  const auto* r = m.GetReflection();
  return field.is_repeated() ? r->GetRepeatedMessage(m, &field, i) : r->GetMessage(m, &field);
}

// Returns false if the target's type cannot hold the value.
bool CopyValue(const Message& from, const FieldDescriptor& field, int i, Message* to,
               const FieldDescriptor* t) {
  const auto* r = to->GetReflection();
  const bool add = t->is_repeated();
  switch (t->cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      (add ? r->AddMessage(to, t) : r->MutableMessage(to, t))->CopyFrom(Nested(from, field, i));
      return true;
    case FieldDescriptor::CPPTYPE_STRING: {
      const auto* source = from.GetReflection();
      const std::string value = field.is_repeated() ? source->GetRepeatedString(from, &field, i)
                                                    : source->GetString(from, &field);
      add ? r->AddString(to, t, value) : r->SetString(to, t, value);
      return true;
    }
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto* source = from.GetReflection();
      const auto* value = field.is_repeated() ? source->GetRepeatedEnum(from, &field, i)
                                              : source->GetEnum(from, &field);
      value = t->enum_type()->FindValueByName(value->name());
      if (value == nullptr) return false;
      add ? r->AddEnum(to, t, value) : r->SetEnum(to, t, value);
      return true;
    }
    case FieldDescriptor::CPPTYPE_FLOAT: {
      const float value = static_cast<float>(Number(from, field, i));
      add ? r->AddFloat(to, t, value) : r->SetFloat(to, t, value);
      return true;
    }
    case FieldDescriptor::CPPTYPE_BOOL:
      r->SetBool(to, t, Number(from, field, i) != 0);
      return true;
    case FieldDescriptor::CPPTYPE_UINT32: {
      const double value = Number(from, field, i);
      if (value < 0) return false;
      add ? r->AddUInt32(to, t, static_cast<uint32_t>(value))
          : r->SetUInt32(to, t, static_cast<uint32_t>(value));
      return true;
    }
    default:
      DOPPIO_CHECK(false, "no old field becomes one of the type of " + t->full_name());
  }
}

std::string Element(const std::string& name, int index) {
  return name + "[" + std::to_string(index) + "]";
}

// Records the places of `path` and of all fields in `message`.
void NotePlaces(const Message& message, const FieldPlaces& at, const std::string& path,
                FieldPlaces* places) {
  if (message.GetDescriptor() == BlobProto::descriptor())
    return;  // blobs have one value per weight, so their places are not recorded
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string name = path + "." + field->name();
    places->Set(name, at.At(field->name()));
    for (int i = 0; i < Count(message, *field); ++i) {
      const std::string one = field->is_repeated() ? Element(name, i) : name;
      if (field->is_repeated()) places->Set(one, at.At(field->name(), i));
      if (field->message_type() != nullptr) {
        NotePlaces(Nested(message, *field, i), at.Nested(message, field->name(), i), one, places);
      }
    }
  }
}

}  // namespace

bool MoveField(const Message& from, const FieldPlaces& at, const FieldDescriptor& field,
               const std::string& path, const Rewritten& to) {
  for (int i = 0; i < Count(from, field); ++i) {
    const SourceLoc place = at.At(field.name(), i);
    Message* holder = to.layer;
    std::string written = to.prefix, rest = path;
    for (size_t dot; (dot = rest.find('.')) != std::string::npos; rest = rest.substr(dot + 1)) {
      const std::string name = rest.substr(0, dot);
      const FieldDescriptor* step = holder->GetDescriptor()->FindFieldByName(name);
      const auto* reflection = holder->GetReflection();
      if (!step->is_repeated()) {
        holder = reflection->MutableMessage(holder, step);
        written += name + ".";
        continue;
      }
      while (reflection->FieldSize(*holder, step) <= i) reflection->AddMessage(holder, step);
      holder = reflection->MutableRepeatedMessage(holder, step, i);
      to.places->Set(written + Element(name, i), place);
      written += Element(name, i) + ".";
    }
    const FieldDescriptor* target = holder->GetDescriptor()->FindFieldByName(rest);
    const int index = target->is_repeated() ? Count(*holder, *target) : 0;
    if (!CopyValue(from, field, i, holder, target)) return false;
    written += rest;
    if (index == 0) to.places->Set(written, place);
    if (target->is_repeated()) to.places->Set(written = Element(written, index), place);
    if (target->message_type() != nullptr) {
      NotePlaces(Nested(from, field, i), at.Nested(from, field.name(), i), written, to.places);
    }
  }
  return true;
}

}  // namespace doppio
