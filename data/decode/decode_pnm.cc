// Decodes PBM, PGM and PPM (bits, gray and colour), in text or in binary form. As in OpenCV, values
// of files with a maximum above 255 lose their lower byte. Other values are scaled to a maximum of
// 255 in text files, and kept in binary files.
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

void ReadRow(const Pnm& pnm, FileReader* in, uint8_t* to) {
  const size_t values = static_cast<size_t>(pnm.width) * static_cast<size_t>(pnm.channels());
  const bool wide = pnm.largest > 255;
  if (pnm.kind == 4) {
    const uint8_t* from = in->Take((values + 7) / 8);
    for (size_t i = 0; i < values; ++i) to[i] = (from[i / 8] >> (7 - i % 8) & 1) != 0 ? 0 : 255;
  } else if (!pnm.text()) {
    const size_t step = wide ? 2 : 1;  // big-endian
    const uint8_t* from = in->Take(values * step);
    for (size_t i = 0; i < values; ++i) to[i] = from[i * step];
  } else {
    for (size_t i = 0; i < values; ++i) {
      // Bits need no white space between them.
      const int value = std::min(pnm.largest, pnm.bits() ? FirstOfNext(in) - '0' : ReadNumber(in));
      if (value < 0) throw in->Corrupt("a number is damaged");
      const int light = wide ? value >> 8 : value * 255 / pnm.largest;
      to[i] = static_cast<uint8_t>(pnm.bits() ? 255 - light : light);
    }
  }
}

}  // namespace

void DecodePnm(const uint8_t* file, size_t bytes, DecodeOptions::Color color, Image* image) {
  FileReader in("PNM", file, bytes);
  const Pnm pnm = ReadPnmHeader(&in);
  image->shape = {pnm.channels(), pnm.height, pnm.width};
  const size_t row_bytes = static_cast<size_t>(pnm.width) * pnm.channels();
  image->bytes.resize(row_bytes * static_cast<size_t>(pnm.height));
  for (int y = 0; y < pnm.height; ++y) {
    ReadRow(pnm, &in, image->bytes.data() + row_bytes * static_cast<size_t>(y));
  }
  if (pnm.channels() == 3) {
    for (size_t i = 0; i < image->bytes.size(); i += 3) {
      std::swap(image->bytes[i], image->bytes[i + 2]);
    }
    if (color == DecodeOptions::Color::kGray) MakeGray(image);
  } else if (color == DecodeOptions::Color::kColor) {
    std::vector<uint8_t> spread;
    for (const uint8_t gray : image->bytes) spread.insert(spread.end(), 3, gray);
    image->bytes.swap(spread);
    image->shape.channels = 3;
  }
}

}  // namespace doppio
