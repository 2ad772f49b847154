#include "core/net/contract/field_places.h"

#include <google/protobuf/descriptor.h>

#include <iterator>

namespace doppio {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using Tree = google::protobuf::TextFormat::ParseInfoTree;

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

}  // namespace doppio
