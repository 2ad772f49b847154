#include "core/net/spec/prototxt.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>

#include <iterator>

#include "core/base/content/content_kind.h"
#include "core/base/file.h"
#include "core/base/content/text_file.h"
#include "core/net/spec/text_check.h"

namespace doppio {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using Tree = google::protobuf::TextFormat::ParseInfoTree;

// Collects errors of the parser. CheckText should have found all errors before.
class ParserErrors : public google::protobuf::io::ErrorCollector {
 public:
  ParserErrors(const std::string& file, doppio::ErrorCollector* mistakes)
      : file_(file), mistakes_(mistakes) {}
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    mistakes_->Add(SourceLoc{file_, line + 1, column + 1}, message);
  }

 private:
  const std::string file_;
  doppio::ErrorCollector* mistakes_;
};

struct PathPart {
  std::string name;
  int index = 0;
  std::string rest;  // the part after the dot
};

PathPart FirstPart(const std::string& path) {
  const size_t dot = path.find('.');
  PathPart part{path.substr(0, dot), 0, dot == std::string::npos ? "" : path.substr(dot + 1)};
  const size_t bracket = part.name.find('[');
  if (bracket != std::string::npos) {
    part.index = std::stoi(part.name.substr(bracket + 1));
    part.name.resize(bracket);
  }
  return part;
}

// Finds the place of a field. Returns false if the field is not in the file. All elements of a list
// in brackets have the place of the list's field.
bool FindPlace(const std::string& file, const Tree& tree, const FieldDescriptor& field, int index,
               SourceLoc* at) {
  for (int i = field.is_repeated() ? index : -1;; --i) {
    const auto location = tree.GetLocation(&field, i);
    if (location.line >= 0) {
      *at = {file, location.line + 1, location.column + 1};
      return true;
    }
    if (i <= 0) return false;
  }
}

}  // namespace

SourceLoc FieldPlaces::At(const std::string& path, int index) const {
  SourceLoc at = whole_;
  if (file_ == nullptr) return at;
  if (!file_->known.empty() && !path.empty()) {
    const auto element = file_->known.find(prefix_ + path + "[" + std::to_string(index) + "]");
    if (element != file_->known.end()) return element->second;
    // A field without a known place has the place of the enclosing message.
    for (size_t end = path.size(); end != 0 && end != std::string::npos;
         end = path.rfind('.', end - 1)) {
      const auto found = file_->known.find(prefix_ + path.substr(0, end));
      if (found != file_->known.end()) return found->second;
    }
  }
  const Tree* tree = tree_;
  const Descriptor* type = type_;
  for (std::string rest = path; !rest.empty() && tree != nullptr && type != nullptr;) {
    const PathPart part = FirstPart(rest);
    const FieldDescriptor* field = type->FindFieldByName(part.name);
    if (field == nullptr) break;  // an imprecise place is better than none
    const bool last = part.rest.empty();
    const int here = last && part.index == 0 ? index : part.index;
    if (!FindPlace(file_->name, *tree, *field, here, &at) || last) break;
    type = field->message_type();
    tree = tree->GetTreeForNested(field, field->is_repeated() ? here : -1);
    rest = part.rest;
  }
  return at;
}

FieldPlaces FieldPlaces::Nested(const google::protobuf::Message& message, const std::string& field,
                                int index) const {
  const FieldDescriptor* descriptor = message.GetDescriptor()->FindFieldByName(field);
  DOPPIO_CHECK(descriptor != nullptr && descriptor->message_type() != nullptr,
               "no message " + field + " in " + message.GetDescriptor()->name());
  FieldPlaces nested(At(field, index));
  nested.file_ = file_;
  nested.type_ = descriptor->message_type();
  nested.prefix_ = prefix_ + field;
  if (descriptor->is_repeated()) nested.prefix_ += "[" + std::to_string(index) + "]";
  nested.prefix_ += ".";
  if (tree_ != nullptr) {
    nested.tree_ = tree_->GetTreeForNested(descriptor, descriptor->is_repeated() ? index : -1);
  }
  return nested;
}

void FieldPlaces::Set(const std::string& path, const SourceLoc& at) {
  if (file_ == nullptr) file_ = std::make_shared<File>();
  file_->known[prefix_ + path] = at;
}

void FieldPlaces::Override(const std::string& path, const SourceLoc& at) {
  Set(path, at);
  const std::string whole = prefix_ + path;
  auto inside = file_->known.upper_bound(whole);
  while (inside != file_->known.end() && inside->first.compare(0, whole.size(), whole) == 0) {
    const char next = inside->first[whole.size()];
    inside = next == '.' || next == '[' ? file_->known.erase(inside) : std::next(inside);
  }
}

FieldPlaces ParseText(const std::string& text, const std::string& file,
                      google::protobuf::Message* message) {
  const std::string content = WithoutByteOrderMark(text);
  if (KindOfContent(content) != ContentKind::kText) {
    const std::string what = DescribeContent(content);
    throw UserError(SourceLoc{file, 0, 0},
                    what.empty()
                        ? "this is not text; a net or solver in text format is needed here; "
                          "pass weights with --weights or --snapshot"
                        : "a net or solver in text format is needed here, but " + what);
  }
  doppio::ErrorCollector mistakes;
  CheckText(content, file, *message->GetDescriptor(), &mistakes);
  mistakes.ThrowIfAny();

  FieldPlaces places(SourceLoc{file, 0, 0});
  places.file_ = std::make_shared<FieldPlaces::File>();
  places.file_->name = file;
  places.tree_ = &places.file_->tree;
  places.type_ = message->GetDescriptor();
  ParserErrors errors(file, &mistakes);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.WriteLocationsTo(&places.file_->tree);
  const bool parsed = parser.ParseFromString(content, message);
  mistakes.ThrowIfAny();
  DOPPIO_CHECK(parsed, "protobuf rejects " + file + " without a reason");
  return places;
}

FieldPlaces ParseTextFile(const std::string& path, google::protobuf::Message* message) {
  CheckExists(path);
  return ParseText(ReadFile(path), path, message);
}

std::string ToPrototxt(const google::protobuf::Message& message, int indent) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseUtf8StringEscaping(true);
  printer.SetInitialIndentLevel(indent);
  std::string text;
  DOPPIO_CHECK(printer.PrintToString(message, &text), "protobuf cannot print a message");
  return text;
}

}  // namespace doppio
