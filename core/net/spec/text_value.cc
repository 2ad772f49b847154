#include "core/net/spec/text_value.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <vector>

#include "core/base/text/nearest.h"
#include "core/net/contract/layer.h"
#include "core/net/spec/fork_names.h"
#include "core/net/spec/upgrade.h"
#include "proto/net.pb.h"

namespace doppio {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::io::Tokenizer;

constexpr int kMaxNames = 12;  // names of an enum listed in a message

template <class T>
uint64_t Max() {
  return static_cast<uint64_t>(std::numeric_limits<T>::max());
}

// Returns the largest value of an integer field. The smallest value of a signed field is -Largest()
// - 1.
uint64_t Largest(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      return Max<uint32_t>();
    case FieldDescriptor::CPPTYPE_UINT64:
      return Max<uint64_t>();
    case FieldDescriptor::CPPTYPE_INT64:
      return Max<int64_t>();
    default:
      return Max<int32_t>();
  }
}

bool IsUnsigned(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32 ||
         field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64;
}

std::string Got(const Token& token, bool negative) {
  if (token.type == Tokenizer::TYPE_END) return ", got the end of the file";
  return ", got " + std::string(negative ? "-" : "") + token.text;
}

std::string WrongInteger(const FieldDescriptor& field, bool negative, const Token& token) {
  if (token.type != Tokenizer::TYPE_INTEGER || (negative && IsUnsigned(field))) {
    return Needs(field) + Got(token, negative);
  }
  const uint64_t largest = Largest(field);
  uint64_t value;
  if (Tokenizer::ParseInteger(token.text, negative ? largest + 1 : largest, &value)) return "";
  return StrCat(field.name(), " must be at ", negative ? "least -" : "most ",
                negative ? largest + 1 : largest, Got(token, negative));
}

std::string WrongNumber(const FieldDescriptor& field, bool negative, const Token& token) {
  if (token.type == Tokenizer::TYPE_FLOAT) return "";
  const std::string& text = token.text;
  if (token.type == Tokenizer::TYPE_INTEGER) {
    const bool decimal = text.size() == 1 || text[0] != '0';
    return decimal ? "" : field.name() + " must be a decimal number" + Got(token, negative);
  }
  if (token.type == Tokenizer::TYPE_IDENTIFIER) {
    std::string lower = text;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (lower == "inf" || lower == "infinity" || lower == "nan") return "";
  }
  return Needs(field) + Got(token, negative);
}

std::string WrongBool(const FieldDescriptor& field, bool negative, const Token& token) {
  if (!negative && token.type == Tokenizer::TYPE_INTEGER) {
    uint64_t value;
    if (Tokenizer::ParseInteger(token.text, 1, &value)) return "";
  }
  for (const char* name : {"true", "True", "t", "false", "False", "f"}) {
    if (!negative && token.text == name) return "";
  }
  return Needs(field) + Got(token, negative);
}

// Returns advice if a layer's type is one of the other format, layer { } or layers { }; else "".
std::string OtherFormat(const FieldDescriptor& field, const Token& token) {
  V1LayerParameter::LayerType old;
  const auto is_old = [&](const std::string& name) {
    return V1LayerParameter::LayerType_Parse(name, &old) && old != V1LayerParameter::NONE;
  };
  if (field.name() != "type") return "";
  if (field.containing_type() == LayerParameter::descriptor() && is_old(token.text))
    return ": this is a type of layers { }; write type: \"" + TypeName(old) + "\" here";
  if (field.containing_type() != V1LayerParameter::descriptor()) return "";
  const bool quoted = token.type == Tokenizer::TYPE_STRING;
  const std::string name = quoted ? token.text.substr(1, token.text.size() - 2) : token.text;
  const bool current = quoted ? !is_old(name) : LayerTypes::Get().Find(name) != nullptr;
  return current ? ": this is a type of layer { }; write layer instead of layers here" +
                       std::string(quoted ? "" : ", and the type in quotes")
                 : "";
}

std::string WrongEnum(const FieldDescriptor& field, bool negative, const Token& token) {
  const EnumDescriptor& type = *field.enum_type();
  if (token.type == Tokenizer::TYPE_INTEGER) {
    uint64_t number;
    const uint64_t largest = Max<int32_t>() + (negative ? 1 : 0);
    if (Tokenizer::ParseInteger(token.text, largest, &number)) {
      const int64_t value = negative ? -static_cast<int64_t>(number) : static_cast<int64_t>(number);
      if (type.FindValueByNumber(static_cast<int>(value)) != nullptr) return "";
    }
  } else if (token.type != Tokenizer::TYPE_IDENTIFIER || negative) {
    const bool quoted = token.type == Tokenizer::TYPE_STRING;
    const std::string other = OtherFormat(field, token);
    return Needs(field) + Got(token, negative) +
           (other.empty() && quoted ? ": write it without quotes" : other);
  } else if (type.FindValueByName(token.text) != nullptr) {
    return "";
  }
  std::vector<std::string> names;
  std::string list;
  for (int i = 0; i < type.value_count(); ++i) {
    names.push_back(type.value(i)->name());
    if (i < kMaxNames) list += (i == 0 ? "" : ", ") + names.back();
  }
  if (type.value_count() > kMaxNames) list += ", ...";
  const std::string other = OtherFormat(field, token);
  const std::string wrong = "'" + std::string(negative ? "-" : "") + token.text +
                            "' is not a value of " + field.name() + " (" + list + ")";
  if (!other.empty()) return wrong + other;
  const std::string fork =
      ForkHint(field.containing_type()->name(), field.name() + "=" + token.text);
  return fork.empty() ? wrong + DidYouMean(token.text, names) : wrong + ": " + fork;
}

}  // namespace

std::string Needs(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64:
      return field.name() + " must be a non-negative integer";
    case FieldDescriptor::CPPTYPE_INT32:
    case FieldDescriptor::CPPTYPE_INT64:
      return field.name() + " must be an integer";
    case FieldDescriptor::CPPTYPE_FLOAT:
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return field.name() + " must be a number";
    case FieldDescriptor::CPPTYPE_BOOL:
      return field.name() + " must be true or false";
    case FieldDescriptor::CPPTYPE_STRING:
      return field.name() + " must be a string in quotes";
    case FieldDescriptor::CPPTYPE_ENUM:
      return field.name() + " must be a name";
    default:
      return field.name() + " must be a message";
  }
}

std::string ParamOfOtherFormat(const FieldDescriptor& field) {
  if (field.name() != "param") return "";
  if (field.containing_type() == V1LayerParameter::descriptor()) {
    return ": layers { } has blobs_lr and weight_decay instead; write layer instead of layers "
           "here, "
           "and its type in quotes";
  }
  return field.containing_type() == LayerParameter::descriptor()
             ? ": a name of a parameter is param { name: \"...\" } in layer { }"
             : "";
}

std::string WrongValue(const FieldDescriptor& field, bool negative, const Token& token) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_FLOAT:
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return WrongNumber(field, negative, token);
    case FieldDescriptor::CPPTYPE_BOOL:
      return WrongBool(field, negative, token);
    case FieldDescriptor::CPPTYPE_ENUM:
      return WrongEnum(field, negative, token);
    case FieldDescriptor::CPPTYPE_STRING:
      if (token.type == Tokenizer::TYPE_STRING && !negative) return "";
      return Needs(field) + Got(token, negative) + OtherFormat(field, token);
    default:
      return WrongInteger(field, negative, token);
  }
}

}  // namespace doppio
