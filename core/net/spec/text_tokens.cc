#include "core/net/spec/text_tokens.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <cctype>
#include <tuple>

namespace doppio {
namespace {

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
    if (!same) list.push_back({line, column, message});
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

// Returns the place of an error. For errors within or at the end of a string, this is the start of
// the string.
SourceLoc PlaceOfComplaint(const Complaint& complaint, const std::vector<Token>& tokens,
                           const std::string& file) {
  // The last token that starts at or before the place.
  auto word = std::upper_bound(
      tokens.begin(), tokens.end(), complaint, [](const Complaint& place, const Token& token) {
        return std::tie(place.line, place.column) < std::tie(token.line, token.column);
      });
  if (word != tokens.begin() && (--word)->type == google::protobuf::io::Tokenizer::TYPE_STRING &&
      complaint.line == word->line && complaint.column <= word->end_column) {
    return doppio::PlaceOf(*word, file);
  }
  return {file, complaint.line + 1, complaint.column + 1};
}

}  // namespace

SourceLoc PlaceOf(const Token& token, const std::string& file) {
  return {file, token.line + 1, token.column + 1};
}

std::vector<Token> Tokenize(const std::string& text, const std::string& file,
                            ErrorCollector* mistakes) {
  Complaints complaints;
  google::protobuf::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  google::protobuf::io::Tokenizer tokenizer(&stream, &complaints);
  // These are the settings of protobuf's text parser.
  tokenizer.set_comment_style(google::protobuf::io::Tokenizer::SH_COMMENT_STYLE);
  tokenizer.set_allow_f_after_float(true);
  std::vector<Token> tokens;
  while (tokenizer.Next()) {
    // The tokenizer returns each byte of a non-ASCII letter as a token. The letter has already been
    // reported.
    const Token& token = tokenizer.current();
    const bool letter = token.type == google::protobuf::io::Tokenizer::TYPE_SYMBOL &&
                        static_cast<unsigned char>(token.text[0]) >= 0x80;
    if (!letter) tokens.push_back(token);
  }
  tokens.push_back(tokenizer.current());
  for (const Complaint& complaint : complaints.list) {
    mistakes->Add(PlaceOfComplaint(complaint, tokens, file), ClearerMessage(complaint.message));
  }
  return tokens;
}

}  // namespace doppio
