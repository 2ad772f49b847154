#include "tools/data_opened.h"

#include <cstring>
#include <utility>

#include "core/base/file.h"
#include "tools/databases.h"
#include "tools/flags.h"
#include "tools/image_input.h"
#include "tools/listed_images.h"

namespace doppio {
namespace {

bool Begins(const std::string& text, const char* with, size_t bytes) {
  return text.size() >= bytes && std::memcmp(text.data(), with, bytes) == 0;
}

std::string KindOf(const std::string& path) {
  if (FileExists(path + "/.")) {
    if (FileExists(path + "/data.mdb")) return "LMDB";
    if (FileExists(path + "/CURRENT")) return "LEVELDB";
    const bool cifar = FileExists(path + "/data_batch_1.bin") || FileExists(path + "/train.bin");
    return cifar ? "CIFAR" : "folder";
  }
  const std::string head = ReadHead(path, 20);
  // An LMDB's first page has its magic number behind a header of 16 bytes, an IDX file begins with
  // zeros and its type, 8; gzip with 1f 8b.
  if (head.size() == 20 && std::memcmp(head.data() + 16, "\xde\xc0\xef\xbe", 4) == 0) return "LMDB";
  if (Begins(head, "\0\0\x08", 3) || Begins(head, "\x1f\x8b", 2)) return "IDX";
  return EndsWith(path, ".bin") ? "CIFAR" : "list";
}

}  // namespace

OpenedData OpenData(const CommandLine& line, const std::string& path) {
  OpenedData data;
  const bool given = line.Given("backend");
  data.kind = given ? FLAGS_backend : KindOf(path);
  if (given || (data.kind != "list" && data.kind != "folder")) {
    data.source = OpenDatabase(data.kind, path);
    if (FileExists(path + "/labels.txt")) data.classes = ReadLabels(path + "/labels.txt");
    return data;
  }
  ListedImages images = ReadImages(path, FLAGS_root_folder);
  data.classes = std::move(images.classes);
  data.source = OpenImageLines(std::move(images.lines), images.root, images.list);
  return data;
}

std::string ClassName(const std::vector<std::string>& classes, int64_t label) {
  const bool named = label >= 0 && label < static_cast<int64_t>(classes.size());
  return std::to_string(label) + (named ? " " + classes[static_cast<size_t>(label)] : "");
}

}  // namespace doppio
