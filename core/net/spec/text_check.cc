#include "core/net/spec/text_check.h"

#include <algorithm>
#include <map>
#include <vector>

#include "core/base/nearest.h"
#include "core/net/spec/fork_names.h"
#include "core/net/spec/text_tokens.h"
#include "core/net/spec/text_value.h"
#include "proto/net.pb.h"
#include "proto/solver.pb.h"

namespace doppio {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::io::Tokenizer;

bool IsMessage(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
}

// Returns "net" or "solver" if a file with top-level field `name` is of that kind but is read as
// the other one; else null.
const char* FindKind(const Descriptor& read_as, const std::string& name) {
  const bool as_net = &read_as == NetParameter::descriptor();
  const bool as_solver = &read_as == SolverParameter::descriptor();
  if (as_solver && NetParameter::descriptor()->FindFieldByName(name)) return "net";
  if (as_net && SolverParameter::descriptor()->FindFieldByName(name)) return "solver";
  return nullptr;
}

bool Opens(const Token& token) {
  return token.text == "{" || token.text == "<" || token.text == "[";
}

bool Closes(const Token& token) {
  return token.text == "}" || token.text == ">" || token.text == "]";
}

constexpr size_t kMaxMistakes = 1000;

// A recursive descent over the tokens. Each function leaves the position after the text that it has
// handled, right or wrong. The recursion depth is limited by the nesting of the message types, none
// of which contains itself.
class Checker {
 public:
  Checker(std::vector<Token> tokens, const std::string& file, ErrorCollector* mistakes)
      : tokens_(std::move(tokens)), file_(file), mistakes_(mistakes) {
    for (const Token& token : tokens_) missing_closings_ += Opens(token) - Closes(token);
  }

  void Run(const Descriptor& root) { Message(root, nullptr); }

 private:
  const Token& Here() const { return tokens_[at_]; }
  const Token& Next() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  bool AtEnd() const { return Here().type == Tokenizer::TYPE_END; }
  bool Is(const char* text) const { return Here().text == text; }
  bool Take(const char* text) {
    if (!Is(text)) return false;
    ++at_;
    return true;
  }
  // Limits the number of mistakes: a file may have a mistake in every word, and most mistakes cost
  // a search for similar names.
  void Add(const Token& token, const std::string& message) {
    mistakes_->Add(PlaceOf(token, file_), message);
    if (mistakes_->errors().size() < kMaxMistakes) return;
    mistakes_->Add(PlaceOf(token, file_), "the rest of the file is not checked: there are " +
                                              std::to_string(mistakes_->errors().size()) +
                                              " mistakes");
    mistakes_->ThrowIfAny();
  }
  std::string Found() const { return AtEnd() ? "the end of the file" : "'" + Here().text + "'"; }
  // Returns true if the current token is the name of a field, and so not a value of the field
  // before it.
  bool LooksLikeField() const {
    return Here().type == Tokenizer::TYPE_IDENTIFIER &&
           (Next().text == ":" || Next().text == "{" || Next().text == "<");
  }

  // Reads the fields of a message up to the token that closes the message. `opening` is null for
  // the file itself.
  void Message(const Descriptor& type, const Token* opening) {
    const size_t depth = open_.size();
    open_.push_back(&type);
    std::map<const FieldDescriptor*, int> seen;
    for (;;) {
      if (AtEnd()) {
        if (opening != nullptr) Add(*opening, "this '" + opening->text + "' is never closed");
        break;
      }
      if (Is("}") || Is(">")) {
        if (Close(type, opening)) break;
        continue;
      }
      Field(type, &seen);
      if (leave_to_ < depth) break;
      leave_to_ = kStay;
    }
    open_.pop_back();
  }

  // Handles '}' or '>'. Returns true if the token ends the message.
  bool Close(const Descriptor& type, const Token* opening) {
    const Token& closing = tokens_[at_++];
    if (opening == nullptr) {
      Add(closing, "this '" + closing.text + "' closes nothing; remove it");
      return false;
    }
    const std::string wanted = opening->text == "<" ? ">" : "}";
    if (closing.text != wanted) {
      Add(closing, "expected '" + wanted + "' to close the '" + opening->text + "' of line " +
                       std::to_string(opening->line + 1) + ", got '" + closing.text + "'");
    }
    closed_ = &type;
    closed_line_ = closing.line + 1;
    return true;
  }

  void Field(const Descriptor& type, std::map<const FieldDescriptor*, int>* seen) {
    const Token& name = Here();
    if (name.type != Tokenizer::TYPE_IDENTIFIER) {
      Add(name, "expected a field name of " + type.name() + ", got " + Found());
      while (!AtEnd() && !LooksLikeField() && !Is("}") && !Is(">")) ++at_;
      return;
    }
    const FieldDescriptor* field = type.FindFieldByName(name.text);
    if (field == nullptr) return Unknown(type, name);
    ++at_;
    if (!field->is_repeated()) {
      const auto first = seen->emplace(field, name.line + 1);
      if (!first.second) {
        Add(name, "'" + name.text + "' is given twice; the first is at line " +
                      std::to_string(first.first->second));
      }
    }
    const bool colon = Take(":");
    if (!IsMessage(*field) && (LooksLikeField() || Closes(Here()) || AtEnd())) {
      Add(name, "'" + name.text + "' has no value");
    } else {
      if (!colon && !IsMessage(*field) && !Opens(Here())) {
        Add(Here(), "missing ':' between '" + name.text + "' and its value");
      }
      if (Is("[") && field->is_repeated()) {
        List(*field);
      } else {
        Value(*field);
      }
    }
    if (!Take(";")) Take(",");
  }

  // Handles a field that `type` does not have. The field may belong to an enclosing message that
  // should have been closed before it. If the file has too few closing brackets, reports a missing
  // one here.
  void Unknown(const Descriptor& type, const Token& name) {
    std::string text = "unknown field '" + name.text + "' in " + type.name();
    const std::string fork = ForkHint(type.name(), name.text);
    size_t owner = open_.size();
    while (owner > 0 && open_[owner - 1]->FindFieldByName(name.text) == nullptr) --owner;
    if (!fork.empty()) {
      Add(name, text + ": " + fork);
    } else if (owner > 0) {
      const FieldDescriptor& field = *open_[owner - 1]->FindFieldByName(name.text);
      const int levels = static_cast<int>(open_.size() - owner);
      if (IsMessage(field) && missing_closings_ >= levels) {
        missing_closings_ -= levels;
        leave_to_ = owner - 1;
        Add(name, "missing '}' before '" + name.text + "', which is a field of " +
                      field.containing_type()->name() + ", not of " + type.name());
        return;
      }
      Add(name, text + "; " + open_[owner - 1]->name() + " around it has one");
    } else if (closed_ != nullptr && closed_->FindFieldByName(name.text) != nullptr) {
      Add(name, text + "; " + closed_->name() + ", closed at line " + std::to_string(closed_line_) +
                    ", has one");
    } else if (open_.size() == 1 && FindKind(type, name.text) != nullptr) {
      Add(name, text + "; is this file a " + FindKind(type, name.text) + "?");
    } else {
      std::vector<std::string> names;
      for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
      Add(name, text + DidYouMean(name.text, names));
    }
    ++at_;
    Take(":");
    if (!LooksLikeField()) SkipValue();
    if (!Take(";")) Take(",");
  }

  void List(const FieldDescriptor& field) {
    const Token& opening = tokens_[at_++];
    if (Take("]")) return;
    for (;;) {
      Value(field);
      if (leave_to_ != kStay || Take("]")) return;
      if (Take(",")) continue;
      Add(Here(), "expected ',' or ']' in the list of line " + std::to_string(opening.line + 1) +
                      ", got " + Found());
      while (!AtEnd() && !Is("]") && !Is("}") && !LooksLikeField()) {
        if (Opens(Here())) {
          SkipValue();
        } else {
          ++at_;
        }
      }
      Take("]");
      return;
    }
  }

  void Value(const FieldDescriptor& field) {
    if (IsMessage(field)) {
      if (Is("{") || Is("<")) {
        const Token& opening = tokens_[at_++];
        return Message(*field.message_type(), &opening);
      }
      Add(Here(), "'" + field.name() + "' is a message: expected '{', got " + Found());
    } else if (Opens(Here())) {
      Add(Here(), Wants(field) + (Is("[") ? ", got a list" : ", got a message"));
    } else {
      const bool negative = Is("-");
      const std::string wrong = WrongValue(field, negative, negative ? Next() : Here());
      if (!wrong.empty()) Add(Here(), wrong);
    }
    if (!LooksLikeField()) SkipValue();
  }

  // Skips a value of any kind, but not the token that closes the enclosing message.
  void SkipValue() {
    Take("-");
    if (Here().type == Tokenizer::TYPE_STRING) {
      while (Here().type == Tokenizer::TYPE_STRING) ++at_;
    } else if (Opens(Here())) {
      const Token& opening = Here();
      int depth = 0;
      do {
        depth += Opens(Here()) - Closes(Here());
        ++at_;
      } while (depth > 0 && !AtEnd());
      if (depth > 0) Add(opening, "this '" + opening.text + "' is never closed");
    } else if (!AtEnd() && !Closes(Here()) && !Is(",") && !Is(";")) {
      ++at_;
    }
  }

  static constexpr size_t kStay = -1;

  const std::vector<Token> tokens_;
  const std::string file_;
  ErrorCollector* mistakes_;
  size_t at_ = 0;
  int missing_closings_ = 0;             // in the whole file, minus those already reported
  std::vector<const Descriptor*> open_;  // the messages around the current token
  size_t leave_to_ = kStay;              // close messages until open_[leave_to_] is the innermost
  const Descriptor* closed_ = nullptr;   // the message closed last
  int closed_line_ = 0;
};

}  // namespace

void CheckText(const std::string& text, const std::string& file, const Descriptor& root,
               ErrorCollector* mistakes) {
  Checker(Tokenize(text, file, mistakes), file, mistakes).Run(root);
}

}  // namespace doppio
