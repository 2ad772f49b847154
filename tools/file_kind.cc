#include "tools/file_kind.h"

#include <algorithm>

#include "core/net/text_tokens.h"
#include "proto/net.pb.h"
#include "proto/solver.pb.h"

namespace doppio {

bool LooksLikeSolver(const std::string& text, const std::string& file) {
  ErrorCollector ignored;
  int depth = 0, of_solver = 0, of_net = 0;
  for (const Token& token : Tokenize(text, file, &ignored)) {
    if (token.text == "{" || token.text == "<") ++depth;
    if (token.text == "}" || token.text == ">") --depth;
    if (depth != 0 || token.type != google::protobuf::io::Tokenizer::TYPE_IDENTIFIER) continue;
    of_solver += SolverParameter::descriptor()->FindFieldByName(token.text) != nullptr;
    of_net += NetParameter::descriptor()->FindFieldByName(token.text) != nullptr;
  }
  if (of_solver != of_net) return of_solver > of_net;
  return file.find("solver") != std::string::npos;
}

bool IsBinary(const std::string& content) {
  return std::any_of(content.begin(), content.end(), [](char c) {
    return (c >= 0 && c < ' ' && (c < '\t' || c > '\r')) || c == 0x7f;
  });
}

}  // namespace doppio
