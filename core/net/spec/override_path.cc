#include "core/net/spec/override_path.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cctype>

#include "core/base/text/nearest.h"
#include "core/net/contract/layer.h"
#include "core/net/spec/fork_names.h"
#include "proto/net.pb.h"

namespace doppio {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Splits at every `separator` outside brackets.
std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (char c : text) {
    depth += (c == '[') - (c == ']');
    if (c == separator && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

const FieldDescriptor& FindField(const Descriptor& type, const std::string& name,
                                 const SourceLoc& at) {
  const FieldDescriptor* field = type.FindFieldByName(name);
  if (field != nullptr) return *field;
  std::string text = "unknown field '" + name + "' in " + type.name();
  const std::string fork = ForkHint(type.name(), name);
  if (!fork.empty()) throw UserError(at, text, ": ", fork);
  if (type.name() == "SolverParameter" && NetParameter::descriptor()->FindFieldByName(name)) {
    throw UserError(at, text, "; for the net's field, write net.", name);
  }
  std::vector<std::string> names;
  for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
  throw UserError(at, text, DidYouMean(name, names));
}

struct Condition {
  std::string key, value;
};

// Returns the conditions of "type=Data,phase=TRAIN" or "mnist,phase=TRAIN"; a part without '=' is a
// name. Returns no conditions for a selector without '=', which is a single name, index or "*".
std::vector<Condition> Conditions(const std::string& selector) {
  std::vector<Condition> conditions;
  if (selector.find('=') == std::string::npos) return conditions;
  for (const std::string& part : Split(selector, ',')) {
    const size_t equal = part.find('=');
    if (equal == std::string::npos) {
      conditions.push_back({"name", part});
    } else {
      conditions.push_back({part.substr(0, equal), part.substr(equal + 1)});
    }
  }
  return conditions;
}

bool IsIndex(const std::string& text) {
  return !text.empty() && text.size() < 7 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
}

// Returns true if `field` of `message`, or one of its elements, has the value `value`.
bool Reads(const Message& message, const FieldDescriptor& field, const std::string& value) {
  const auto* reflection = message.GetReflection();
  const int count = field.is_repeated() ? reflection->FieldSize(message, &field)
                                        : static_cast<int>(reflection->HasField(message, &field));
  for (int i = 0; i < count; ++i) {
    const int index = field.is_repeated() ? i : -1;
    std::string text, unused;
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_STRING) {
      google::protobuf::TextFormat::PrintFieldValueToString(message, &field, index, &text);
    } else if (field.is_repeated()) {
      text = reflection->GetRepeatedString(message, &field, i);
    } else {
      text = reflection->GetStringReference(message, &field, &unused);
    }
    if (text == value) return true;
  }
  return false;
}

bool Meets(const Message& element, const Condition& condition) {
  const Descriptor& type = *element.GetDescriptor();
  if (Reads(element, *type.FindFieldByName(condition.key), condition.value)) return true;
  // Layers are bound to a phase by their rules more often than by their own field.
  if (condition.key != "phase" || type.full_name() != LayerParameter::descriptor()->full_name()) {
    return false;
  }
  Phase phase;
  if (!Phase_Parse(condition.value, &phase)) return false;
  const auto& layer = static_cast<const LayerParameter&>(element);
  const auto any = [&](const auto& rules, bool same) {
    return std::any_of(rules.begin(), rules.end(), [&](const NetStateRule& rule) {
      return rule.has_phase() && (rule.phase() == phase) == same;
    });
  };
  return any(layer.include(), true) || any(layer.exclude(), false);
}

// Returns how many parameters a layer certainly has, as far as its text shows.
int SureParams(const LayerParameter& layer) {
  const LayerType* type = LayerTypes::Get().Find(layer.type());
  return type == nullptr || type->sure_params == nullptr ? 0 : type->sure_params(layer);
}

class Walker {
 public:
  Walker(const std::vector<PathStep>& steps, const Visit& visit, std::string* missing)
      : steps_(steps), visit_(visit), missing_(missing) {}

  void Walk(size_t i, Message* message, const std::string& path, bool sweeping) {
    const PathStep& step = steps_[i];
    const FieldDescriptor* field = step.field;
    const auto* reflection = message->GetReflection();
    const bool last = i + 1 == steps_.size();
    if (!step.selects) {
      if (last) return visit_(message, -1, path + field->name());
      if (sweeping && !reflection->HasField(*message, field)) return;
      return Walk(i + 1, reflection->MutableMessage(message, field), path + field->name() + ".",
                  sweeping);
    }
    const std::vector<Condition> conditions = Conditions(step.selector);
    const bool named =
        std::any_of(conditions.begin(), conditions.end(), [](const Condition& condition) {
          return condition.key == "type" || condition.key == "name";
        });
    const bool sweeps = sweeping || step.selector == "*" || (!conditions.empty() && !named);
    for (int index : Select(step, message, sweeping)) {
      const std::string here = path + field->name() + "[" + std::to_string(index) + "]";
      if (last) {
        visit_(message, index, here);
      } else {
        Walk(i + 1, reflection->MutableRepeatedMessage(message, field, index), here + ".", sweeps);
      }
    }
  }

 private:
  std::vector<int> Select(const PathStep& step, Message* message, bool sweeping) {
    const FieldDescriptor* field = step.field;
    const auto* reflection = message->GetReflection();
    const FieldDescriptor* name = field->message_type()->FindFieldByName("name");
    const std::vector<Condition> conditions = Conditions(step.selector);
    if (step.selector == "*") AddSureParams(step, message);
    const int count = reflection->FieldSize(*message, field);
    std::vector<int> chosen;
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) {
      const Message& element = reflection->GetRepeatedMessage(*message, field, i);
      if (name != nullptr) names.push_back(element.GetReflection()->GetString(element, name));
      bool fits = step.selector == "*" || (name != nullptr && names.back() == step.selector);
      if (!conditions.empty()) {
        fits = std::all_of(conditions.begin(), conditions.end(),
                           [&](const Condition& condition) { return Meets(element, condition); });
      }
      if (fits) chosen.push_back(i);
    }
    if (!chosen.empty()) return chosen;
    if (IsIndex(step.selector)) {
      const int index = std::stoi(step.selector);
      if (index < count || AddParams(step, message, index, sweeping)) return {index};
    }
    const std::string what = field->name();
    if (!conditions.empty() || step.selector == "*" || IsIndex(step.selector)) {
      *missing_ = "no " + what + "[" + step.selector + "]";
      if (field->message_type() == ParamSpec::descriptor() && step.selector == "*")
        *missing_ += "; name one by its number: param[0]";
    } else {
      *missing_ = "no " + what + " is '" + step.selector + "'" + DidYouMean(step.selector, names);
    }
    return {};
  }

  // Adds the elements of `param` that a layer has without them in its text.
  static void AddSureParams(const PathStep& step, Message* message) {
    if (step.field->message_type() != ParamSpec::descriptor()) return;
    auto* layer = static_cast<LayerParameter*>(message);
    while (layer->param_size() < SureParams(*layer)) layer->add_param();
  }

  bool AddParams(const PathStep& step, Message* message, int index, bool sweeping) {
    if (step.field->message_type() != ParamSpec::descriptor()) return false;
    constexpr int kMaxParams = 16;
    const int limit =
        sweeping ? SureParams(static_cast<const LayerParameter&>(*message)) : kMaxParams;
    if (index >= limit) return false;
    auto* layer = static_cast<LayerParameter*>(message);
    while (layer->param_size() <= index) layer->add_param();
    return true;
  }

  const std::vector<PathStep>& steps_;
  const Visit& visit_;
  std::string* missing_;
};

}  // namespace

std::vector<PathStep> ParsePath(const std::string& path, const Descriptor& root,
                                const SourceLoc& at) {
  std::vector<PathStep> steps;
  const Descriptor* type = &root;
  const std::vector<std::string> parts = Split(path, '.');
  for (size_t i = 0; i < parts.size(); ++i) {
    PathStep step;
    const size_t bracket = parts[i].find('[');
    const std::string name = parts[i].substr(0, bracket);
    if (bracket != std::string::npos) {
      if (parts[i].back() != ']') throw UserError(at, "'", parts[i], "' has no closing ']'");
      step.selects = true;
      step.selector = parts[i].substr(bracket + 1, parts[i].size() - bracket - 2);
    }
    if (type == nullptr) throw UserError(at, "'", parts[i - 1], "' has no fields of its own");
    step.field = &FindField(*type, name, at);
    type = step.field->message_type();
    if (step.selects && (!step.field->is_repeated() || type == nullptr)) {
      throw UserError(at, step.field->is_repeated()
                              ? "'" + name + "' can only be set as a whole: " + name + "=[1,2]"
                              : "'" + name + "' is not repeated: write it without [...]");
    }
    if (step.field->is_repeated() && !step.selects && i + 1 < parts.size() && type != nullptr) {
      throw UserError(at, "'", name, "' is repeated: say which, as in ", name, "[0], ", name,
                      "[*] or by its name");
    }
    for (const Condition& condition : Conditions(step.selector)) {
      FindField(*type, condition.key, at);
    }
    steps.push_back(step);
  }
  return steps;
}

void WalkPath(const std::vector<PathStep>& steps, Message* message, const Visit& visit,
              std::string* missing) {
  Walker(steps, visit, missing).Walk(0, message, "", false);
}

}  // namespace doppio
