#include "data/decode/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/library_version.h"

namespace doppio {
namespace {

// Decompresses the gzip member that starts at `begin`. Returns the offset of its end. `max_bytes`:
// see ReadMaybeGzip.
size_t UnpackMember(const std::string& path, const std::string& packed, size_t begin,
                    int64_t max_bytes, std::string* unpacked) {
  z_stream stream = {};
  constexpr int kGzipOnly = 16 + MAX_WBITS;
  DOPPIO_CHECK(inflateInit2(&stream, kGzipOnly) == Z_OK, "zlib");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + begin));
  size_t left = packed.size() - begin;
  char block[1 << 16];
  int result = Z_OK;
  const auto fits = [&] { return static_cast<int64_t>(unpacked->size()) <= max_bytes; };
  while (result == Z_OK && fits()) {
    if (stream.avail_in == 0) {
      stream.avail_in = static_cast<uInt>(std::min<size_t>(left, std::numeric_limits<uInt>::max()));
      left -= stream.avail_in;
    }
    stream.next_out = reinterpret_cast<Bytef*>(block);
    stream.avail_out = sizeof block;
    result = inflate(&stream, Z_NO_FLUSH);
    unpacked->append(block, sizeof block - stream.avail_out);
  }
  const std::string reason = !fits() ? "it has more than " + std::to_string(max_bytes) + " bytes"
                             : result == Z_BUF_ERROR ? "it ends too early"
                             : stream.msg != nullptr ? stream.msg
                                                     : "it is damaged";
  left += stream.avail_in;
  inflateEnd(&stream);
  if (result != Z_STREAM_END || !fits()) throw FileError("cannot unpack '", path, "': ", reason);
  return packed.size() - left;
}

DOPPIO_REGISTER(Libraries, "zlib", {ZLIB_VERSION, [] { return std::string(zlibVersion()); }});

}  // namespace

std::string ReadMaybeGzip(const std::string& path, int64_t max_bytes) {
  std::string content = ReadFile(path, kMaxUnpackedBytes);
  auto is_gzip = [&content](size_t at) { return content.compare(at, 2, "\x1f\x8b") == 0; };
  if (!is_gzip(0)) return content;
  std::string unpacked;
  // A gzip file may have several members in sequence; any other data after them is padding.
  for (size_t at = 0; at < content.size() && is_gzip(at);) {
    at = UnpackMember(path, content, at, max_bytes, &unpacked);
  }
  return unpacked;
}

}  // namespace doppio
