// Splits a text file into tokens, each with its place.
#ifndef DOPPIO_CORE_NET_SPEC_TEXT_TOKENS_H_
#define DOPPIO_CORE_NET_SPEC_TEXT_TOKENS_H_

#include <google/protobuf/io/tokenizer.h>

#include <string>
#include <vector>

#include "core/base/error.h"

namespace doppio {

using Token = google::protobuf::io::Tokenizer::Token;  // line and column start at 0

// Returns the place of a token in `file`. Lines and columns start at 1; a tab extends to the next
// multiple of 8 columns.
SourceLoc PlaceOf(const Token& token, const std::string& file);

// Returns all tokens of `text`; the last one has type TYPE_END. Adds text that is not a token (a
// string without its end, a typographic quote) to `mistakes`.
std::vector<Token> Tokenize(const std::string& text, const std::string& file,
                            ErrorCollector* mistakes);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_TEXT_TOKENS_H_
