// The words of a text file, each with its place.
#ifndef DOPPIO_CORE_NET_SPEC_TEXT_TOKENS_H_
#define DOPPIO_CORE_NET_SPEC_TEXT_TOKENS_H_

#include <google/protobuf/io/tokenizer.h>

#include <string>
#include <vector>

#include "core/base/error.h"

namespace doppio {

using Token = google::protobuf::io::Tokenizer::Token;  // line and column count from 0

// The place of a token in `file`, counted from 1. A tab ends at the next multiple of 8.
SourceLoc PlaceOf(const Token& token, const std::string& file);

// All tokens of `text`, the last one of TYPE_END. What no token can be made of (a string without
// its end, a typographic quote) goes to `mistakes`.
std::vector<Token> Tokenize(const std::string& text, const std::string& file,
                            ErrorCollector* mistakes);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_TEXT_TOKENS_H_
