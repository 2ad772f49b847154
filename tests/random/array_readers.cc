// Sources: PKWARE's APPNOTE.TXT 6.3, sections 4.3.7, 4.3.12 and 4.3.16; numpy.lib.format, version
// 1.0; github.com/huggingface/safetensors.
#include "tests/random/array_readers.h"

#include <zlib.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/base/error.h"
#include "core/base/file.h"

namespace doppio {
namespace {

constexpr size_t kLocalHead = 30, kDirectoryHead = 46, kEnd = 22;

void Require(bool condition, const std::string& what) {
  if (!condition) throw FileError("not a file of arrays: " + what);
}

template <class T>
T At(const std::string& bytes, size_t offset) {
  Require(offset + sizeof(T) <= bytes.size(), "it ends too early");
  T number;
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

PlainBlob Blob(const std::vector<int64_t>& dims, const std::string& bytes) {
  PlainBlob blob;
  blob.shape = Shape(dims);
  Require(static_cast<size_t>(blob.shape.count()) * sizeof(float) == bytes.size(),
          "a shape of another size");
  blob.data.resize(bytes.size() / sizeof(float));
  std::memcpy(blob.data.data(), bytes.data(), bytes.size());
  return blob;
}

// Reads {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }.
PlainBlob ReadNpy(const std::string& bytes) {
  Require(bytes.compare(0, 8, std::string("\x93NUMPY\x01\x00", 8)) == 0, "no .npy of version 1.0");
  const size_t begin = 10, end = begin + At<uint16_t>(bytes, 8);
  Require(end % 64 == 0 && end <= bytes.size(), "a header that is not aligned");
  const std::string head = bytes.substr(begin, end - begin);
  Require(head.find("'descr': '<f4'") != std::string::npos, head);
  Require(head.find("'fortran_order': False") != std::string::npos, head);
  const size_t open = head.find("'shape': (");
  Require(open != std::string::npos, head);
  std::istringstream extents(head.substr(open + 10, head.find(')', open) - open - 10));
  std::vector<int64_t> dims;
  for (std::string dim; std::getline(extents, dim, ',');) {
    if (dim.find_first_not_of(' ') != std::string::npos) dims.push_back(std::stoll(dim));
  }
  return Blob(dims, bytes.substr(end));
}

}  // namespace

ReadArrays ReadNpz(const std::string& path) {
  const std::string bytes = ReadFile(path);
  Require(bytes.size() >= kEnd, "it is too short");
  const size_t end = bytes.size() - kEnd;
  Require(bytes.compare(end, 4, "PK\x05\x06") == 0, "no end of the directory");
  const size_t files = At<uint16_t>(bytes, end + 10);
  size_t entry = At<uint32_t>(bytes, end + 16);
  Require(entry + At<uint32_t>(bytes, end + 12) == end, "a directory of another size");
  ReadArrays arrays;
  for (size_t i = 0; i < files; ++i) {
    Require(bytes.compare(entry, 4, "PK\x01\x02") == 0, "no entry of the directory");
    const auto crc = At<uint32_t>(bytes, entry + 16), size = At<uint32_t>(bytes, entry + 20);
    const size_t name_bytes = At<uint16_t>(bytes, entry + 28), at = At<uint32_t>(bytes, entry + 42);
    const std::string name = bytes.substr(entry + kDirectoryHead, name_bytes);
    Require(At<uint16_t>(bytes, entry + 10) == 0, name + " is compressed");
    Require(bytes.compare(at, 4, "PK\x03\x04") == 0, "no file " + name);
    Require(bytes.compare(at + kLocalHead, name_bytes, name) == 0, "two names of " + name);
    const std::string npy = bytes.substr(at + kLocalHead + name_bytes, size);
    const auto* data = reinterpret_cast<const Bytef*>(npy.data());
    Require(crc32(0, data, static_cast<uInt>(npy.size())) == crc, "the checksum of " + name);
    Require(EndsWith(name, ".npy"), name);
    arrays[name.substr(0, name.size() - 4)] = ReadNpy(npy);
    entry += kDirectoryHead + name_bytes;
  }
  return arrays;
}

ReadArrays ReadSafetensors(const std::string& path) {
  const std::string bytes = ReadFile(path);
  const size_t length = At<uint64_t>(bytes, 0), begin = sizeof(uint64_t) + length;
  Require(begin <= bytes.size(), "a table that is longer than the file");
  const auto table = nlohmann::json::parse(bytes.substr(sizeof(uint64_t), length));
  ReadArrays arrays;
  for (const auto& [name, entry] : table.items()) {
    if (name == "__metadata__") continue;
    Require(entry.at("dtype") == "F32", "the type of " + name);
    const size_t from = entry.at("data_offsets").at(0), to = entry.at("data_offsets").at(1);
    Require(from <= to && begin + to <= bytes.size(), "the offsets of " + name);
    arrays[name] =
        Blob(entry.at("shape").get<std::vector<int64_t>>(), bytes.substr(begin + from, to - from));
  }
  return arrays;
}

}  // namespace doppio
