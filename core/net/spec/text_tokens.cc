#include "core/net/spec/text_tokens.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <cctype>
#include <tuple>
#include <utility>
#include <vector>

namespace doppio {
namespace {

using google::protobuf::io::Tokenizer;

struct Complaint {
  int line, column;
  std::string message;
};

class Complaints : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    // One unreadable character often causes several errors about the same word.
    const bool same = line == last_line_ && column - last_column_ <= 1;
    last_line_ = line;
    last_column_ = column;
    if (!same && list.size() <= kMaxMistakes) list.push_back({line, column, message});
  }
  std::vector<Complaint> list;

 private:
  int last_line_ = -1, last_column_ = 0;
};

bool Contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

// Returns a clearer message than the tokenizer's, if one exists.
std::string ClearerMessage(const std::string& message) {
  if (Contains(message, "cross line")) return "the string is not closed on its line";
  if (Contains(message, "end of string")) return "the string is not closed";
  if (Contains(message, "non ascii")) {
    return "a character that is not plain ASCII (a typographic quote?); only strings and comments "
           "may contain it";
  }
  std::string words = message;
  if (!words.empty() && words.back() == '.') words.pop_back();
  if (!words.empty())
    words[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(words[0])));
  return words;
}

bool StartsAtOrBefore(const Token& token, const Complaint& place) {
  return std::tie(token.line, token.column) <= std::tie(place.line, place.column);
}

// Returns the place of an error. `word` is the last token that starts at or before the error. For
// errors within or at the end of a string, the place is the start of the string.
SourceLoc PlaceOfComplaint(const Complaint& complaint, const Token& word, const std::string& file) {
  if (word.type == Tokenizer::TYPE_STRING && complaint.line == word.line &&
      complaint.column <= word.end_column) {
    return doppio::PlaceOf(word, file);
  }
  return {file, complaint.line + 1, complaint.column + 1};
}

}  // namespace

SourceLoc PlaceOf(const Token& token, const std::string& file) {
  return {file, token.line + 1, token.column + 1};
}

class TokenReader::Source {
 public:
  Source(const std::string& text, const std::string& file, ErrorCollector* mistakes)
      : file_(file),
        mistakes_(*mistakes),
        stream_(text.data(), static_cast<int>(text.size())),
        tokenizer_(&stream_, &complaints_),
        last_(tokenizer_.current()) {
    // These are the settings of protobuf's text parser.
    tokenizer_.set_comment_style(Tokenizer::SH_COMMENT_STYLE);
    tokenizer_.set_allow_f_after_float(true);
  }

  const Token& Next() {
    for (bool letter = true; letter && !mistakes_.full();) {
      tokenizer_.Next();
      const Token& token = tokenizer_.current();
      // The tokenizer returns each byte of a non-ASCII letter as a token, and has reported it.
      letter =
          token.type == Tokenizer::TYPE_SYMBOL && static_cast<unsigned char>(token.text[0]) >= 0x80;
      for (const Complaint& complaint : complaints_.list) {
        const Token& word = !letter && StartsAtOrBefore(token, complaint) ? token : last_;
        mistakes_.Add(PlaceOfComplaint(complaint, word, file_), ClearerMessage(complaint.message));
      }
      complaints_.list.clear();
      if (!letter) last_ = token;
    }
    if (mistakes_.full()) {
      last_.type = Tokenizer::TYPE_END;
      last_.text.clear();
    }
    return last_;
  }

 private:
  const std::string& file_;
  ErrorCollector& mistakes_;
  Complaints complaints_;
  google::protobuf::io::ArrayInputStream stream_;
  Tokenizer tokenizer_;
  Token last_;  // the last token that is no letter
};

TokenReader::TokenReader(const std::string& text, const std::string& file, ErrorCollector* mistakes)
    : source_(std::make_unique<Source>(text, file, mistakes)),
      here_(source_->Next()),
      next_(source_->Next()) {}

TokenReader::~TokenReader() = default;

Token TokenReader::Take() { return std::exchange(here_, std::exchange(next_, source_->Next())); }

}  // namespace doppio
