#include "core/net/spec/overrides.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/stubs/strutil.h>

#include <set>

#include "core/net/spec/override_path.h"

namespace doppio {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

struct Override {
  enum Action { kReplace, kAppend, kClear };
  SourceLoc at;  // the option, "--set base_lr=0.1"
  Action action = kReplace;
  bool in_net = false;
  std::vector<PathStep> steps;
  // The new value, in a message of the type that contains the last step's field. If an element of
  // the field is selected, a message of the field's own type.
  std::unique_ptr<Message> value;

  bool tried = false;  // true after the override has been applied to a file
  int uses = 0;
  std::string missing;  // why the override changed nothing
  std::string note;     // see Overrides::Notes

  void Apply(Message* root, FieldPlaces* places);
};

namespace {

std::string Trim(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Returns the position of the first '=' outside brackets, or -1.
int FindEqual(const std::string& text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += (text[i] == '[') - (text[i] == ']');
    if (text[i] == '=' && depth == 0) return static_cast<int>(i);
  }
  return -1;
}

std::string Quoted(const std::string& text) {
  const bool has_quotes = text.size() > 1 && (text[0] == '"' || text[0] == '\'');
  return has_quotes ? text : "\"" + google::protobuf::CEscape(text) + "\"";
}

// Returns `value` in the syntax of a file.
std::string FileValue(const FieldDescriptor& field, const std::string& value) {
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_STRING) return value;
  if (!field.is_repeated() || value.empty() || value[0] != '[') return Quoted(value);
  if (value.find_first_of("\"'") != std::string::npos) return value;
  std::string list = "[";
  std::string rest = value.substr(1, value.size() - (value.back() == ']' ? 2 : 1));
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    list += (list.size() > 1 ? "," : "") + Quoted(Trim(rest.substr(0, comma)));
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
  }
  return list + "]";
}

std::unique_ptr<Message> NewMessage(const Descriptor& type) {
  auto* factory = google::protobuf::MessageFactory::generated_factory();
  return std::unique_ptr<Message>(factory->GetPrototype(&type)->New());
}

std::unique_ptr<Message> ParseValue(const PathStep& last, const std::string& value,
                                    const SourceLoc& at) {
  const FieldDescriptor& field = *last.field;
  if (field.is_repeated() && !last.selects && value == "[]") {
    return NewMessage(*field.containing_type());
  }
  auto holder = NewMessage(*field.containing_type());
  try {
    ParseText(field.name() + ": " + FileValue(field, value), at.file, holder.get());
  } catch (const ErrorList& mistakes) {
    throw UserError(at, mistakes.errors().front().message());
  } catch (const Error& mistake) {
    throw UserError(at, mistake.message());
  }
  std::vector<const FieldDescriptor*> fields;
  holder->GetReflection()->ListFields(*holder, &fields);
  const bool one_value = !last.selects || holder->GetReflection()->FieldSize(*holder, &field) == 1;
  if (fields.size() != 1 || !one_value) throw UserError(at, "expected one value");
  if (!last.selects) return holder;
  auto element = NewMessage(*field.message_type());
  element->CopyFrom(holder->GetReflection()->GetRepeatedMessage(*holder, &field, 0));
  return element;
}

void ParsePathOf(const std::string& path, Override* change) {
  constexpr char kNet[] = "net.";
  change->in_net = path.compare(0, 4, kNet) == 0;
  const Descriptor& root =
      change->in_net ? *NetParameter::descriptor() : *SolverParameter::descriptor();
  change->steps = ParsePath(change->in_net ? path.substr(4) : path, root, change->at);
}

std::shared_ptr<Override> ParseSet(const std::string& text) {
  auto change = std::make_shared<Override>();
  change->at.file = "--set " + text;
  const int equal = FindEqual(text);
  if (equal <= 0) throw UserError(change->at, "expected path=value, as in --set base_lr=0.05");
  const bool append = text[equal - 1] == '+';
  change->action = append ? Override::kAppend : Override::kReplace;
  ParsePathOf(Trim(text.substr(0, append ? equal - 1 : equal)), change.get());
  const PathStep& last = change->steps.back();
  if (append && (!last.field->is_repeated() || last.selects)) {
    throw UserError(change->at, "'", last.field->name(), "' has one value: use = instead of +=");
  }
  change->value = ParseValue(last, Trim(text.substr(equal + 1)), change->at);
  return change;
}

std::shared_ptr<Override> ParseUnset(const std::string& text) {
  auto change = std::make_shared<Override>();
  change->at.file = "--unset " + text;
  change->action = Override::kClear;
  ParsePathOf(Trim(text), change.get());
  if (change->steps.back().selects) {
    throw UserError(change->at, "only a whole field can be unset, not one of its elements");
  }
  return change;
}

// Returns true if `step` selects layers by name alone. The user then expects one layer.
bool NamesLayer(const PathStep& step) {
  return step.selects && step.field->message_type() == LayerParameter::descriptor() &&
         step.selector != "*" && step.selector.find('=') == std::string::npos;
}

// Returns "mnist (TRAIN)".
std::string NameAndPhase(const LayerParameter& layer) {
  std::string text = layer.name();
  if (layer.has_phase()) return text + " (" + Phase_Name(layer.phase()) + ")";
  for (const NetStateRule& rule : layer.include()) {
    if (rule.has_phase()) return text + " (" + Phase_Name(rule.phase()) + ")";
  }
  return text;
}

// Returns "2 layers changed: mnist (TRAIN), mnist (TEST); ...", or "" if only one layer changed.
std::string ChangedLayersNote(const NetParameter& net, const std::set<int>& layers,
                              const std::string& name) {
  if (layers.size() < 2) return "";
  std::string list;
  for (const int i : layers) list += (list.empty() ? "" : ", ") + NameAndPhase(net.layer(i));
  return StrCat(layers.size(), " layers changed: ", list, "; net.layer[", name,
                ",phase=TRAIN] chooses one");
}

}  // namespace

void Override::Apply(Message* root, FieldPlaces* places) {
  tried = true;
  std::set<int> layers;  // changed layers, if the path begins with a layer's name
  const bool named = NamesLayer(steps.front());
  const FieldDescriptor* field = steps.back().field;
  const Visit change = [&](Message* message, int index, const std::string& path) {
    const auto* reflection = message->GetReflection();
    if (index >= 0) {
      reflection->MutableRepeatedMessage(message, field, index)->CopyFrom(*value);
    } else {
      if (action != kAppend) reflection->ClearField(message, field);
      if (action != kClear) message->MergeFrom(*value);
    }
    ++uses;
    if (named) layers.insert(std::stoi(path.substr(path.find('[') + 1)));
    if (places != nullptr) places->Override(path, at);
  };
  WalkPath(steps, root, change, &missing);
  if (named && note.empty())
    note =
        ChangedLayersNote(static_cast<const NetParameter&>(*root), layers, steps.front().selector);
}

void Overrides::ApplyToSolver(SolverParameter* solver, FieldPlaces* places) const {
  for (const auto& change : list_) {
    if (!change->in_net) change->Apply(solver, places);
  }
}

void Overrides::ApplyToNet(NetParameter* net, FieldPlaces* places) const {
  for (const auto& change : list_) {
    if (change->in_net) change->Apply(net, places);
  }
}

void Overrides::CheckAllUsed() const {
  ErrorCollector mistakes;
  for (const auto& change : list_) {
    if (change->uses > 0) continue;
    if (!change->tried) {
      mistakes.Add(change->at, change->in_net ? "this command reads no net"
                                              : "this command reads no solver; paths into "
                                                "the net start with net.");
    } else {
      mistakes.Add(change->at, change->missing.empty() ? "no layer has a field that it changes"
                                                       : change->missing);
    }
  }
  mistakes.ThrowIfAny();
}

std::vector<Warning> Overrides::Notes() const {
  std::vector<Warning> notes;
  for (const auto& change : list_) {
    if (!change->note.empty()) notes.push_back({change->at, change->note});
  }
  return notes;
}

Overrides ParseOverrides(const std::vector<std::string>& sets,
                         const std::vector<std::string>& unsets) {
  Overrides overrides;
  ErrorCollector mistakes;
  for (const std::string& text : sets) {
    mistakes.Try([&] { overrides.list_.push_back(ParseSet(text)); });
  }
  for (const std::string& text : unsets) {
    mistakes.Try([&] { overrides.list_.push_back(ParseUnset(text)); });
  }
  mistakes.ThrowIfAny();
  return overrides;
}

}  // namespace doppio
