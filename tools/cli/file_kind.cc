#include "tools/cli/file_kind.h"

#include <algorithm>
#include <vector>

#include "core/base/content_kind.h"
#include "core/base/file.h"
#include "core/net/spec/text_tokens.h"
#include "proto/net.pb.h"
#include "proto/solver.pb.h"

namespace doppio {

namespace {

// Returns the identifiers outside all braces: the names and the enum values of top-level fields.
std::vector<std::string> TopLevelNames(const std::string& text, const std::string& file) {
  ErrorCollector ignored;
  std::vector<std::string> names;
  int depth = 0;
  for (const Token& token : Tokenize(text, file, &ignored)) {
    if (token.text == "{" || token.text == "<") ++depth;
    if (token.text == "}" || token.text == ">") --depth;
    if (depth != 0 || token.type != google::protobuf::io::Tokenizer::TYPE_IDENTIFIER) continue;
    names.push_back(token.text);
  }
  return names;
}

}  // namespace

bool LooksLikeLabelMap(const std::string& text, const std::string& file) {
  const std::vector<std::string> names = TopLevelNames(text, file);
  return !names.empty() && std::all_of(names.begin(), names.end(),
                                       [](const std::string& name) { return name == "item"; });
}

std::string PlaceholderIn(const std::string& text, const std::string& file) {
  using google::protobuf::io::Tokenizer;
  ErrorCollector ignored;
  const std::vector<Token> tokens = Tokenize(text, file, &ignored);
  for (size_t i = 2; i < tokens.size(); ++i) {
    const std::string& field = tokens[i - 2].text;
    if (field != "num_output" && field != "num_classes" && field != "dim") continue;
    if (tokens[i - 1].text == ":" && tokens[i].type == Tokenizer::TYPE_IDENTIFIER)
      return tokens[i].text;
  }
  return "";
}

bool LooksLikeSolver(const std::string& text, const std::string& file) {
  int of_solver = 0, of_net = 0;
  for (const std::string& name : TopLevelNames(text, file)) {
    of_solver += SolverParameter::descriptor()->FindFieldByName(name) != nullptr;
    of_net += NetParameter::descriptor()->FindFieldByName(name) != nullptr;
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
