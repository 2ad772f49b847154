// Splits a text file into tokens, each with its place.
#ifndef DOPPIO_CORE_NET_SPEC_TEXT_TOKENS_H_
#define DOPPIO_CORE_NET_SPEC_TEXT_TOKENS_H_

#include <google/protobuf/io/tokenizer.h>

#include <memory>
#include <string>

#include "core/base/error.h"

namespace doppio {

using Token = google::protobuf::io::Tokenizer::Token;  // line and column start at 0

// Returns the place of a token in `file`. Lines and columns start at 1; a tab extends to the next
// multiple of 8 columns.
SourceLoc PlaceOf(const Token& token, const std::string& file);

// Reads the tokens of a text one by one, because all tokens need much more memory than the text.
// The last token has type TYPE_END and stays. Adds text that is not a token (a string without its
// end, a typographic quote) to `mistakes`, and ends early when these are full. All arguments must
// outlive the reader.
class TokenReader {
 public:
  TokenReader(const std::string& text, const std::string& file, ErrorCollector* mistakes);
  ~TokenReader();

  const Token& here() const { return here_; }
  const Token& next() const { return next_; }
  bool AtEnd() const { return here_.type == google::protobuf::io::Tokenizer::TYPE_END; }
  // Moves on by one token and returns the token that was here().
  Token Take();

 private:
  class Source;
  const std::unique_ptr<Source> source_;
  Token here_, next_;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_TEXT_TOKENS_H_
