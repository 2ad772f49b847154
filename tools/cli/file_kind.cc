#include "tools/cli/file_kind.h"

#include <algorithm>

#include "core/base/content/content_kind.h"
#include "core/base/file.h"
#include "core/net/spec/text_tokens.h"
#include "proto/net.pb.h"
#include "proto/solver.pb.h"

namespace doppio {

namespace {

// Calls f(name) for each identifier outside all braces: the names and the enum values of top-level
// fields.
template <class F>
void ForTopLevelNames(const std::string& text, const std::string& file, const F& f) {
  ErrorCollector ignored;
  int depth = 0;
  for (TokenReader tokens(text, file, &ignored); !tokens.AtEnd();) {
    const Token token = tokens.Take();
    if (token.text == "{" || token.text == "<") ++depth;
    if (token.text == "}" || token.text == ">") --depth;
    if (depth == 0 && token.type == google::protobuf::io::Tokenizer::TYPE_IDENTIFIER) f(token.text);
  }
}

}  // namespace

bool LooksLikeLabelMap(const std::string& text, const std::string& file) {
  int items = 0, others = 0;
  ForTopLevelNames(text, file,
                   [&](const std::string& name) { ++(name == "item" ? items : others); });
  return items > 0 && others == 0;
}

std::string PlaceholderIn(const std::string& text, const std::string& file) {
  using google::protobuf::io::Tokenizer;
  ErrorCollector ignored;
  for (TokenReader tokens(text, file, &ignored); !tokens.AtEnd();) {
    const std::string field = tokens.Take().text;
    if (field != "num_output" && field != "num_classes" && field != "dim") continue;
    if (tokens.here().text == ":" && tokens.next().type == Tokenizer::TYPE_IDENTIFIER)
      return tokens.next().text;
  }
  return "";
}

bool LooksLikeSolver(const std::string& text, const std::string& file) {
  int of_solver = 0, of_net = 0;
  ForTopLevelNames(text, file, [&](const std::string& name) {
    of_solver += SolverParameter::descriptor()->FindFieldByName(name) != nullptr;
    of_net += NetParameter::descriptor()->FindFieldByName(name) != nullptr;
  });
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
