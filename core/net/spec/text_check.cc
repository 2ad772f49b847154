#include "core/net/spec/text_check.h"

#include <map>
#include <vector>

#include "core/base/text/nearest.h"
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

// A recursive descent over the tokens. Each function leaves the position after the text that it has
// handled, right or wrong. The recursion depth is limited by the nesting of the message types, none
// of which contains itself.
class Checker {
 public:
  // Reads all tokens twice: messages depend on the number of brackets that the whole file lacks.
  Checker(const std::string& text, const std::string& file, ErrorCollector* mistakes)
      : file_(file), mistakes_(mistakes), tokens_(text, file_, &known_) {
    for (TokenReader all(text, file_, mistakes); !all.AtEnd();) {
      const Token token = all.Take();
      missing_closings_ += Opens(token) - Closes(token);
    }
    if (mistakes->full()) mistakes->ThrowIfAny();
  }

  void Run(const Descriptor& root) { Message(root, nullptr); }

 private:
  const Token& Here() const { return tokens_.here(); }
  const Token& Next() const { return tokens_.next(); }
  bool AtEnd() const { return tokens_.AtEnd(); }
  bool Is(const char* text) const { return Here().text == text; }
  bool Take(const char* text) {
    if (!Is(text)) return false;
    tokens_.Take();
    return true;
  }
  // Stops when the list is full: a file may have a mistake in every word, and most mistakes cost a
  // search for similar names.
  void Add(const Token& token, const std::string& message) {
    mistakes_->Add(PlaceOf(token, file_), message);
    if (mistakes_->full()) mistakes_->ThrowIfAny();
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
    const Token closing = tokens_.Take();
    if (opening == nullptr) {
      Add(closing, "this '" + closing.text + "' closes nothing; remove it");
      return false;
    }
    const std::string wanted = opening->text == "<" ? ">" : "}";
    if (closing.text != wanted) {
      Add(closing, StrCat("expected '", wanted, "' to close the '", opening->text, "' of line ",
                          opening->line + 1, ", got '", closing.text, "'"));
    }
    closed_ = &type;
    closed_line_ = closing.line + 1;
    return true;
  }

  void Field(const Descriptor& type, std::map<const FieldDescriptor*, int>* seen) {
    if (Here().type != Tokenizer::TYPE_IDENTIFIER) {
      Add(Here(), "expected a field name of " + type.name() + ", got " + Found());
      while (!AtEnd() && !LooksLikeField() && !Is("}") && !Is(">")) tokens_.Take();
      return;
    }
    const FieldDescriptor* field = type.FindFieldByName(Here().text);
    if (field == nullptr) return Unknown(type, Here());
    const Token name = tokens_.Take();
    if (!field->is_repeated()) {
      const auto first = seen->emplace(field, name.line + 1);
      if (!first.second) {
        Add(name,
            StrCat("'", name.text, "' is given twice; the first is at line ", first.first->second));
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
      Add(name,
          StrCat(text, "; ", closed_->name(), ", closed at line ", closed_line_, ", has one"));
    } else if (open_.size() == 1 && FindKind(type, name.text) != nullptr) {
      Add(name, text + "; is this file a " + FindKind(type, name.text) + "?");
    } else {
      std::vector<std::string> names;
      for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
      Add(name, text + DidYouMean(name.text, names));
    }
    tokens_.Take();
    Take(":");
    if (!LooksLikeField()) SkipValue();
    if (!Take(";")) Take(",");
  }

  void List(const FieldDescriptor& field) {
    const Token opening = tokens_.Take();
    if (Take("]")) return;
    for (;;) {
      Value(field);
      if (leave_to_ != kStay || Take("]")) return;
      if (Take(",")) continue;
      Add(Here(),
          StrCat("expected ',' or ']' in the list of line ", opening.line + 1, ", got ", Found()));
      while (!AtEnd() && !Is("]") && !Is("}") && !LooksLikeField()) {
        if (Opens(Here())) {
          SkipValue();
        } else {
          tokens_.Take();
        }
      }
      Take("]");
      return;
    }
  }

  void Value(const FieldDescriptor& field) {
    if (IsMessage(field)) {
      if (Is("{") || Is("<")) {
        const Token opening = tokens_.Take();
        return Message(*field.message_type(), &opening);
      }
      Add(Here(), "'" + field.name() + "' is a message: expected '{', got " + Found() +
                      ParamOfOtherFormat(field));
    } else if (Opens(Here())) {
      Add(Here(), Needs(field) + (Is("[") ? ", got a list" : ", got a message") +
                      ParamOfOtherFormat(field));
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
      while (Here().type == Tokenizer::TYPE_STRING) tokens_.Take();
    } else if (Opens(Here())) {
      const Token opening = Here();
      int depth = 0;
      do {
        depth += Opens(Here()) - Closes(Here());
        tokens_.Take();
      } while (depth > 0 && !AtEnd());
      if (depth > 0) Add(opening, "this '" + opening.text + "' is never closed");
    } else if (!AtEnd() && !Closes(Here()) && !Is(",") && !Is(";")) {
      tokens_.Take();
    }
  }

  static constexpr size_t kStay = -1;

  const std::string file_;
  ErrorCollector* mistakes_;
  ErrorCollector known_;  // text that is not a token, which is already in mistakes_
  TokenReader tokens_;
  int missing_closings_ = 0;             // in the whole file, minus those already reported
  std::vector<const Descriptor*> open_;  // the messages around the current token
  size_t leave_to_ = kStay;              // close messages until open_[leave_to_] is the innermost
  const Descriptor* closed_ = nullptr;   // the message closed last
  int closed_line_ = 0;
};

}  // namespace

void CheckText(const std::string& text, const std::string& file, const Descriptor& root,
               ErrorCollector* mistakes) {
  Checker(text, file, mistakes).Run(root);
}

}  // namespace doppio
