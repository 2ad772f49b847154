#include "core/base/text/percent.h"

#include <cctype>

namespace doppio {
namespace {

// Returns -1 if `c` is no hexadecimal digit.
int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

std::string PercentEncoded(const std::string& text, const std::string& special) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '%' || special.find(c) != std::string::npos) {
      encoded += {'%', kDigits[byte / 16], kDigits[byte % 16]};
    } else {
      encoded += c;
    }
  }
  return encoded;
}

std::string PercentDecoded(const std::string& encoded) {
  std::string text;
  for (size_t i = 0; i < encoded.size(); ++i) {
    if (encoded[i] == '%' && i + 2 < encoded.size() && HexDigit(encoded[i + 1]) >= 0 &&
        HexDigit(encoded[i + 2]) >= 0) {
      text += static_cast<char>(HexDigit(encoded[i + 1]) * 16 + HexDigit(encoded[i + 2]));
      i += 2;
    } else {
      text += encoded[i];
    }
  }
  return text;
}

}  // namespace doppio
