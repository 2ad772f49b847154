#include "core/base/content/content_kind.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/error.h"

namespace doppio {
namespace {

bool Has(const std::string& content, size_t at, const std::string& bytes) {
  return content.size() >= at + bytes.size() && content.compare(at, bytes.size(), bytes) == 0;
}

uint8_t ByteAt(const std::string& content, size_t at) {
  return at < content.size() ? static_cast<uint8_t>(content[at]) : uint8_t{0};
}

// An IDX file starts with two zeros, the type of the values and the number of axes.
bool IsIdx(const std::string& content) {
  const uint8_t type = ByteAt(content, 2), axes = ByteAt(content, 3);
  return Has(content, 0, {"\0\0", 2}) && type >= 8 && type <= 14 && axes >= 1 && axes <= 4;
}

// Returns the offset after a length-prefixed field whose length byte (at most 127) is at `at`.
size_t OffsetAfterShortField(const std::string& content, size_t at) {
  return at + 1 + ByteAt(content, at);
}

// Returns true for a binary NetParameter: it starts with layers, or with a name followed by layers
// (in the new or the old format), inputs, or Doppio's record of the preprocessing.
bool IsNet(const std::string& content) {
  const std::string layer = "\xa2\x06", preprocessing = "\x8a\x7d";
  if (Has(content, 0, layer)) return true;
  if (!Has(content, 0, "\n") || ByteAt(content, 1) > 127) return false;
  const size_t next = OffsetAfterShortField(content, 1);
  return Has(content, next, layer) || Has(content, next, preprocessing) ||
         Has(content, next, "\x12") || Has(content, next, "\x1a");
}

// Reads a varint of at most 32 bits at `*at` and moves `*at` behind it.
uint32_t VarintAt(const std::string& content, size_t* at) {
  uint32_t value = 0;
  for (int shift = 0; shift < 32; shift += 7) {
    const uint32_t byte = ByteAt(content, (*at)++);
    value |= (byte & 127) << shift;
    if (byte < 128) break;
  }
  return value;
}

// Returns true for a SolverState: the iteration as a varint, then the name of the weights file, of
// which a long path leaves only the beginning in `content`.
bool IsSolverState(const std::string& content) {
  if (!Has(content, 0, "\x08")) return false;
  size_t at = 1;
  VarintAt(content, &at);
  if (!Has(content, at, "\x12") || content.size() < at + 2) return false;
  const size_t length = VarintAt(content, &++at);
  const std::string name = content.substr(std::min(at, content.size()), length);
  const bool cut = name.size() < length && content.size() >= kKindBytes;
  return cut ? name.find('\0') == std::string::npos : name.find("caffemodel") != std::string::npos;
}

// Returns true for a BlobProto with the extents of four axes, the first of which is 1.
bool IsMean(const std::string& content) { return Has(content, 0, "\x08\x01\x10"); }

bool IsSafetensors(const std::string& content) {
  return Has(content, 5, {"\0\0\0{\"", 5});  // follows the 8-byte length of the header
}

bool IsPickle(const std::string& content) {
  return Has(content, 0, "\x80") && ByteAt(content, 1) >= 2 && ByteAt(content, 1) <= 5;
}

// Returns true for text in UTF-16: with a byte order mark, or with four ASCII characters, of which
// every other byte is zero, at its start.
bool IsUtf16(const std::string& content) {
  constexpr size_t kChecked = 8;
  if (Has(content, 0, "\xff\xfe") || Has(content, 0, "\xfe\xff")) return true;
  if (content.size() < kChecked) return false;
  for (const size_t zeros : {0, 1}) {  // big-endian, little-endian
    bool text = true;
    for (size_t i = 0; i < kChecked; ++i) {
      const uint8_t byte = ByteAt(content, i);
      const bool ascii = (byte >= ' ' && byte < 0x7f) || (byte >= '\t' && byte <= '\r');
      text = text && (i % 2 == zeros ? byte == 0 : ascii);
    }
    if (text) return true;
  }
  return false;
}

struct Known {
  ContentKind kind;
  bool (*is)(const std::string& content);
  const char* name;
  const char* advice;  // "" if there is no advice
};

const std::vector<Known>& KnownKinds() {
  using Kind = ContentKind;
  using Content = const std::string&;
  static const auto* kinds = new std::vector<Known>{
      {Kind::kUtf16, &IsUtf16, "text in UTF-16", "save it as UTF-8"},
      {Kind::kHdf5, [](Content c) { return Has(c, 0, "\x89HDF\r\n\x1a\n"); }, "an HDF5 file",
       "layer HDF5Data needs a text file that lists HDF5 files, and --weights reads HDF5 files of "
       "nets"},
      {Kind::kLmdb, [](Content c) { return Has(c, 16, "\xde\xc0\xef\xbe"); },
       "the file of an LMDB database", "layer Data reads its folder with backend: LMDB"},
      {Kind::kIdx, &IsIdx, "an IDX file (MNIST's format)",
       "layer Data reads it with backend: IDX, and 'doppio data convert' converts it to a "
       "database"},
      {Kind::kTar, [](Content c) { return Has(c, 257, "ustar"); }, "a tar archive",
       "unpack it (tar xf)"},
      {Kind::kGzip, [](Content c) { return Has(c, 0, "\x1f\x8b"); }, "a gzip file",
       "unpack it (gunzip, or tar xf for an archive)"},
      {Kind::kZip, [](Content c) { return Has(c, 0, "PK\x03\x04"); }, "a zip archive",
       "unpack it (unzip)"},
      {Kind::kPickle, &IsPickle, "a Python pickle",
       "Doppio reads CIFAR's binary version, which 'doppio get cifar10' downloads"},
      {Kind::kNumpy, [](Content c) { return Has(c, 0, "\x93NUMPY"); }, "a NumPy file", ""},
      {Kind::kSafetensors, &IsSafetensors, "a safetensors file", ""},
      {Kind::kImage,
       [](Content c) { return Has(c, 0, "\xff\xd8\xff") || Has(c, 0, "\x89PNG\r\n\x1a\n"); },
       "an image", ""},
      {Kind::kNet, &IsNet, "a binary net or its weights (.caffemodel)",
       "pass weights with --weights"},
      {Kind::kSolverState, &IsSolverState, "a solver state (.solverstate)",
       "pass it with --snapshot or --resume"},
      {Kind::kMean, &IsMean, "a mean image (.binaryproto)", "name it in mean_file"},
  };
  return *kinds;
}

// Returns null for text and for unknown formats.
const Known* Find(const std::string& content) {
  const auto& kinds = KnownKinds();
  const auto found = std::find_if(kinds.begin(), kinds.end(),
                                  [&content](const Known& known) { return known.is(content); });
  return found == kinds.end() ? nullptr : &*found;
}

std::string Advice(const Known& known) {
  return *known.advice == '\0' ? "" : std::string("; ") + known.advice;
}

}  // namespace

ContentKind KindOfContent(const std::string& content) {
  if (const Known* known = Find(content)) return known->kind;
  return content.find('\0') == std::string::npos ? ContentKind::kText : ContentKind::kBinary;
}

std::string DescribeContent(const std::string& content) {
  const Known* known = Find(content);
  return known == nullptr ? "" : "it is " + std::string(known->name) + Advice(*known);
}

void CheckIsText(const std::string& path, const std::string& content, const std::string& wanted) {
  if (KindOfContent(content) == ContentKind::kText) return;
  const Known* known = Find(content);
  throw FileError("'", path, "' is ", known == nullptr ? "a binary file" : known->name, ", but ",
                  wanted, " is needed", known == nullptr ? "" : Advice(*known));
}

}  // namespace doppio
