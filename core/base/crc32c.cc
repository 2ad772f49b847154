// CRC-32C by the processor's own instruction (SSE 4.2) if available, else by a look-up table.
#include <array>
#include <cstring>

#include "core/base/file.h"

namespace doppio {
namespace {

uint32_t ByTable(const unsigned char* p, size_t bytes, uint32_t crc) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> t;
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t c = i;
      for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ ((c & 1) ? 0x82F63B78u : 0);
      t[i] = c;
    }
    return t;
  }();
  for (size_t i = 0; i < bytes; ++i) crc = table[(crc ^ p[i]) & 0xff] ^ (crc >> 8);
  return crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) uint32_t ByInstruction(const unsigned char* p, size_t bytes,
                                                         uint32_t crc) {
  uint64_t wide = crc;
  for (; bytes >= 8; bytes -= 8, p += 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    wide = __builtin_ia32_crc32di(wide, word);
  }
  crc = static_cast<uint32_t>(wide);
  for (; bytes > 0; --bytes, ++p) crc = __builtin_ia32_crc32qi(crc, *p);
  return crc;
}
#endif

}  // namespace

uint32_t Crc32c(const void* data, size_t bytes, uint32_t crc) {
  const unsigned char* p = static_cast<const unsigned char*>(data);
#ifdef __x86_64__
  if (__builtin_cpu_supports("sse4.2")) return ~ByInstruction(p, bytes, ~crc);
#endif
  return ~ByTable(p, bytes, ~crc);
}

}  // namespace doppio
