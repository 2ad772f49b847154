// `reference`: prints all layers and all fields of nets and solvers as Markdown, which is the
// second part of docs/reference.md, or the page docs/combinations.md.
#include <algorithm>
#include <cctype>
#include <iostream>
#include <map>

#include "core/base/file.h"
#include "core/net/contract/layer.h"
#include "proto/net.pb.h"
#include "proto/solver.pb.h"
#include "solvers/update/lr_policy.h"
#include "tools/cli/command.h"
#include "tools/cli/word_list.h"
#include "tools/commands/combinations_page.h"
#include "tools/help/field_notes.h"
#include "tools/help/field_table.h"
#include "tools/onnx/onnx_layer.h"

namespace doppio {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

std::vector<std::string> TypesOfLayers() {
  std::vector<std::string> types = LayerTypes::Get().Names();
  // Adds the type in builds without Python, so that the page does not depend on the build.
  if (!Contains(types, "Python")) types.push_back("Python");
  std::sort(types.begin(), types.end());
  return types;
}

std::string Cell(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return text;
}

std::string Code(const std::string& text) { return text.empty() ? "" : "`" + text + "`"; }

// Returns a link to a heading, with the anchor that GitHub generates.
std::string LinkTo(const std::string& text, const std::string& heading) {
  std::string address;
  for (char c : heading) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-') address += Lower(c);
  }
  return "[" + text + "](#" + address + ")";
}

// Writes the page. Records the messages that it links to, so that each of them gets a table.
class Page {
 public:
  explicit Page(std::ostream& out) : out_(out) {}

  void Print() {
    out_ << "# Reference of fields\n\n"
            "Every field of layers, nets and solvers: its type, default and meaning. `doppio "
            "reference` "
            "prints this text\nfrom the program's own tables, and a test compares them; `doppio "
            "help "
            "Convolution` shows one layer.\n[prototxt.md](prototxt.md), [data.md](data.md) and "
            "[solvers.md](solvers.md) describe how fields work together.\n\n"
            "Names of forks in parentheses say where a field comes from. \"Without effect\" means "
            "that it is read, and warned about "
            "if it has\nanother value than its default.\n\n"
            "* [Index of layers](#index-of-layers) · [Fields of every "
            "layer](#fields-of-every-layer) "
            "· [Parameters of layers](#parameters-of-layers)\n"
            "* [Net](#net) · [Solver](#solver) · [Messages inside of "
            "others](#messages-inside-of-others)\n";
    PrintLayers();
    out_ << "\n## Fields of every layer\n";
    Table(*LayerParameter::descriptor(), /*common=*/true);
    PrintParameters();
    out_ << "\n## Net\n\nThe root of a net's file.\n";
    Table(*NetParameter::descriptor());
    out_ << "\n## Solver\n\nThe root of a solver's file. `lr_policy` is " << List(LrPolicyNames())
         << "; formulas are in [solvers.md](solvers.md).\n";
    Table(*SolverParameter::descriptor());
    PrintNested();
  }

 private:
  void PrintLayers() {
    out_ << "\n## Index of layers\n\nThe messages with a layer's own fields, and the ONNX "
            "operators that `doppio export` writes for the layer.\n\n"
            "| layer | bottoms → tops | parameters | ONNX |\n|---|---|---|---|\n";
    for (const std::string& type : TypesOfLayers()) {
      std::string parameters;
      for (const FieldDescriptor* field : ParametersOf(type)) {
        parameters += (parameters.empty() ? "" : ", ") + LinkTo(Code(field->name()), field->name());
        types_[field->name()].push_back(type);
      }
      const OnnxMapping* mapping = FindOnnxMapping(type);
      out_ << "| " << Code(type) << " | " << ArityOf(type) << " | " << parameters << " | "
           << (mapping == nullptr ? "" : Cell(mapping->words)) << " |\n";
    }
  }

  void PrintParameters() {
    out_ << "\n## Parameters of layers\n";
    for (const auto& [name, types] : types_) {
      out_ << "\n### " << name << "\n\nUsed by " << List(types) << ".\n";
      Table(*LayerParameter::descriptor()->FindFieldByName(name)->message_type());
    }
  }

  void PrintNested() {
    out_ << "\n## Messages inside of others\n";
    // Table() may append further messages to nested_, which would invalidate a range's iterators.
    size_t printed = 0;
    while (printed < nested_.size()) {
      const Descriptor& message = *nested_[printed++];
      const auto note = FieldNotes().find(message.name());
      out_ << "\n### " << message.name() << '\n';
      if (note != FieldNotes().end() && !note->second.empty()) out_ << "\n" << note->second << '\n';
      Table(message);
    }
  }

  void Table(const Descriptor& message, bool common = false) {
    out_ << "\n| field | takes | default | meaning |\n|---|---|---|---|\n";
    for (int i = 0; i < message.field_count(); ++i) {
      const FieldDescriptor& field = *message.field(i);
      if (common && EndsWith(field.name(), "_param")) continue;
      const FieldRow row = RowOf(field);
      out_ << "| " << Code(row.name) << " | " << TypeCell(row, field) << " | "
           << Code(row.default_value) << " | " << Cell(row.meaning) << " |\n";
    }
  }

  std::string TypeCell(const FieldRow& row, const FieldDescriptor& field) {
    const Descriptor* message = row.message;
    const std::string& full = message == nullptr ? "" : message->name();
    if (message == nullptr || IsUndocumented(*message)) return row.type;
    // Nets and layers have their own sections.
    if (full == "NetParameter" || full == "LayerParameter") {
      return row.type.substr(0, row.type.size() - full.size()) +
             LinkTo(full, full == "NetParameter" ? "Net" : "Fields-of-every-layer");
    }
    // A field without effect needs no table.
    const bool known = Contains(nested_, message);
    if (EndsWith(row.meaning, "without effect") && !known) return row.type;
    const bool of_layer =
        field.containing_type()->name() == "LayerParameter" && EndsWith(field.name(), "_param");
    if (!of_layer && !known) nested_.push_back(message);
    return row.type.substr(0, row.type.size() - full.size()) + LinkTo(full, full);
  }

  static std::string List(const std::vector<std::string>& names) {
    std::string list;
    for (const std::string& name : names)
      list += (list.empty() ? "" : name == names.back() ? " and " : ", ") + name;
    return list;
  }

  std::ostream& out_;
  // Layer types, by the field of LayerParameter that they use.
  std::map<std::string, std::vector<std::string>> types_;
  std::vector<const Descriptor*> nested_;
};

ExitCode RunReference(const CommandLine& line, bool*) {
  if (line.files.empty()) {
    Page(std::cout).Print();
  } else if (line.files[0] == "combinations") {
    PrintCombinations(std::cout);
  } else {
    throw UsageError(
        "'reference' prints all fields, and 'reference combinations' the table of features, not '" +
        line.files[0] + "'");
  }
  return ExitCode::kDone;
}

DOPPIO_REGISTER(Commands, "reference",
                {"prints every layer and field of nets and solvers, as Markdown",
                 {},
                 {},
                 "[combinations]",
                 "doppio reference >reference.md",
                 &RunReference});

}  // namespace
}  // namespace doppio
