// Decodes PBM, PGM and PPM (bits, gray and colour), in text or in binary form. As in OpenCV, values
// of files with a maximum above 255 lose their lower byte by default. Other values are scaled to a
// maximum of 255 in text files, and kept in binary files.
#include <algorithm>
#include <cctype>

#include "data/decode/decode_formats.h"

namespace doppio {
namespace {

constexpr int kLargest = 65535;

struct Pnm {
  int kind;  // 1 to 6, from the magic number P1 to P6
  int height, width;
  int largest = 1;  // value of full brightness

  bool bits() const { return kind == 1 || kind == 4; }
  bool text() const { return kind <= 3; }
  bool wide() const { return largest > 255; }
  int channels() const { return kind == 3 || kind == 6 ? 3 : 1; }
};

// Returns the first byte after white space and comments.
uint8_t FirstOfNext(FileReader* in) {
  for (;;) {
    uint8_t byte = in->Byte();
    while (byte == '#') {
      while (byte != '\n' && byte != '\r') byte = in->Byte();
    }
    if (std::isspace(byte) == 0) return byte;
  }
}

// Reads a number and the white space after it, or the end of the file.
int ReadNumber(FileReader* in) {
  int64_t number = 0;
  for (uint8_t byte = FirstOfNext(in);; byte = in->Byte()) {
    if (std::isspace(byte) != 0) break;
    if (std::isdigit(byte) == 0) throw in->Corrupt("a number is damaged");
    number = std::min<int64_t>(10 * number + (byte - '0'), 1 << 30);
    if (in->left() == 0) break;
  }
  return static_cast<int>(number);
}

Pnm ReadPnmHeader(FileReader* in) {
  Pnm pnm = {};
  pnm.kind = in->Take(2)[1] - '0';
  pnm.width = ReadNumber(in);
  pnm.height = ReadNumber(in);
  pnm.largest = pnm.bits() ? 1 : ReadNumber(in);
  if (pnm.largest < 1 || pnm.largest > kLargest) throw in->Corrupt("its header is damaged");
  CheckExtents(*in, pnm.height, pnm.width, pnm.kind == 4 ? 1 : 8 * pnm.channels());
  return pnm;
}

// Returns the brightness of a value of at most 8 bits.
uint8_t LightOf(const Pnm& pnm, int value) {
  if (pnm.bits()) return value != 0 ? 0 : 255;
  return static_cast<uint8_t>(pnm.text() ? value * 255 / pnm.largest : value);
}

// Writes convert(value) for each value of the next row.
template <class Convert>
void ReadRow(const Pnm& pnm, FileReader* in, Convert convert, uint8_t* to) {
  const size_t values = static_cast<size_t>(pnm.width) * static_cast<size_t>(pnm.channels());
  const size_t bytes = pnm.kind == 4 ? (values + 7) / 8 : values * (pnm.wide() ? 2 : 1);
  const uint8_t* from = pnm.text() ? nullptr : in->Take(bytes);
  for (size_t i = 0; i < values; ++i) {
    int value;
    if (pnm.kind == 4) {
      value = from[i / 8] >> (7 - i % 8) & 1;
    } else if (!pnm.text()) {
      value = pnm.wide() ? from[2 * i] << 8 | from[2 * i + 1] : from[i];  // big-endian
    } else {
      // Bits need no white space between them.
      value = std::min(pnm.largest, pnm.bits() ? FirstOfNext(in) - '0' : ReadNumber(in));
      if (value < 0) throw in->Corrupt("a number is damaged");
    }
    to[i] = convert(value);
  }
}

}  // namespace

void DecodePnm(const uint8_t* file, size_t bytes, const DecodeOptions& options, Image* image) {
  const DecodeOptions::Color color = options.color;
  FileReader in("PNM", file, bytes);
  const Pnm pnm = ReadPnmHeader(&in);
  image->shape = {pnm.channels(), pnm.height, pnm.width};
  const size_t row_bytes = static_cast<size_t>(pnm.width) * pnm.channels();
  image->bytes.resize(row_bytes * static_cast<size_t>(pnm.height));
  const bool stored = color == DecodeOptions::Color::kValues;
  for (size_t y = 0; y < static_cast<size_t>(pnm.height); ++y) {
    uint8_t* const row = image->bytes.data() + row_bytes * y;
    if (!stored && pnm.wide()) {
      ReadRow(pnm, &in, Narrowing(options, image), row);
      continue;
    }
    if (!stored) {
      ReadRow(
          pnm, &in, [&pnm](int value) { return LightOf(pnm, value); }, row);
      continue;
    }
    int64_t index = static_cast<int64_t>(row_bytes * y);
    const auto label = [&](int value) {
      if (value > 255) throw LabelTooLarge(value, index, image->shape);
      ++index;
      return static_cast<uint8_t>(value);
    };
    ReadRow(pnm, &in, label, row);
  }
  if (pnm.channels() == 3) {
    for (size_t i = 0; i < image->bytes.size(); i += 3) {
      std::swap(image->bytes[i], image->bytes[i + 2]);
    }
    if (color == DecodeOptions::Color::kGray) MakeGray(image);
  } else if (color == DecodeOptions::Color::kColor) {
    Spread(image);
  }
}

}  // namespace doppio
