// Source of the formats: PKWARE's APPNOTE.TXT 6.3, sections 4.3.7, 4.3.12 and 4.3.16;
// numpy.lib.format, version 1.0.
#include <zlib.h>

#include "core/base/file.h"
#include "tools/export/array_files.h"
#include "tools/export/byte_file.h"

namespace doppio {
namespace {

constexpr int64_t kMostZipBytes = UINT32_MAX, kMostZipFiles = UINT16_MAX;
constexpr size_t kMostNameBytes = UINT16_MAX - 4;  // without ".npy"

// Appends a number as little-endian bytes, which is this machine's byte order.
template <class T>
void Put(std::string* to, T number) {
  to->append(reinterpret_cast<const char*>(&number), sizeof(number));
}

// Returns the header of a .npy file. Its total length, including the ten bytes before the text, is
// a multiple of 64.
std::string NpyHead(const Shape& shape) {
  std::string extents;
  for (const int64_t dim : shape.dims()) extents += std::to_string(dim) + ",";
  std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + extents + "), }";
  text.resize((10 + text.size() + 1 + 63) / 64 * 64 - 10, ' ');
  text.back() = '\n';
  std::string head("\x93NUMPY\x01\x00", 8);
  Put(&head, static_cast<uint16_t>(text.size()));
  return head + text;
}

uint32_t Crc(uint32_t crc, const void* bytes, int64_t count) {
  constexpr int64_t kChunk = int64_t{1} << 30;  // zlib's lengths have 32 bits
  const auto* at = static_cast<const Bytef*>(bytes);
  for (int64_t done = 0; done < count; done += kChunk) {
    crc = static_cast<uint32_t>(
        crc32(crc, at + done, static_cast<uInt>(std::min(kChunk, count - done))));
  }
  return crc;
}

// Returns the fields that a file's two ZIP headers share: from the version to the lengths of the
// name and of the extra field.
std::string Common(uint32_t crc, int64_t bytes, const std::string& name) {
  constexpr uint16_t kVersion = 20, kUtf8Name = 1 << 11, kStored = 0;
  constexpr uint32_t kFirstOfJanuary1980 = (1 << 5 | 1) << 16;
  std::string head;
  Put(&head, kVersion);
  Put(&head, kUtf8Name);
  Put(&head, kStored);
  Put(&head, kFirstOfJanuary1980);
  Put(&head, crc);
  Put(&head, static_cast<uint32_t>(bytes));  // compressed size, then uncompressed size
  Put(&head, static_cast<uint32_t>(bytes));
  Put(&head, static_cast<uint16_t>(name.size()));
  Put(&head, uint16_t{0});
  return head;
}

class ZipWriter {
 public:
  explicit ZipWriter(const std::string& path) : out_(path) {}

  void Add(const NamedArray& array) {
    const std::string name = array.name + ".npy", npy = NpyHead(array.shape);
    const int64_t data = array.shape.count() * static_cast<int64_t>(sizeof(float));
    const uint32_t crc =
        Crc(Crc(0, npy.data(), static_cast<int64_t>(npy.size())), array.data, data);
    const std::string common = Common(crc, static_cast<int64_t>(npy.size()) + data, name);
    directory_ += std::string("PK\x01\x02\x14\x00", 6) + common;
    directory_.append(10, '\0');  // no comment, first disk, no attributes
    Put(&directory_, static_cast<uint32_t>(out_.written()));
    directory_ += name;
    ++files_;
    out_.Write("PK\x03\x04" + common + name + npy);
    out_.Write(array.data, data);
  }

  void Close() {
    const uint32_t begin = static_cast<uint32_t>(out_.written());
    std::string end("PK\x05\x06\0\0\0\0", 8);
    Put(&end, files_);
    Put(&end, files_);
    Put(&end, static_cast<uint32_t>(directory_.size()));
    Put(&end, begin);
    Put(&end, uint16_t{0});
    out_.Write(directory_ + end);
    out_.Close();
  }

 private:
  ByteFile out_;
  std::string directory_;
  uint16_t files_ = 0;
};

}  // namespace

void WriteNpz(const std::string& path, const std::vector<NamedArray>& arrays) {
  int64_t bytes = 0;
  bool long_name = false;
  constexpr int64_t kHeads = 1024;  // upper bound of the headers of one file, without its name
  for (const NamedArray& array : arrays) {
    bytes += kHeads + 2 * static_cast<int64_t>(array.name.size()) +
             array.shape.count() * static_cast<int64_t>(sizeof(float));
    long_name = long_name || array.name.size() > kMostNameBytes;
  }
  if (long_name || bytes >= kMostZipBytes || static_cast<int64_t>(arrays.size()) > kMostZipFiles) {
    throw FileError("cannot write '", path,
                    "': the weights do not fit into an archive of less than 4 GiB with names of "
                    "less than 64 KiB; write .safetensors");
  }
  WriteFileAtomically(path, [&](const std::string& temporary) {
    ZipWriter zip(temporary);
    for (const NamedArray& array : arrays) zip.Add(array);
    zip.Close();
  });
}

}  // namespace doppio
