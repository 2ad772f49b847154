#include "tools/data/md5.h"

#include <array>
#include <cmath>
#include <cstdint>

namespace doppio {
namespace {

constexpr size_t kBlock = 64;
constexpr int kSteps = 64;

// The table of RFC 1321, section 3.4: the integer part of 2^32 * |sin(i)| for i = 1, ..., 64.
std::array<uint32_t, kSteps> Sines() {
  std::array<uint32_t, kSteps> sines;
  for (int i = 0; i < kSteps; ++i) {
    sines[i] = static_cast<uint32_t>(std::abs(std::sin(i + 1.0)) * 0x1p32);
  }
  return sines;
}

uint32_t Rotated(uint32_t x, int bits) { return x << bits | x >> (32 - bits); }

uint32_t Word(const uint8_t* bytes) {
  return uint32_t{bytes[0]} | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 |
         uint32_t{bytes[3]} << 24;
}

using State = std::array<uint32_t, 4>;

void AddBlock(const uint8_t* block, State* state) {
  static const std::array<uint32_t, kSteps> sines = Sines();
  static constexpr int kShifts[4][4] = {
      {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
  auto [a, b, c, d] = *state;
  for (int i = 0; i < kSteps; ++i) {
    uint32_t mixed;
    int word;
    switch (i / 16) {
      case 0:
        mixed = (b & c) | (~b & d);
        word = i;
        break;
      case 1:
        mixed = (d & b) | (~d & c);
        word = (5 * i + 1) % 16;
        break;
      case 2:
        mixed = b ^ c ^ d;
        word = (3 * i + 5) % 16;
        break;
      default:
        mixed = c ^ (b | ~d);
        word = 7 * i % 16;
    }
    const uint32_t sum = a + mixed + Word(block + 4 * word) + sines[i];
    a = d;
    d = c;
    c = b;
    b += Rotated(sum, kShifts[i / 16][i % 4]);
  }
  (*state)[0] += a;
  (*state)[1] += b;
  (*state)[2] += c;
  (*state)[3] += d;
}

}  // namespace

std::string Md5(const std::string& bytes) {
  State state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  const size_t whole = bytes.size() / kBlock * kBlock;
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  for (size_t at = 0; at < whole; at += kBlock) AddBlock(data + at, &state);
  // Padding: the remaining bytes, a 1 bit, zeros, and the number of bits in the last eight bytes.
  std::string end = bytes.substr(whole) + '\x80';
  while (end.size() % kBlock != kBlock - 8) end += '\0';
  for (int shift = 0; shift < 64; shift += 8) {
    end += static_cast<char>(uint64_t{bytes.size()} * 8 >> shift);
  }
  for (size_t at = 0; at < end.size(); at += kBlock) {
    AddBlock(reinterpret_cast<const uint8_t*>(end.data()) + at, &state);
  }
  std::string text;
  for (const uint32_t word : state) {
    for (int shift = 0; shift < 32; shift += 8) {
      const uint32_t byte = word >> shift & 255;
      text += "0123456789abcdef"[byte >> 4];
      text += "0123456789abcdef"[byte & 15];
    }
  }
  return text;
}

}  // namespace doppio
