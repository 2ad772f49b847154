#include "tools/cli/file_kind.h"

#include <algorithm>

#include "core/base/content_kind.h"
#include "core/base/file.h"
#include "core/net/spec/text_tokens.h"
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

std::string DataKindOf(const std::string& path) {
  if (FileExists(path + "/.")) {
    if (FileExists(path + "/data.mdb")) return "LMDB";
    if (FileExists(path + "/CURRENT")) return "LEVELDB";
    const bool cifar = FileExists(path + "/data_batch_1.bin") || FileExists(path + "/train.bin");
    return cifar ? "CIFAR" : "folder";
  }
  const ContentKind kind = KindOfContent(ReadHead(path, kKindBytes));
  if (kind == ContentKind::kLmdb) return "LMDB";
  if (kind == ContentKind::kIdx || kind == ContentKind::kGzip) return "IDX";
  return EndsWith(path, ".bin") ? "CIFAR" : "list";
}

bool IsBinary(const std::string& content) {
  return std::any_of(content.begin(), content.end(), [](char c) {
    return (c >= 0 && c < ' ' && (c < '\t' || c > '\r')) || c == 0x7f;
  });
}

}  // namespace doppio
